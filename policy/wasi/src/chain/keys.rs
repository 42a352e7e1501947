//! The keys in the bucket. The part after the last `#` is ours, so that no two keys of a policy share
//! one of these.

pub(super) fn first(key: &str) -> String {
    format!("{key}#first")
}

pub(super) fn value(key: &str, id: u64) -> String {
    format!("{key}#{id:x}.value")
}

pub(super) fn next(key: &str, id: u64) -> String {
    format!("{key}#{id:x}.next")
}

pub(super) fn count(key: &str, first: u64) -> String {
    format!("{key}#{first:x}.count")
}

pub(super) fn at(key: &str, first: u64, number: u64) -> String {
    format!("{key}#{first:x}.at.{number}")
}
