//! An Envoy in this process, for tests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::host::{Buffer, Call, Host, Level, LocalResponse, Map, MetricKind, Status};
use crate::pairs;
use crate::store::SharedData;
use crate::store::fake::Fake;

/// An Envoy that answers what a test has it answer.
#[derive(Default)]
pub(crate) struct FakeHost {
    pub(crate) data: Fake,
    pub(crate) now_ns: Cell<u64>,
    pub(crate) configuration: RefCell<String>,
    pub(crate) properties: RefCell<BTreeMap<String, String>>,
    pub(crate) numbers: RefCell<BTreeMap<String, u64>>,
    pub(crate) request: RefCell<Vec<(String, String)>>,
    pub(crate) response: RefCell<Vec<(String, String)>>,
    pub(crate) body: RefCell<Vec<u8>>,
    pub(crate) call_answer: RefCell<(String, Vec<u8>)>,
    /// What was written to the log.
    pub(crate) lines: RefCell<Vec<String>>,
    /// The filter's own answers.
    pub(crate) responded: RefCell<Vec<LocalResponse>>,
    /// The bodies of the filter's own calls.
    pub(crate) calls: RefCell<Vec<Vec<u8>>>,
    /// Metrics by name, and their names by id.
    pub(crate) metrics: RefCell<BTreeMap<String, u64>>,
    names: RefCell<Vec<String>>,
    /// What the next host calls answer instead, the last first.
    pub(crate) strange: RefCell<Vec<Option<u32>>>,
}

impl FakeHost {
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let name = ["fusewire.", name].concat();
        self.metrics
            .borrow()
            .get(&name)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn set(list: &RefCell<Vec<(String, String)>>, fields: &[(&str, &str)]) {
        let owned = fields
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        list.replace(owned.collect());
    }

    pub(crate) fn property_is(&self, path: &str, text: &str) {
        self.properties
            .borrow_mut()
            .insert(path.into(), text.into());
    }

    fn strange(&self) -> Result<(), Status> {
        let strange = self.strange.borrow_mut().pop();
        strange
            .flatten()
            .map_or(Ok(()), |status| Err(Status(status)))
    }

    fn list(&self, map: Map) -> &RefCell<Vec<(String, String)>> {
        match map {
            Map::RequestHeaders | Map::RequestTrailers => &self.request,
            _ => &self.response,
        }
    }
}

impl SharedData for FakeHost {
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status> {
        self.strange()?;
        self.data.get(key)
    }

    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
        self.strange()?;
        self.data.set(key, value, cas)
    }
}

impl Host for &FakeHost {
    fn log(&self, _: Level, line: &str) {
        self.lines.borrow_mut().push(line.to_owned());
    }

    fn now_ns(&self) -> Result<u64, Status> {
        self.strange()?;
        Ok(self.now_ns.get())
    }

    fn property(&self, path: &str) -> Result<Option<String>, Status> {
        self.strange()?;
        Ok(self.properties.borrow().get(path).cloned())
    }

    fn number(&self, path: &str) -> Result<Option<u64>, Status> {
        self.strange()?;
        Ok(self.numbers.borrow().get(path).copied())
    }

    fn header(&self, map: Map, name: &str) -> Result<Option<String>, Status> {
        self.strange()?;
        if map == Map::CallHeaders {
            return Ok(Some(self.call_answer.borrow().0.clone()));
        }
        let list = self.list(map).borrow();
        Ok(list
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.clone()))
    }

    fn header_pairs(&self, map: Map) -> Result<Vec<u8>, Status> {
        self.strange()?;
        Ok(pairs::write(&self.list(map).borrow()))
    }

    fn add_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status> {
        self.strange()?;
        self.list(map)
            .borrow_mut()
            .push((name.into(), value.into()));
        Ok(())
    }

    fn set_header(&self, map: Map, name: &str, value: &str) -> Result<(), Status> {
        self.strange()?;
        self.list(map).borrow_mut().retain(|(n, _)| n != name);
        self.add_header(map, name, value)
    }

    fn buffer(&self, buffer: Buffer, start: u32, max: u32) -> Result<Vec<u8>, Status> {
        self.strange()?;
        let bytes = match buffer {
            Buffer::Configuration => self.configuration.borrow().clone().into_bytes(),
            Buffer::CallBody => self.call_answer.borrow().1.clone(),
            Buffer::RequestBody | Buffer::ResponseBody => self.body.borrow().clone(),
        };
        Ok(bytes
            .into_iter()
            .skip(start as usize)
            .take(max as usize)
            .collect())
    }

    fn respond(&self, response: &LocalResponse) -> Result<(), Status> {
        self.strange()?;
        self.responded.borrow_mut().push(response.clone());
        Ok(())
    }

    fn call(&self, call: &Call<'_>) -> Result<u32, Status> {
        self.strange()?;
        self.calls.borrow_mut().push(call.body.to_vec());
        Ok(u32::try_from(self.calls.borrow().len()).unwrap())
    }

    fn tick_every(&self, _: u32) -> Result<(), Status> {
        self.strange()
    }

    fn define_metric(&self, _: MetricKind, name: &str) -> Result<u32, Status> {
        self.strange()?;
        let mut names = self.names.borrow_mut();
        names.push(name.to_owned());
        Ok(u32::try_from(names.len() - 1).unwrap())
    }

    // Always counts, so that a test can.
    fn add_to_metric(&self, id: u32, by: i64) -> Result<(), Status> {
        let name = self.names.borrow()[id as usize].clone();
        *self.metrics.borrow_mut().entry(name).or_default() += u64::try_from(by).unwrap();
        Ok(())
    }

    fn set_metric(&self, id: u32, to: u64) -> Result<(), Status> {
        self.strange()?;
        let name = self.names.borrow()[id as usize].clone();
        self.metrics.borrow_mut().insert(name, to);
        Ok(())
    }
}
