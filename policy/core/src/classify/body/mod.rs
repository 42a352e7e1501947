//! Looking at bodies: each kind in one pass, over what is there, at most [`BODY_MAX`] bytes.
//!
//! | module | subject |
//! |---|---|
//! | [`json`] | places in a JSON document |
//! | [`xml`] | elements and attributes of an XML document |
//! | [`events`] | the events of an event stream |
//! | [`text`] | phrases |

pub(crate) mod events;
pub(crate) mod json;
pub(crate) mod text;
pub(crate) mod xml;

/// How much of a body is looked at, in bytes. Whatever a host hands over.
pub const BODY_MAX: usize = 64 << 10;

/// How much of a body its first bytes are, where those alone tell what it is.
pub const BEGINNING: usize = 512;
