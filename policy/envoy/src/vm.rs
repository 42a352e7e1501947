//! All configurations and streams of one worker, and Envoy's callbacks.
//!
//! A callback about a context that is not known is answered with what lets the request through.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::config::Settings;
use crate::config::settings::is_name;
use crate::entropy::Entropy;
use crate::fleet::Member;
use crate::fleet::member::TICK_MS;
use crate::host::{Action, Buffer, Host, Level};
use crate::metrics::Metrics;
use crate::root::{Desk, Root};
use crate::store::shared;
use crate::stream::Stream;
use crate::target::property;

/// All configurations and streams of one worker.
#[derive(Debug)]
pub struct Vm<H> {
    host: H,
    metrics: Metrics,
    entropy: Option<Entropy>,
    /// By their contexts; those that were not accepted are missing.
    roots: BTreeMap<u32, (Rc<Root>, Member)>,
    streams: BTreeMap<u32, Stream>,
    /// Whether any stream has looked at a body so far.
    looks: bool,
    #[cfg(feature = "drive")]
    driver: crate::drive::Driver,
}

impl<H: Host> Vm<H> {
    /// A worker without any configuration.
    pub fn new(host: H) -> Self {
        Self {
            host,
            metrics: Metrics::default(),
            entropy: None,
            roots: BTreeMap::new(),
            streams: BTreeMap::new(),
            looks: false,
            #[cfg(feature = "drive")]
            driver: crate::drive::Driver::default(),
        }
    }

    /// A configuration, or a stream under one, begins.
    pub fn on_context_create(&mut self, context: u32, parent: u32) {
        if let Some((root, _)) = self.roots.get(&parent) {
            let stream = || Stream::new(Rc::clone(root));
            self.streams.entry(context).or_insert_with(stream);
        }
    }

    /// A configuration is to be put in force. Where it is not, the log says why, problem by
    /// problem.
    pub fn on_configure(&mut self, context: u32, size: u32) -> bool {
        match self.root(size) {
            Ok(root) => {
                let token = self.entropy.get_or_insert_default().draw(0);
                let member = Member::new(&root, token);
                self.roots.insert(context, (Rc::new(root), member));
                true
            }
            Err(lines) => {
                for line in lines {
                    self.host.log(Level::Error, &["fusewire: ", &line].concat());
                }
                false
            }
        }
    }

    fn root(&mut self, size: u32) -> Result<Root, Vec<String>> {
        let json = match size {
            0 => Vec::new(),
            size => self
                .host
                .buffer(Buffer::Configuration, 0, size)
                .map_err(|status| vec![format!("the configuration cannot be read ({status})")])?,
        };
        let settings = Settings::from_json(&json).map_err(|problems| {
            problems
                .iter()
                .map(|p| format!("configuration: {p}"))
                .collect::<Vec<_>>()
        })?;
        shared::check(&self.host).map_err(|wrong| vec![wrong])?;
        let now_ns = self.host.now_ns().map_err(|status| {
            vec![format!(
                "the time cannot be read ({status}): this host must allow it"
            )]
        })?;
        let instance = settings
            .instance
            .clone()
            .or_else(|| property(&self.host, "xds\0node\0id"))
            .filter(|id| is_name(id))
            .unwrap_or_else(|| "envoy".into());
        let vm = shared::next_number(&self.host, "vms");
        self.entropy
            .get_or_insert_with(|| Entropy::new(&instance, vm, now_ns));
        self.metrics.define(&self.host);
        self.host
            .tick_every(u32::try_from(TICK_MS).unwrap_or(u32::MAX))
            .map_err(|status| {
                vec![format!(
                    "no ticks are to be had ({status}): this host must allow them"
                )]
            })?;
        let root = Root::new(settings, instance);
        if root.scope.turn(&self.host).is_none() {
            root.scope.next_turn(&self.host);
        }
        Ok(root)
    }

    fn desk_and_stream(&mut self, context: u32) -> Option<(Desk<'_, H>, &mut Stream)> {
        let stream = self.streams.get_mut(&context)?;
        let desk = Desk {
            host: &self.host,
            metrics: &self.metrics,
            entropy: self.entropy.get_or_insert_default(),
        };
        Some((desk, stream))
    }

    fn desk_and_root(&mut self, context: u32) -> Option<(Desk<'_, H>, &Root, &mut Member)> {
        let (root, member) = self.roots.get_mut(&context)?;
        let desk = Desk {
            host: &self.host,
            metrics: &self.metrics,
            entropy: self.entropy.get_or_insert_default(),
        };
        Some((desk, root, member))
    }

    /// Time has passed.
    pub fn on_tick(&mut self, context: u32) {
        if let Some((mut desk, root, member)) = self.desk_and_root(context) {
            member.tick(root, &mut desk);
        }
        self.tell_overdue(context);
    }

    /// Tells the policy of requests that have been under way for too long.
    fn tell_overdue(&mut self, context: u32) {
        let Some((root, _)) = self.roots.get(&context) else {
            return;
        };
        let Ok(now_ns) = self.host.now_ns() else {
            return;
        };
        if now_ns < root.due_ns.get() {
            return;
        }
        let mut desk = Desk {
            host: &self.host,
            metrics: &self.metrics,
            entropy: self.entropy.get_or_insert_default(),
        };
        let streams = self.streams.values_mut();
        let next = streams.map(|stream| stream.tick(root, &mut desk, now_ns));
        root.due_ns.set(next.min().unwrap_or(u64::MAX));
    }

    /// A request has come.
    pub fn on_request_headers(&mut self, context: u32, end: bool) -> Action {
        #[cfg(feature = "drive")]
        if self.is_drive() {
            return Action::Pause;
        }
        match self.desk_and_stream(context) {
            Some((mut desk, stream)) => stream.admit(&mut desk, end),
            None => Action::Continue,
        }
    }

    #[cfg(feature = "drive")]
    fn is_drive(&self) -> bool {
        crate::target::header(&self.host, "fusewire-drive").as_deref() == Some("1")
    }

    /// More of a request has come, all of which is awaited where it drives the filter.
    #[cfg(feature = "drive")]
    pub fn on_request_body(&mut self, _context: u32, end: bool) -> Action {
        if !self.is_drive() {
            return Action::Continue;
        }
        if end {
            let line = self
                .host
                .buffer(Buffer::RequestBody, 0, u32::MAX)
                .unwrap_or_default();
            let answer = self.driver.answer(&self.host, &line);
            let _ = self.host.respond(&answer);
        }
        Action::Pause
    }

    /// An answer begins; `end`: and is whole.
    pub fn on_response_headers(&mut self, context: u32, end: bool) {
        if let Some(stream) = self.streams.get_mut(&context) {
            stream.mark(&self.host);
            self.looks |= stream.begin(&self.host);
            if end {
                stream.answered(&self.host, false);
            }
        }
    }

    /// More of an answer has come; `end`: the rest of it.
    pub fn on_response_body(&mut self, context: u32, size: u32, end: bool) {
        if !end && !self.looks {
            return;
        }
        if let Some(stream) = self.streams.get_mut(&context) {
            stream.look(&self.host, size);
            if end {
                stream.answered(&self.host, false);
            }
        }
    }

    /// An answer ends with trailers.
    pub fn on_response_trailers(&mut self, context: u32) {
        if let Some(stream) = self.streams.get_mut(&context) {
            stream.answered(&self.host, true);
        }
    }

    /// A call of the filter's own was answered; `came`: at all.
    pub fn on_call_response(&mut self, context: u32, token: u32, came: bool, size: u32) {
        if let Some((desk, root, member)) = self.desk_and_root(context) {
            member.answered(root, &desk, token, came, size);
        }
    }

    /// A request has ended.
    pub fn on_log(&mut self, context: u32) {
        if let Some((mut desk, stream)) = self.desk_and_stream(context) {
            stream.log(&mut desk);
        }
    }

    /// A request, or a configuration, is over.
    pub fn on_delete(&mut self, context: u32) {
        let mut desk = Desk {
            host: &self.host,
            metrics: &self.metrics,
            entropy: self.entropy.get_or_insert_default(),
        };
        if let Some((root, _)) = self.roots.remove(&context) {
            root.retire(&mut desk);
        }
        if let Some(stream) = self.streams.remove(&context) {
            stream.delete(&mut desk);
        }
    }
}

#[cfg(test)]
mod tests;
