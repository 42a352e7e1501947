//! What to gather of an attempt, so that who judges it sees what it looks at.

use std::sync::Arc;

use fusewire_core::{Target, Wanted};

use super::Guard;
use super::generation::Generation;
use crate::engine::{Engine, evidence};

impl Guard {
    /// What is looked at in answers of this target, by the policy that decides for it and by those
    /// that are compared with it. Ask it for each attempt: it is kept, and changes when the policy is
    /// replaced.
    ///
    /// Gather no more than this. Of a body hand over the beginning, decoded as its content coding
    /// says; `Some` and empty where it was empty, and `None` where there is none (as after `HEAD`, or
    /// with 204), or where it cannot be decoded. Who sets [`expect`](fusewire_core::Observation)
    /// hands over [`EXPECTED_BYTES`](evidence::EXPECTED_BYTES) at least.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use fusewire::engine::ComponentEngine;
    /// # use fusewire::store::MemoryStore;
    /// use fusewire::core::{Field, Observation, Response, Target};
    /// use fusewire::engine::evidence::wants_header;
    /// use fusewire::guard::Guard;
    ///
    /// /// What came of a call: its status, its fields, and its body, or the beginning of that.
    /// fn seen(guard: &Guard, target: &Target, answer: &http::Response<Vec<u8>>) -> Observation {
    ///     let wanted = guard.wanted(target);
    ///     let mut response = Response::status(answer.status().as_u16());
    ///     for (name, value) in answer.headers() {
    ///         if wants_header(&wanted, name.as_str()) {
    ///             response.headers.push(Field {
    ///                 name: name.to_string(),
    ///                 value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    ///             });
    ///         }
    ///     }
    ///     if wanted.body_bytes > 0 {
    ///         let beginning = answer.body().iter().take(wanted.body_bytes as usize);
    ///         response.body = Some(beginning.copied().collect());
    ///     }
    ///     Observation::response(response, guard.now_ms())
    /// }
    /// # let engine = ComponentEngine::built_in("{}").unwrap();
    /// # let guard = Guard::builder(Arc::new(engine), Arc::new(MemoryStore::new())).build();
    /// # let answer = http::Response::builder().header("retry-after", "7").body(Vec::new()).unwrap();
    /// # let seen = seen(&guard, &Target::provider("geocoder"), &answer);
    /// # assert_eq!(seen.response.unwrap().headers.len(), 1);
    /// ```
    #[must_use]
    pub fn wanted(&self, target: &Target) -> Arc<Wanted> {
        let generation = self.generation(&target.provider);
        let decides = match generation.engine() {
            Some(engine) => self.looked_at(&generation, &*engine, target),
            None => evidence::unsaid(),
        };
        self.inner.generations.wanted_beside(target, decides)
    }

    /// What one policy looks at. Where it fails it is as one that does not say.
    pub(super) fn looked_at(
        &self,
        generation: &Generation,
        engine: &dyn Engine,
        target: &Target,
    ) -> Arc<Wanted> {
        engine.wanted(target).unwrap_or_else(|fault| {
            generation.failed(&fault);
            self.fault("wanted", &fault);
            evidence::unsaid()
        })
    }
}
