//! The misbehaviours, and the byte that says which one it is.

/// What the byte comes after.
pub const MARK: &[u8; 22] = b"fusewire-hostile-mode:";

/// The byte with its mark before it, in the policy's data.
#[used]
static TOLD: [u8; MARK.len() + 1] = {
    let mut told = [0; MARK.len() + 1];
    let (mark, _) = told.split_at_mut(MARK.len());
    mark.copy_from_slice(MARK);
    told
};

macro_rules! modes {
    ($($(#[$doc:meta])* $mode:ident)*) => {
        /// One misbehaviour.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mode { $($(#[$doc])* $mode),* }

        impl Mode {
            /// Every one, in the order of their bytes.
            pub const ALL: &[Self] = &[$(Self::$mode),*];
        }
    };
}

modes! {
    /// None: Fusewire's policy under another name.
    Harmless

    // While it is loaded.

    /// Its start has no end.
    EndlessStart
    /// It wants all the memory there is when it starts.
    GreedyStart
    /// It traps when it starts.
    TrapAtStart
    /// Telling who it is has no end.
    EndlessDescribe
    /// Its name is a text of a megabyte.
    EndlessName
    /// Its name would move the cursor of a terminal.
    EscapingName
    /// Being configured has no end.
    EndlessConfigure
    /// It accepts no configuration, not even none.
    AcceptsNothing
    /// Saying what it looks at traps.
    TrapInWanted
    /// Saying what it looks at has no end.
    EndlessWanted
    /// It looks at four gigabytes of every body.
    WantsHugeBody
    /// It looks at a thousand header fields, by name.
    WantsManyFields
    /// It looks at a few hundred thousand header fields that share one long name.
    AliasedFields

    // While it serves.

    /// Saying what it looks at traps, where the provider's name ends with a digit.
    TrapInSomeWanted
    /// Every instance traps on its first admission.
    TrapOnFirstAdmit
    /// Every instance traps on its thousandth admission.
    TrapOnThousandthAdmit
    /// One admission in a thousand traps, whichever instance it comes to.
    TrapOnceInAThousand
    /// An admission has no end.
    EndlessAdmit
    /// It runs for a while before each question to its store, and asks sixty: where the store answers
    /// later, each run is longer than the one before, and none too long by itself.
    LongerEachRun
    /// It keeps 64 KiB more with each call.
    Leak
    /// It calls itself until its stack is full.
    Recursion
    /// It refuses every call.
    RefusesAll
    /// It allows every call, and counts nothing.
    AllowsAll
    /// It writes to keys, and reads some, that are not the policy's.
    ForeignKeys
    /// It asks its store a thousand times before it decides.
    ThousandOperations
    /// It asks its store for a thousand keys at once.
    ManyKeys
    /// Called again for the same decision, it asks its store something else.
    ForgetsWhatItAsked
    /// It suspends a call though its store has answered.
    SuspendsForNothing
    /// The reason of its verdict is a text of 10 MB.
    HugeReason
    /// The reason of its verdict is a text of 8 KiB.
    LongReason
    /// It tells of a hundred thousand events, each with the same text of a megabyte: it takes a
    /// few megabytes of its own memory, and would take a hundred gigabytes of the host's.
    AliasedEvents
    /// Its permit has a text of 8 KiB, where 1 KiB is allowed.
    LongPermit
    /// It gives a permit for a call that nobody asked about.
    ForeignPermit
    /// Whatever came of an attempt, it says to try again at once.
    RetriesForEver
    /// Whatever came of an attempt, it says to try again in five hundred million years.
    WaitsForEver
    /// It allows calls, and no time for them.
    NoTime
    /// Asked why a domain stands as it does, it tells a thousand facts.
    ManyFacts
    /// Asked why a domain stands as it does, it tells a fact whose value is a text of 8 KiB.
    LongFact
    /// It tells of a domain that nobody asked about, of another each time: whoever counts by domain
    /// never stops growing.
    ForeignEvents
}

/// The misbehaviour that this policy was told.
pub(crate) fn told() -> Mode {
    // Volatile: the compiler knows the byte's first value, and the tests change it afterwards.
    // SAFETY: it is read from a static of that type.
    let told = unsafe { std::ptr::read_volatile(&raw const TOLD) };
    let byte = told.last().copied().map_or(0, usize::from);
    Mode::ALL.get(byte).copied().unwrap_or(Mode::Harmless)
}
