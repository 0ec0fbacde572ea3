//! Contracts
