//! The order of decision.
//!
//! 1. what was never sent, or broke off below HTTP;
//! 2. gRPC: a status of its own decides over HTTP's, whatever that is;
//! 3. the service's profile, which may overrule any status, in both directions;
//! 4. the media type: a 200 with a page for people in it is no answer;
//! 5. the service's own word on another attempt;
//! 6. the HTTP status.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::finding::{Again, Finding};
use super::hint::{self, Hint, Hints};
use super::profile::Precedence;
use super::profile::rule::Believed;
use super::trace::Trace;
use super::{grpc, media, should_retry, status, transport};
use crate::config::Settings;
use crate::observation::{Media, Observation, Outcome, Response, TransportFailure};

/// What was found of an attempt.
pub(super) struct Decision<'d> {
    pub(super) rule: Cow<'d, str>,
    pub(super) finding: Finding,
    /// Why, for people; the finding's own reason where there is none.
    pub(super) because: Option<&'d str>,
    pub(super) hint: Option<Hint>,
}

impl Decision<'static> {
    fn generic(rule: impl Into<Cow<'static, str>>, finding: &Finding) -> Self {
        Self {
            rule: rule.into(),
            finding: *finding,
            because: None,
            hint: None,
        }
    }
}

/// What the caller can use: by the observation, the configuration, the profile.
pub(super) fn expected(settings: &Settings, observed: Media) -> Media {
    let mut said = [observed, settings.expect, settings.profile.expect].into_iter();
    said.find(|media| *media != Media::Any)
        .unwrap_or(Media::Any)
}

pub(super) fn decide<'d>(
    settings: &'d Settings,
    observation: &'d Observation,
    trace: &mut impl Trace,
) -> Decision<'d> {
    let decision = match (observation.failure, &observation.response) {
        (Some(failure), Some(response)) if is_answered(failure, response) => {
            answered(settings, observation, response, trace)
        }
        (Some(failure), _) => Decision::generic(
            ["transport/", failure.name()].concat(),
            transport::find(failure, observation),
        ),
        (None, Some(response)) => answered(settings, observation, response, trace),
        (None, None) => Decision::generic(
            "nothing",
            const { &Finding::cancelled("nothing was observed") },
        ),
    };
    if !decision.rule.starts_with("profile/") {
        let why = decision.because.unwrap_or(decision.finding.reason);
        trace.generic(&decision.rule, true, why);
    }
    decision
}

/// Whether the server had said how the call ended before the connection failed: a status of gRPC
/// comes last. What happened on this side still decides over it.
fn is_answered(failure: TransportFailure, response: &Response) -> bool {
    use TransportFailure as F;
    let is_of_this_side = matches!(
        failure,
        F::Cancelled
            | F::Shutdown
            | F::DeadlineBeforeSend
            | F::BreakerOpen
            | F::LocalResources
            | F::InvalidRequest
    );
    let mut fields = response.trailers.iter().chain(&response.headers);
    !is_of_this_side && fields.any(|field| field.name.eq_ignore_ascii_case("grpc-status"))
}

fn answered<'d>(
    settings: &'d Settings,
    observation: &'d Observation,
    response: &'d Response,
    trace: &mut impl Trace,
) -> Decision<'d> {
    let profile = &*settings.profile;
    let grpc = grpc::judge(response, profile.grpc);
    let expect = expected(settings, observation.expect);
    let code = grpc.as_ref().map(|judged| judged.code);
    let waits = Waits {
        settings,
        response,
        now_ms: observation.now_ms,
        grpc_ms: grpc.as_ref().and_then(|judged| judged.wait_ms),
        by_headers: OnceCell::new(),
    };
    let by_profile = profile.judge(expect, response, code, trace);
    let mut decision = match (by_profile, &grpc) {
        (Some((rule, then)), _) => Decision {
            rule: Cow::Borrowed(&rule.name),
            finding: then.finding,
            because: then.because.as_deref(),
            hint: waits.hint(&then.finding, &then.hint),
        },
        (None, Some(judged)) => Decision {
            hint: waits.hint(judged.finding, &Believed::Usual),
            ..Decision::generic(judged.rule, judged.finding)
        },
        (None, None) => plain(&waits, expect, trace),
    };
    match grpc {
        Some(judged) if judged.do_not_retry => decision.finding.again = Again::Never,
        Some(_) => {}
        None => {
            if let Some(said) = should_retry::said(response) {
                should_retry::applied(said, &mut decision.finding);
            }
        }
    }
    decision
}

/// An answer of which no profile knows better, by HTTP alone.
fn plain(waits: &Waits<'_>, expect: Media, trace: &mut impl Trace) -> Decision<'static> {
    let Waits {
        settings, response, ..
    } = waits;
    if let Some((rule, finding)) = media::gate(response, expect) {
        return Decision::generic(rule, finding);
    }
    if matches!(response.status, 200..=399) {
        let finding = status::find(response.status, None, false);
        return Decision::generic(status_rule(response.status), finding);
    }
    // A hint may be what tells one meaning of a status from the other.
    let wait_ms = waits.by_headers().asked.map(|hint| hint.wait_ms);
    let long = wait_ms.is_some_and(|ms| ms > settings.hints.inline_ms);
    let by_status = status::find(response.status, wait_ms, long);
    let asks_again = should_retry::said(response) == Some(true);
    let (rule, finding) = if asks_again && by_status.outcome == Outcome::CallerError {
        trace.generic(
            &status_rule(response.status),
            false,
            "the provider asks for another attempt",
        );
        (
            Cow::from("should-retry"),
            const { &should_retry::TRY_AGAIN },
        )
    } else {
        (status_rule(response.status).into(), by_status)
    };
    Decision {
        hint: waits.hint(finding, &Believed::Usual),
        ..Decision::generic(rule, finding)
    }
}

fn status_rule(status: u16) -> String {
    ["status/", itoa::Buffer::new().format(status)].concat()
}

/// Where an answer may tell when to come back.
struct Waits<'w> {
    settings: &'w Settings,
    response: &'w Response,
    now_ms: u64,
    /// What gRPC says.
    grpc_ms: Option<u64>,
    /// What headers say of any service; read when it is asked for.
    by_headers: OnceCell<Hints>,
}

impl Waits<'_> {
    fn by_headers(&self) -> Hints {
        let read = || hint::of_headers(self.response, self.now_ms);
        *self.by_headers.get_or_init(read)
    }

    /// The provider's word on when to come back: a field that the profile names, what gRPC says, what
    /// headers say of any service, what the body says.
    fn hint(&self, finding: &Finding, believed: &Believed) -> Option<Hint> {
        use hint::Kind::Asked;
        let is_of_no_use = matches!(
            finding.outcome,
            Outcome::Success | Outcome::NoResult | Outcome::Cancelled
        );
        if is_of_no_use || *believed == Believed::Nothing {
            return None;
        }
        let of = |source, wait_ms| Hint {
            wait_ms,
            source,
            kind: Asked,
        };
        let clock_ms = hint::clock_ms(self.response, self.now_ms);
        let told = self
            .settings
            .profile
            .told(believed, self.response, clock_ms);
        let told = |when| {
            told.filter(|(_, precedence)| *precedence == when)
                .map(|(ms, _)| ms)
        };
        if let Some(wait_ms) = told(Precedence::BeforeHeaders) {
            return Some(of("profile", wait_ms));
        }
        if let Some(wait_ms) = self.grpc_ms {
            return Some(of("grpc", wait_ms));
        }
        let Hints { asked, limit } = self.by_headers();
        // The reset of a limit says nothing where the limit is not what failed.
        let is_limit = finding.outcome == Outcome::Throttled
            || (finding.outcome == Outcome::QuotaOrAuth && finding.floor_ms != super::AUTH_GATE_MS);
        asked
            .or(limit.filter(|_| is_limit))
            .or_else(|| told(Precedence::AfterHeaders).map(|wait_ms| of("body", wait_ms)))
    }
}
