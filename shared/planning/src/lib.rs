//! Planning
