//! Each check fails where what it checks is broken, and lets pass what is in order.

mod calls;
mod fleet;
mod records;
mod tale;
