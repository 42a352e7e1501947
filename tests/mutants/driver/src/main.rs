//! Plays scenarios over the core alone, in memory: the protocol of `fusewire::scenario::driver`, on
//! standard input and output.
//!
//! It is what a changed core is built into to see whether any scenario notices, so it depends on
//! the core and on nothing that takes long to build. As a host on a network does, it answers every
//! operation of the policy `pending` first and makes the call again: a core that does not ask for
//! the same operations then, or does not tell how many were answered, is at fault.
//!
//! | module | subject |
//! |---|---|
//! | `protocol` | a line there, a line back |
//! | `replay` | a call of the policy, made again until all of its operations are answered |
//! | `stage` | the store as a scenario's policy has it: away, forgetful, confined, counted |
//! | `store` | the store: `wit/keyvalue.wit`, in memory |

mod protocol;
mod replay;
mod stage;
mod store;

use std::io::{BufRead, Write};

use self::protocol::Driver;

fn main() -> std::io::Result<()> {
    let mut driver = Driver::default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", driver.answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}
