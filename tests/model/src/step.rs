//! What can happen, one thing at a time.

use std::fmt;

use crate::call::{End, Order};
use crate::store::Key;
use crate::text::Ms;

/// One step. Attempts are named by their instance and their place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    TimePasses,
    Asks {
        instance: u8,
        lot: u8,
        lag: Ms,
        how: How,
    },
    Tells {
        instance: u8,
        attempt: u8,
        end: End,
        lag: Ms,
        how: How,
    },
    Answered {
        who: Who,
        how: How,
    },
    Forgotten {
        instance: u8,
        attempt: u8,
    },
    Crashes {
        instance: u8,
    },
    Orders(Option<Order>),
    Loses(Key),
}

/// Whose call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Instance(u8, u8),
    Operator,
}

/// How an operation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Well,
    /// Answered `unavailable`, and it took no effect.
    Undone,
    /// Answered `unavailable`, though it took effect.
    Done,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Well => "",
            Self::Undone => ": the store is out of reach",
            Self::Done => ": the store does it, and is out of reach for the answer",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimePasses => write!(f, "time passes"),
            Self::Asks {
                instance, lag, how, ..
            } => {
                write!(
                    f,
                    "instance {instance} asks, by its time of {lag} ms ago{how}"
                )
            }
            Self::Tells {
                instance,
                attempt,
                end,
                lag,
                how,
            } => {
                let end = format!("{end:?}").to_lowercase();
                write!(f, "instance {instance} tells that its attempt {attempt} ")?;
                write!(f, "{end}, by its time of {lag} ms ago{how}")
            }
            Self::Answered {
                who: Who::Operator,
                how,
            } => {
                write!(f, "the operator's call goes on{how}")
            }
            Self::Answered {
                who: Who::Instance(instance, attempt),
                how,
            } => {
                write!(
                    f,
                    "the call of instance {instance} about its attempt {attempt} goes on{how}"
                )
            }
            Self::Forgotten { instance, attempt } => {
                write!(
                    f,
                    "the outcome of attempt {attempt} of instance {instance} is lost"
                )
            }
            Self::Crashes { instance } => write!(f, "instance {instance} crashes"),
            Self::Orders(order) => write!(f, "the operator orders {order:?}"),
            Self::Loses(key) => write!(f, "the store loses key {key}"),
        }
    }
}
