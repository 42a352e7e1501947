//! Calls a policy again until its store has answered everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Answer, Call, Engine, Fault, Tape};
use crate::store::Store;

/// How many times the patience with one operation all of a call may take. Operations follow one
/// another: a probe takes two, and an outcome that opens a breaker three for each domain. A store
/// that is slow but within its limit must not keep these from coming to their end.
const PATIENCE_IN_ALL: u32 = 8;

/// Makes one call of a policy on a store.
///
/// Waits for the store, outside the policy: at the longest `patience` for one operation, and eight
/// times that for all of the call. What has not answered by then is out of reach to the policy. A
/// store that answers at once makes this a plain call. Cancel-safe: dropping it abandons the call;
/// an operation that was started may take effect.
///
/// # Errors
/// The policy failed; see [`Fault`].
pub async fn ask(
    engine: &dyn Engine,
    store: &Arc<dyn Store>,
    prefix: &Arc<str>,
    patience: Duration,
    call: &Call,
) -> Result<Answer, Fault> {
    let mut tape = Tape::new(Arc::clone(store), Arc::clone(prefix));
    ask_on(engine, &mut tape, patience, call).await
}

/// As [`ask`], on a tape that is blank so far.
///
/// # Errors
/// The policy failed; see [`Fault`].
pub async fn ask_on(
    engine: &dyn Engine,
    tape: &mut Tape,
    patience: Duration,
    call: &Call,
) -> Result<Answer, Fault> {
    let mut in_all = None;
    loop {
        let answer = engine.run(call, tape)?;
        if let Some(fault) = tape.take_fault() {
            return Err(fault);
        }
        match answer {
            Ok(answer) => return Ok(answer),
            Err(_) if tape.is_waiting() => {
                let now = Instant::now();
                let ends = *in_all.get_or_insert(now + patience * PATIENCE_IN_ALL);
                tape.wait(ends.min(now + patience)).await;
            }
            Err(_) => {
                return Err(Fault::Contract(
                    "it suspended a call though its store had answered".into(),
                ));
            }
        }
    }
}
