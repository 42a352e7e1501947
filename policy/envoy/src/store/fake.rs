//! Shared data in this process, as Envoy's behaves, which can be made to misbehave.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::shared::SharedData;
use crate::host::Status;

type Hook = Box<dyn FnOnce(&Fake)>;

/// Shared data as Envoy has it: a number for each write of the whole process, and no removal.
#[derive(Default)]
pub(crate) struct Fake {
    values: RefCell<HashMap<String, (Vec<u8>, u32)>>,
    writes: Cell<u32>,
    /// What the next writes of groups come to instead, the last of the list first.
    pub(crate) trouble: RefCell<Vec<Trouble>>,
    /// What another worker does just before the next write of a group.
    pub(crate) ahead: RefCell<Option<Hook>>,
}

/// What goes wrong with a write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// It goes well.
    Nothing,
    /// The host says that the value has changed.
    Mismatch,
    /// The host fails.
    Fails(u32),
}

impl Fake {
    pub(crate) fn len(&self) -> usize {
        self.values.borrow().len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let values = self.values.borrow();
        values.values().map(|(value, _)| value.len()).sum()
    }

    pub(crate) fn writes(&self) -> u32 {
        self.writes.get()
    }

    /// Replaces every value by these bytes.
    pub(crate) fn damage(&self, bytes: &[u8]) {
        for (value, _) in self.values.borrow_mut().values_mut() {
            *value = bytes.to_vec();
        }
    }

    pub(crate) fn write(&self, key: &str, value: &[u8]) {
        self.writes.set(self.writes.get() + 1);
        let write = (value.to_vec(), self.writes.get());
        self.values.borrow_mut().insert(key.to_owned(), write);
    }
}

impl SharedData for Fake {
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status> {
        Ok(self.values.borrow().get(key).cloned())
    }

    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
        if key.contains("/g") {
            let trouble = self.trouble.borrow_mut().pop();
            match trouble {
                None | Some(Trouble::Nothing) => {}
                Some(Trouble::Mismatch) => return Err(Status::CAS_MISMATCH),
                Some(Trouble::Fails(status)) => return Err(Status(status)),
            }
            let ahead = self.ahead.borrow_mut().take();
            if let Some(ahead) = ahead {
                ahead(self);
            }
        }
        let held = self.values.borrow().get(key).map(|(_, cas)| *cas);
        if held.is_some_and(|held| cas != 0 && cas != held) {
            return Err(Status::CAS_MISMATCH);
        }
        self.write(key, value);
        Ok(())
    }
}

impl<D: SharedData + ?Sized> SharedData for &D {
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status> {
        (**self).get(key)
    }

    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
        (**self).set(key, value, cas)
    }
}
