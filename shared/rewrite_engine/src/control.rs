//! What a caller may do to a running rewrite: watch it and stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Shared between a rewrite and whoever runs it.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    bytes_read: AtomicU64,
}

impl Control {
    /// Asks the rewrite to stop at the next batch with [`crate::Error::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Bytes of input data files done so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }
}
