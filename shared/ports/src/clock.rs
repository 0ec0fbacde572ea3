//! Time as a port, so that handlers can be tested at any moment.

/// Wall-clock time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;
}
