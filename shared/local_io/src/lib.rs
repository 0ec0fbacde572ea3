//! Local adapters
