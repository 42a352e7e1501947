//! A rule: what it asks for, and what it says then.

use super::test::Test;
use crate::classify::body::json::Pointer;
use crate::classify::body::xml::Place;
use crate::classify::finding::{AUTH_GATE_MS, Again, Finding, QUOTA_GATE_MS};
use crate::classify::hint::Unit;
use crate::classify::media::Magic;
use crate::observation::{Media, Outcome};

/// One rule of a profile, or one alternative of a rule that has several: those have one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// `profile/PROFILE/NAME`.
    pub(crate) name: String,
    /// Its place among the rules as they are written.
    pub(crate) written: usize,
    pub(crate) when: When,
    /// `None`: the generic rules decide.
    pub(crate) then: Option<Then>,
}

/// What must hold of an answer, all of it. What is empty asks for nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct When {
    /// Ranges, both ends included.
    pub(crate) status: Vec<(u16, u16)>,
    pub(crate) headers: Vec<(String, Test)>,
    pub(crate) trailers: Vec<(String, Test)>,
    /// Families of media types, or media types.
    pub(crate) media: Vec<String>,
    pub(crate) magic: Vec<Kind>,
    pub(crate) grpc: Vec<u32>,
    pub(crate) expect: Vec<Media>,
    /// Of the body, or of the data of an event where the rule is about events.
    pub(crate) json: Vec<Asked<Pointer>>,
    pub(crate) xml: Vec<Asked<Place>>,
    /// Phrases, of which one must be there.
    pub(crate) text: Vec<String>,
    pub(crate) event: Option<EventTest>,
}

/// A test of the name of an event; what else its rule asks of JSON is asked of the event's data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventTest {
    pub(crate) test: Test,
    /// Its number among those of the profile.
    pub(crate) number: usize,
}

/// A test of what is at a place of the body. The numbers are of the profile that the rule is in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked<P> {
    pub(crate) at: P,
    pub(crate) test: Test,
    /// Which of the profile's places that is.
    pub(crate) place: usize,
    /// Which of the profile's tests of this kind it is.
    pub(crate) number: usize,
}

/// What the first bytes of a body are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any picture.
    Image,
    Magic(Magic),
}

impl Kind {
    pub(crate) fn is(self, magic: Magic) -> bool {
        match self {
            Self::Image => magic.is_image(),
            Self::Magic(this) => this == magic,
        }
    }
}

impl When {
    /// Whether it asks for anything.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How much of a body it looks at, in bytes.
    pub(super) fn body_bytes(&self) -> usize {
        use crate::classify::body::{BEGINNING, BODY_MAX};
        if !self.json.is_empty()
            || !self.xml.is_empty()
            || !self.text.is_empty()
            || self.event.is_some()
        {
            BODY_MAX
        } else if self.magic.is_empty() {
            0
        } else {
            BEGINNING
        }
    }
}

/// What a rule says, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Success,
    NoResult,
    CallerError,
    NotOffered,
    Throttled,
    Auth,
    Quota,
    Transient,
    Costly,
    ProviderDown,
    Cancelled,
    Generic,
}

/// Each word as it is written.
pub(crate) const WORDS: &[(&str, Word)] = &[
    ("success", Word::Success),
    ("no-result", Word::NoResult),
    ("caller-error", Word::CallerError),
    ("not-offered", Word::NotOffered),
    ("throttled", Word::Throttled),
    ("auth", Word::Auth),
    ("quota", Word::Quota),
    ("transient", Word::Transient),
    ("costly", Word::Costly),
    ("provider-down", Word::ProviderDown),
    ("cancelled", Word::Cancelled),
    ("generic", Word::Generic),
];

/// What a rule says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Then {
    pub(crate) finding: Finding,
    /// Why, for people; the finding's own reason where there is none.
    pub(crate) because: Option<String>,
    pub(crate) hint: Believed,
}

/// Which hints a rule believes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Believed {
    /// None: what the service says there is known to be wrong.
    Nothing,
    /// Those of the profile, and those of every service.
    Usual,
    /// This one before the others.
    First(HintPlace),
}

impl Word {
    /// What a word says by itself. `None`: it leaves the answer to the generic rules.
    pub(crate) fn finding(self) -> Option<Finding> {
        Some(match self {
            Self::Success => Finding::good(Outcome::Success, "the provider answered"),
            Self::NoResult => Finding::good(Outcome::NoResult, "the provider has nothing there"),
            Self::CallerError => Finding::caller("the provider rejects the request"),
            Self::NotOffered => {
                Finding::caller("the provider does not offer what was asked for").elsewhere()
            }
            Self::Throttled => Finding::throttled("this client asks too fast"),
            Self::Auth => Finding::account(AUTH_GATE_MS, "the provider rejects the credential"),
            Self::Quota => Finding::account(QUOTA_GATE_MS, "the quota is used up"),
            Self::Transient => Finding::transient(Again::IfIdempotent, "the provider failed"),
            Self::Costly => Finding::transient(
                Again::Never,
                "the provider failed at this request, and would again",
            ),
            Self::ProviderDown => Finding::down(Again::Never, "the provider is out of service"),
            Self::Cancelled => Finding::cancelled("nobody waits for the answer any more"),
            Self::Generic => return None,
        })
    }
}

/// Where a service tells how long to wait, and in what form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HintPlace {
    pub(crate) at: HintAt,
    pub(crate) unit: Unit,
}

/// Where a service tells how long to wait.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HintAt {
    Header(String),
    Trailer(String),
    Json(Pointer),
    Xml(Place),
    /// What follows this phrase.
    Text(String),
}
