//! A call of the policy, made again until all of its operations are answered.

use fusewire_core::store::{KeyValue, StoreError, Tally, Window};

use crate::stage::Stage;

/// The most operations in one call. The core's longest stories with a store take some dozen; one
/// that asks on and on is at fault.
const OPERATIONS_MAX: usize = 100;

/// What the policy asked for.
#[derive(Debug, Clone, PartialEq)]
enum Operation {
    Get(Vec<String>),
    Swap(String, Option<Vec<u8>>, Option<Vec<u8>>),
    Count(Vec<Window>),
}

#[derive(Debug, Clone)]
enum Answer {
    Values(Vec<Option<Vec<u8>>>),
    Swapped(bool),
    Tallies(Vec<Tally>),
}

/// A store that answers each operation of one call when the call is made again.
pub(crate) struct Replay<'a> {
    stage: &'a mut Stage,
    answered: Vec<(Operation, Result<Answer, StoreError>)>,
    /// Which operation of the call comes next.
    next: usize,
    fault: Option<String>,
}

/// What came of one making of a call.
pub(crate) enum Came<T> {
    Answer(T),
    /// So many operations were answered before the one that is awaited.
    Suspended(u32),
}

/// Makes a call until it is answered.
///
/// # Errors
/// A sentence that says what the policy did that it must not.
pub(crate) fn until_answered<T>(
    stage: &mut Stage,
    mut call: impl FnMut(&mut dyn KeyValue) -> Came<T>,
) -> Result<T, String> {
    let mut replay = Replay {
        stage,
        answered: Vec::new(),
        next: 0,
        fault: None,
    };
    loop {
        replay.next = 0;
        let before = replay.answered.len();
        let came = call(&mut replay);
        if let Some(fault) = replay.fault {
            return Err(fault);
        }
        let after = replay.answered.len();
        match came {
            Came::Answer(answer) if after == before => return Ok(answer),
            Came::Answer(_) => return Err("it answered before its store did".into()),
            Came::Suspended(told) if after == before => {
                return Err(format!(
                    "it was suspended after {told} with nothing to wait for"
                ));
            }
            Came::Suspended(told) => {
                // One that failed was performed, and not answered.
                let earlier = replay.answered.iter().take(before);
                let answered = earlier.filter(|(_, answer)| answer.is_ok()).count();
                if usize::try_from(told) != Ok(answered) {
                    return Err(format!(
                        "it says {told} operations were answered, not {answered}"
                    ));
                }
            }
        }
        if after > OPERATIONS_MAX {
            return Err(format!(
                "it asked for more than {OPERATIONS_MAX} operations"
            ));
        }
    }
}

impl Replay<'_> {
    fn ask(&mut self, operation: Operation) -> Result<Answer, StoreError> {
        if let Some((asked, answer)) = self.answered.get(self.next) {
            self.next += 1;
            if *asked != operation {
                let fault = format!("called again, it asked for {operation:?} and not {asked:?}");
                self.fault.get_or_insert(fault);
            }
            return answer.clone();
        }
        if self.answered.len() > self.next {
            return Err(StoreError::Pending);
        }
        let answer = match &operation {
            Operation::Get(keys) => self.stage.get(keys).map(Answer::Values),
            Operation::Swap(key, expected, replacement) => self
                .stage
                .swap(key, expected.as_deref(), replacement.as_deref())
                .map(Answer::Swapped),
            Operation::Count(windows) => self.stage.count(windows).map(Answer::Tallies),
        };
        self.answered.push((operation, answer));
        // Whoever goes on after this instead of leaving asks for what is not there yet.
        self.next = self.answered.len();
        Err(StoreError::Pending)
    }

    /// An answer of another kind than the operation's: only after a fault.
    fn confused<T>(&mut self) -> Result<T, StoreError> {
        self.fault
            .get_or_insert_with(|| "called again, it asked for another operation".into());
        Err(StoreError::Pending)
    }
}

impl KeyValue for Replay<'_> {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        match self.ask(Operation::Get(keys.to_vec()))? {
            Answer::Values(values) => Ok(values),
            _ => self.confused(),
        }
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        _ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        match self.ask(Operation::Swap(
            key.to_owned(),
            own(expected),
            own(replacement),
        ))? {
            Answer::Swapped(swapped) => Ok(swapped),
            _ => self.confused(),
        }
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        match self.ask(Operation::Count(windows))? {
            Answer::Tallies(tallies) => Ok(tallies),
            _ => self.confused(),
        }
    }
}
