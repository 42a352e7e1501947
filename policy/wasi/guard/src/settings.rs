//! What the environment says.
//!
//! | variable | what it is |
//! |---|---|
//! | `FUSEWIRE_UPSTREAM` | the service's URL, such as `http://10.0.0.7:8080/api`; paths are added to it |
//! | `FUSEWIRE_PROVIDER` | the service's name to the policy; if not said, the URL's authority |
//! | `FUSEWIRE_INSTANCE` | who this guard is in the fleet; if not said, each instance has a name of its own |
//! | `FUSEWIRE_POLICY` | the policy's configuration, a JSON text; if not said, `{}` |
//! | `FUSEWIRE_CONNECT_MS`, `FUSEWIRE_READ_MS`, `FUSEWIRE_TOTAL_MS`, `FUSEWIRE_PROBE_MS` | time limits: to connect (2000), from one byte to the next (4000), in all (8000), in all for a probe (half of that) |
//! | `FUSEWIRE_BODY_BYTES` | how much of the beginning of an answer's body the policy is shown (65536, which is the most); 0: nothing |
//!
//! A policy may say itself what it looks at (`wit/evidence.wit`), and is not asked here: a component has
//! an import or has it not, and a guard with that one could not be plugged together with a policy that
//! does not export it. A beginning that nobody looks at costs two copies of it.

use crate::bindings::wasi::cli::environment::get_environment;
use crate::bindings::wasi::http::types::Scheme;

/// The most that a policy may look at of a body (`wit/evidence.wit`).
const BODY_MAX_BYTES: usize = 65_536;

/// What one guard is to do.
pub(crate) struct Settings {
    pub(crate) upstream: Upstream,
    pub(crate) provider: String,
    /// Who this guard is in the fleet; `None`: each instance has a name of its own.
    pub(crate) instance: Option<String>,
    pub(crate) policy: String,
    pub(crate) limits: Limits,
    /// How much of the beginning of an answer's body the policy is shown, in bytes.
    pub(crate) body_bytes: usize,
}

/// Where the service is.
pub(crate) struct Upstream {
    pub(crate) scheme: Scheme,
    pub(crate) authority: String,
    /// What every path begins with, without a `/` at its end.
    pub(crate) base: String,
}

/// How long the service is waited for, in ms.
pub(crate) struct Limits {
    pub(crate) connect_ms: u64,
    pub(crate) read_ms: u64,
    pub(crate) total_ms: u64,
    pub(crate) probe_ms: u64,
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and what would be right.
    pub(crate) fn read() -> Result<Self, String> {
        Self::of(&get_environment())
    }

    fn of(environment: &[(String, String)]) -> Result<Self, String> {
        let told = |name: &str| {
            let found = environment.iter().find(|(found, _)| found == name);
            found.map(|(_, value)| value.as_str())
        };
        let ms = |name: &str, otherwise: u64| match told(name).map(str::parse) {
            None => Ok(otherwise),
            Some(Ok(ms)) if ms > 0 => Ok(ms),
            _ => Err(format!(
                "{name} is no number of milliseconds above zero, such as 8000"
            )),
        };
        let body_bytes = match told("FUSEWIRE_BODY_BYTES").map(str::parse) {
            None => BODY_MAX_BYTES,
            Some(Ok(bytes)) if bytes <= BODY_MAX_BYTES => bytes,
            _ => {
                return Err(format!(
                    "FUSEWIRE_BODY_BYTES is no number of bytes from 0 to {BODY_MAX_BYTES}"
                ));
            }
        };
        let instance = told("FUSEWIRE_INSTANCE");
        // `wit/package.wit`, "Units and names".
        let is_name =
            |id: &str| (1..=128).contains(&id.len()) && !id.contains(|c: char| c.is_control());
        if instance.is_some_and(|id| !is_name(id)) {
            return Err(
                "FUSEWIRE_INSTANCE is no name: give 1 to 128 bytes, such as guard-1".into(),
            );
        }
        let url = told("FUSEWIRE_UPSTREAM")
            .ok_or("FUSEWIRE_UPSTREAM is not set: give the service's URL")?;
        let upstream = Upstream::of(url)?;
        let total_ms = ms("FUSEWIRE_TOTAL_MS", 8_000)?;
        Ok(Self {
            provider: told("FUSEWIRE_PROVIDER")
                .unwrap_or(&upstream.authority)
                .to_owned(),
            upstream,
            instance: instance.map(str::to_owned),
            policy: told("FUSEWIRE_POLICY").unwrap_or("{}").to_owned(),
            limits: Limits {
                connect_ms: ms("FUSEWIRE_CONNECT_MS", 2_000)?,
                read_ms: ms("FUSEWIRE_READ_MS", 4_000)?,
                total_ms,
                probe_ms: ms("FUSEWIRE_PROBE_MS", total_ms.div_ceil(2))?,
            },
            body_bytes,
        })
    }
}

impl Upstream {
    fn of(url: &str) -> Result<Self, String> {
        let wrong = || {
            format!("FUSEWIRE_UPSTREAM is {url:?}; write a URL such as http://10.0.0.7:8080/api")
        };
        let (scheme, rest) = match url.split_once("://").ok_or_else(wrong)? {
            ("http", rest) => (Scheme::Http, rest),
            ("https", rest) => (Scheme::Https, rest),
            _ => return Err(wrong()),
        };
        let (authority, base) = rest
            .find('/')
            .and_then(|at| rest.split_at_checked(at))
            .unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains('@') || base.contains(['?', '#']) {
            return Err(wrong());
        }
        Ok(Self {
            scheme,
            authority: authority.to_owned(),
            base: base.trim_end_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(n, v)| ((*n).into(), (*v).into()))
            .collect();
        Settings::of(&pairs)
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let settings = of(&[("FUSEWIRE_UPSTREAM", "http://10.0.0.7:8080/api/")]).unwrap();
        assert_eq!(settings.provider, "10.0.0.7:8080");
        assert_eq!(settings.upstream.base, "/api");
        assert_eq!((settings.policy.as_str(), settings.instance), ("{}", None));
        assert_eq!(
            (settings.limits.total_ms, settings.limits.probe_ms),
            (8_000, 4_000)
        );
        assert_eq!(settings.body_bytes, 65_536);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        assert!(
            of(&[])
                .err()
                .unwrap()
                .contains("FUSEWIRE_UPSTREAM is not set")
        );
        for url in [
            "",
            "10.0.0.7",
            "ftp://a",
            "http://",
            "http:///x",
            "http://u@h",
            "http://h/?q",
        ] {
            let error = of(&[("FUSEWIRE_UPSTREAM", url)]).err().unwrap();
            assert!(error.contains("write a URL"), "{url}: {error}");
        }
        for id in ["", "two\nlines"] {
            let error = of(&[("FUSEWIRE_UPSTREAM", "http://a"), ("FUSEWIRE_INSTANCE", id)]);
            assert!(error.err().unwrap().contains("such as guard-1"), "{id:?}");
        }
        for ms in ["0", "-1", "1s", ""] {
            let error = of(&[("FUSEWIRE_UPSTREAM", "http://a"), ("FUSEWIRE_READ_MS", ms)]);
            assert!(error.err().unwrap().contains("FUSEWIRE_READ_MS"), "{ms}");
        }
        for bytes in ["65537", "-1", "4k", ""] {
            let error = of(&[
                ("FUSEWIRE_UPSTREAM", "http://a"),
                ("FUSEWIRE_BODY_BYTES", bytes),
            ]);
            let error = error.err().unwrap();
            assert!(error.contains("from 0 to 65536"), "{bytes}: {error}");
        }
    }
}
