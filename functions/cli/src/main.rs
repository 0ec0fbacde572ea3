//! firn
fn main() {}
