//! Which keys the fleet's policies are under.

use crate::policy::Digest;

/// The keys of one fleet.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// What all of them begin with.
    begin: String,
}

impl Keys {
    /// Those of the fleet whose policies' keys begin with `prefix`.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            begin: format!("{prefix}-policies:"),
        }
    }

    /// What the fleet is to run.
    pub(super) fn wanted(&self) -> String {
        self.key("wanted")
    }

    /// The list of hosts.
    pub(super) fn hosts(&self) -> String {
        self.key("hosts")
    }

    /// The list of pushes under way.
    pub(super) fn pushing(&self) -> String {
        self.key("pushing")
    }

    /// What one host reports.
    pub(super) fn host(&self, instance: &str) -> String {
        self.key(&format!("host:{instance}"))
    }

    /// One piece of a policy's bytes, counted from zero.
    pub(super) fn chunk(&self, digest: Digest, at: u64) -> String {
        self.key(&format!("artefact:{digest}:{at}"))
    }

    fn key(&self, rest: &str) -> String {
        format!("{}{rest}", self.begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::confine;

    #[test]
    fn no_policy_can_touch_what_decides_on_policies() {
        for prefix in ["fusewire", "team-a", ""] {
            let keys = Keys::new(prefix);
            for key in [
                keys.wanted(),
                keys.hosts(),
                keys.pushing(),
                keys.host("host-1"),
                keys.chunk(Digest::of(b"policy"), 0),
            ] {
                assert!(confine::key(prefix, &key).is_err(), "{key}");
            }
        }
    }

    #[test]
    fn fleets_with_prefixes_of_their_own_have_keys_of_their_own() {
        assert_ne!(Keys::new("a").wanted(), Keys::new("b").wanted());
    }
}
