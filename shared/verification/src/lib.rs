//! Verification
