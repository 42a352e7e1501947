//! A store that answers as it has answered before.

use fusewire_core::KeyValue;
use fusewire_core::store::{Lane, StoreError, Tally};

use crate::store::{Answer, Key, Op, Window, counter_of, own, record_of};
use crate::text::{FAR, Forms, Text, from_present, span, to_core};

/// A store that answers as it has answered before, and then that it is not ready yet.
pub(crate) struct Replay<'a> {
    pub(crate) forms: &'a mut Forms,
    pub(crate) lanes: &'a mut Vec<String>,
    pub(crate) answers: std::slice::Iter<'a, Answer>,
    pub(crate) asked: Option<Op>,
    /// Whether an answer was taken by another operation than the one it was given to.
    pub(crate) is_another: bool,
}

fn place(names: &mut Vec<String>, name: &str) -> u8 {
    let at = names.iter().position(|n| n == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    });
    u8::try_from(at).expect("few names")
}

impl Replay<'_> {
    fn key(&self, key: &str) -> Key {
        let is_own = key.starts_with("fusewire:local:");
        // What ends an own key says whose it is, and nobody asks for another's.
        let key = key.split('!').next().unwrap_or_default();
        let (head, part) = key.split_once("{p}").expect("a key of our provider's");
        let domain = usize::from(!part.is_empty());
        let key = if head.ends_with(":s:") {
            record_of(domain)
        } else if head.ends_with(":w:") {
            counter_of(domain)
        } else {
            panic!("an unknown key: {key}")
        };
        if is_own { own(key) } else { key }
    }

    fn text(&mut self, bytes: &[u8]) -> Text {
        let json = std::str::from_utf8(bytes).expect("a record is a text");
        let text = self.forms.record(json);
        debug_assert_eq!(self.forms.record(&self.forms.fill(&text)), text);
        text
    }

    fn other(&mut self) -> StoreError {
        self.is_another = true;
        StoreError::Unavailable
    }

    fn pending(&mut self, op: Op) -> StoreError {
        assert!(self.asked.is_none(), "a suspended call asked on");
        self.asked = Some(op);
        StoreError::Pending
    }
}

impl KeyValue for Replay<'_> {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        match self.answers.next() {
            Some(Answer::Got(texts)) => {
                let bytes = |text: &Option<Text>| text.map(|t| self.forms.fill(&t).into_bytes());
                Ok(texts.iter().map(|(_, text)| bytes(text)).collect())
            }
            Some(Answer::Unavailable) => Err(StoreError::Unavailable),
            Some(_) => Err(self.other()),
            None => {
                let keys = keys.iter().map(|key| self.key(key)).collect();
                Err(self.pending(Op::Get(keys)))
            }
        }
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        match self.answers.next() {
            Some(Answer::Swapped(swapped)) => Ok(*swapped),
            Some(Answer::Unavailable) => Err(StoreError::Unavailable),
            Some(_) => Err(self.other()),
            None => {
                let op = Op::Swap {
                    key: self.key(key),
                    expected: expected.map(|bytes| self.text(bytes)),
                    replacement: replacement.map(|bytes| self.text(bytes)),
                    ttl: if ttl_ms == 0 { FAR } else { span(ttl_ms) },
                };
                Err(self.pending(op))
            }
        }
    }

    fn count(&mut self, windows: Vec<fusewire_core::Window>) -> Result<Vec<Tally>, StoreError> {
        match self.answers.next() {
            Some(Answer::Counted(tallies)) => Ok(tallies
                .iter()
                .map(|(epoch, lanes)| Tally {
                    epoch: to_core(*epoch),
                    lanes: lanes
                        .iter()
                        .map(|(lane, amount)| Lane {
                            name: self.lanes[usize::from(*lane)].clone(),
                            amount: (*amount).into(),
                        })
                        .collect(),
                })
                .collect()),
            Some(Answer::Unavailable) => Err(StoreError::Unavailable),
            Some(_) => Err(self.other()),
            None => {
                let windows = windows.iter().map(|w| self.window(w)).collect();
                Err(self.pending(Op::Count(windows)))
            }
        }
    }
}

impl Replay<'_> {
    fn window(&mut self, window: &fusewire_core::Window) -> Window {
        let add = window.add.iter().map(|lane| {
            let amount = u8::try_from(lane.amount).expect("a small amount");
            (place(self.lanes, &lane.name), amount)
        });
        let add = add.collect();
        Window {
            key: self.key(&window.key),
            epoch: from_present(window.epoch),
            bucket: from_present(window.bucket),
            since: from_present(window.since),
            add,
            ttl: span(window.ttl_ms),
        }
    }
}
