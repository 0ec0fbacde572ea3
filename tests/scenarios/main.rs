//! Whole jobs in a simulated world that breaks at every call, with other writers between any two steps.
//!
//! What a table must hold is known from what its writers wrote and deleted, and read by code that Firn does not share.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a check that cannot look must fail"
)]

mod check;
mod crash;
mod job;
mod lost_answers;
mod other_writers;
mod shapes;
