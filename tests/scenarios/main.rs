//! Whole jobs in a simulated world that breaks at every call, with other writers between any two steps, and the `firn`
//! binary on real files, killed at random moments and out of space.
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
#[path = "../interop/firn.rs"]
#[allow(dead_code, reason = "shared with the binary interop, which runs more commands")]
mod firn;
mod job;
mod killed;
mod lost_answers;
mod on_disk;
mod other_writers;
mod shapes;
