//! The world that tests run in: storage and a catalog in memory, a fuse that breaks them at any call, other writers, and a
//! reader that shares no code with Firn.
//!
//! Nothing here knows Firn's own crates beyond the ports: tables are written and read with the `iceberg` and `parquet`
//! crates, by the letter of the Iceberg spec. A world that cannot be built panics: a check that cannot look must fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test world: a check that cannot look must fail"
)]

mod catalog;
mod columns;
mod fuse;
mod puffin;
mod reader;
mod rows;
mod storage;
mod world;
mod writer;

pub use catalog::SimulatedCatalog;
pub use fuse::{Fault, Fuse};
pub use reader::{Content, Entry, Reading, read};
pub use rows::{Row, rows};
pub use world::{Request, World};
pub use writer::{Shape, Writer};
