//! What Firn is told from outside: the environment.

pub mod env;
