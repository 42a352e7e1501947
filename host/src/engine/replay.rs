//! Calls a policy again until its store has answered everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Answer, Call, Engine, Fault, Tape};
use crate::store::Store;

/// Makes one call of a policy on a store.
///
/// Waits for the store, outside the policy, at the longest `patience` in all; what has not
/// answered by then is out of reach to the policy. A store that answers at once makes this a
/// plain call. Cancel-safe: dropping it abandons the call; an operation that was started may take
/// effect.
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
    let mut deadline = None;
    loop {
        let answer = engine.run(call, &mut tape)?;
        if let Some(fault) = tape.take_fault() {
            return Err(fault);
        }
        match answer {
            Ok(answer) => return Ok(answer),
            Err(_) if tape.is_waiting() => {
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
                tape.wait(deadline).await;
            }
            Err(_) => {
                return Err(Fault::Contract(
                    "it suspended a call though its store had answered".into(),
                ));
            }
        }
    }
}
