//! Every interleaving of a few clients, step by step, with deaths and failures at any of them.
//!
//! | module | subject |
//! |---|---|
//! | `steps` | the bucket as a model, and an operation played up to its next step |
//! | `monitor` | whether what clients were answered can have happened in some order |
//! | `search` | all the ways in which a few clients can come to an end |
//!
//! A client's operation runs against the answers that it has had so far, and stops at the first
//! step that has none: that step is then taken whenever the search decides. States that were reached
//! before, by other ways, are not searched again.

mod monitor;
mod search;
mod steps;

use self::monitor::{adds, get, swap};
use self::search::{Search, Story};

#[test]
fn of_those_who_create_a_value_one_succeeds_and_the_rest_go_on_from_it() {
    Search::of(&Story {
        before: &[],
        clients: &[
            &[swap(None, Some("a")), swap(Some("a"), Some("b"))],
            &[swap(None, Some("b")), swap(Some("b"), Some("a"))],
        ],
        deaths: 2,
        failures: 0,
    });
}

#[test]
fn of_three_who_replace_the_same_value_one_succeeds() {
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), Some("a"))],
            &[swap(Some("x"), Some("b"))],
            &[swap(Some("x"), Some("c"))],
        ],
        deaths: 1,
        failures: 0,
    });
}

#[test]
fn a_value_that_was_replaced_and_came_back_is_the_same_value() {
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), Some("y")), swap(Some("y"), Some("x"))],
            &[swap(Some("x"), Some("z")), get()],
        ],
        deaths: 2,
        failures: 0,
    });
    // Neither is told that it was not `x`, as it always was.
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), Some("x"))],
            &[swap(Some("x"), Some("x")), get()],
        ],
        deaths: 1,
        failures: 0,
    });
}

#[test]
fn a_removed_value_is_absent_to_all_and_can_be_put_back() {
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), None), swap(None, Some("a"))],
            &[swap(Some("x"), Some("y")), swap(None, Some("b"))],
        ],
        deaths: 2,
        failures: 0,
    });
}

#[test]
fn one_who_slept_through_many_changes_is_told_the_truth() {
    Search::of(&Story {
        before: &[swap(None, Some("x")), swap(Some("x"), Some("a"))],
        clients: &[
            &[
                swap(Some("a"), Some("b")),
                swap(Some("b"), Some("c")),
                swap(Some("c"), Some("a")),
            ],
            &[swap(Some("a"), Some("y"))],
        ],
        deaths: 1,
        failures: 0,
    });
}

#[test]
fn a_reader_sees_values_in_the_order_in_which_they_were_written() {
    Search::of(&Story {
        before: &[],
        clients: &[
            &[swap(None, Some("a")), swap(Some("a"), Some("b"))],
            &[get(), get()],
            &[get()],
        ],
        deaths: 1,
        failures: 0,
    });
}

#[test]
fn a_reader_never_sees_a_value_that_lost() {
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), Some("a"))],
            &[swap(Some("x"), Some("b"))],
            &[get()],
        ],
        deaths: 0,
        failures: 0,
    });
}

#[test]
fn no_add_is_lost_and_none_counts_twice() {
    Search::of(&Story {
        before: &[adds(1, 5)],
        clients: &[&[adds(1, 1), adds(1, 10)], &[adds(1, 100)]],
        deaths: 2,
        failures: 0,
    });
}

#[test]
fn a_newer_epoch_takes_a_counter_over_whole() {
    Search::of(&Story {
        before: &[],
        clients: &[&[adds(1, 1), adds(2, 10)], &[adds(2, 100)]],
        deaths: 1,
        failures: 0,
    });
}

#[test]
fn a_step_that_fails_is_told_as_unknown_or_is_survived() {
    Search::of(&Story {
        before: &[swap(None, Some("x"))],
        clients: &[
            &[swap(Some("x"), Some("a")), get()],
            &[swap(Some("x"), Some("b")), swap(Some("b"), Some("x"))],
        ],
        deaths: 0,
        failures: 1,
    });
    Search::of(&Story {
        before: &[],
        clients: &[&[swap(None, Some("a"))], &[swap(None, Some("b")), get()]],
        deaths: 0,
        failures: 2,
    });
}
