//! Answers of services as they are written down, and what they should mean: for `fusewire classify`,
//! and for tests of policies.
//!
//! | module | subject |
//! |---|---|
//! | `case` | a case: an input, and what is expected of its verdict |
//! | `read` | from a line of JSON to an input or a case |
//! | `observed` | what was seen: the part of a line that a verdict is of |
//! | `transport` | the usual names of failures below HTTP |
//! | `body` | a body that is written as a text |
//! | `raw` | an answer as `curl -i` saves it |
//! | `setup` | by which settings an input is judged |
//! | `mistake` | what is wrong with a line, and where |
//!
//! # Lines
//!
//! One JSON object a line. What is not named here is left alone: cases of others have more.
//!
//! | key | what it is |
//! |---|---|
//! | `id` | its name, in reports; a case must have one |
//! | `service` | the profile by which it is judged, of which `any` is `http`; without one, by the general settings |
//! | `group` | what it is counted under; if not said, its service |
//! | `why` | why that is expected |
//! | `expected` | see below; a case must have it |
//! | `input` | what was seen; if there is none, all of its keys may be beside `id` |
//!
//! An input is an answer, a failure below HTTP, or both:
//!
//! | key | what it is |
//! |---|---|
//! | `status` | of HTTP |
//! | `headers`, `trailers` | an object: a name has a text, or a list of texts |
//! | `body_prefix`, `body_tail` | the body's beginning, and what follows it. A text whose characters are those of bytes, with some of U+0080 to U+009F among them, is bytes |
//! | `body_base64` | the same as base64 |
//! | `transport` | a failure below HTTP: the contract's name, or one of the usual ones |
//! | `cause` | more about it, for people |
//! | `latency_ms` | how long it took |
//! | `now` | when it ended, as `2026-01-01T00:00:00Z`; if not said, the answer's `date`, or else the reader's clock |
//! | `method`, `idempotent` | of the request, which is a GET if nothing is said |
//! | `expect` | what the caller can use: `json`, `xml`, `image`, `mvt` |
//! | `delivered_partial` | whether a part of the answer was passed on already |
//! | `min_budget_ms` | the least time in which the service can be expected to answer |
//! | `profile`, `provider` | by which profile, or by which provider's settings, it is judged; they win over `service` |
//! | `slow_ms` | from when on an answer is slow |
//! | `require_key` | the caller needs this of the JSON: a key, or a JSON Pointer |
//!
//! Without a text of a body nobody looked at it. Neither did anybody where HTTP has none: after
//! HEAD, and with 1xx, 204 and 304.
//!
//! What is expected has at least one of `outcome`, `breaker_effect`, `counts_against_breaker`,
//! `blame`, `retry_same`, `next_provider`, `min_delay_ms` and `rule`. The outcome `slow` is a success
//! that is slow. Names may be written with `_` for `-`.

mod body;
mod case;
mod mistake;
mod observed;
mod raw;
mod read;
mod setup;
mod transport;

pub use self::case::{Case, Difference, Expected, Input};
pub use self::mistake::Mistake;
pub use self::raw::{BadResponse, is_response};
pub use self::read::Reading;
pub use self::setup::{Assigned, Setup, Whom, general_profile};
