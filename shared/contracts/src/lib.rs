//! What Firn is told from outside: the environment and the configuration.

pub mod config;
pub mod env;
