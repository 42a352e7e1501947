//! Shared data in this process, as Envoy's behaves, which can be made to misbehave.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::shared::SharedData;
use crate::host::Status;

/// Shared data as Envoy has it: a number for each write of the whole process, and no removal.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    values: RefCell<HashMap<String, (Vec<u8>, u32)>>,
    writes: Cell<u32>,
    /// What the next writes come to instead, the last of the list first.
    pub(crate) trouble: RefCell<Vec<Trouble>>,
}

/// What goes wrong with a write.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// It goes well.
    None,
    /// The host says that the value has changed, and it has not.
    Mismatch,
    /// The host fails.
    Fails(u32),
    /// Another writer is ahead, with these bytes.
    Ahead(Vec<u8>),
}

impl Fake {
    pub(crate) fn len(&self) -> usize {
        self.values.borrow().len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.values
            .borrow()
            .values()
            .map(|(value, _)| value.len())
            .sum()
    }

    /// Writes whatever was there.
    pub(crate) fn overwrite(&self, key: &str, value: &[u8]) {
        self.write(key, value);
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.values.borrow().keys().cloned().collect()
    }

    fn write(&self, key: &str, value: &[u8]) {
        self.writes.set(self.writes.get() + 1);
        self.values
            .borrow_mut()
            .insert(key.to_owned(), (value.to_vec(), self.writes.get()));
    }
}

impl SharedData for Fake {
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status> {
        Ok(self.values.borrow().get(key).cloned())
    }

    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
        let trouble = self.trouble.borrow_mut().pop();
        match trouble {
            None | Some(Trouble::None) => {}
            Some(Trouble::Mismatch) => return Err(Status::CAS_MISMATCH),
            Some(Trouble::Fails(status)) => return Err(Status(status)),
            Some(Trouble::Ahead(theirs)) => self.write(key, &theirs),
        }
        let held = self.values.borrow().get(key).map(|(_, cas)| *cas);
        if held.is_some_and(|held| cas != 0 && cas != held) {
            return Err(Status::CAS_MISMATCH);
        }
        self.write(key, value);
        Ok(())
    }
}
