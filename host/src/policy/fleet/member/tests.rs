//! | module | subject |
//! |---|---|
//! | `crew` | hosts that do as the test says, in one fleet |
//! | `orders` | what a fleet does about orders |
//! | `upkeep` | hosts that come and go, and a store that cannot be relied on |

mod crew;
mod orders;
mod upkeep;
