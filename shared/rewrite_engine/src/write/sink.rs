//! A blocking writer over Iceberg's asynchronous one.

use std::io::{self, Write};

use iceberg::io::FileWrite;

/// Bytes that are gathered before storage sees them.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Buffers writes and hands them on; [`Sink::close`] makes the file.
pub(crate) struct Sink {
    file: Box<dyn FileWrite>,
    buffer: Vec<u8>,
}

impl Sink {
    pub(crate) fn new(file: Box<dyn FileWrite>) -> Self {
        Self { file, buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES));
        futures::executor::block_on(self.file.write(bytes.into())).map_err(io::Error::other)
    }

    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.hand_on()?;
        futures::executor::block_on(self.file.close()).map_err(io::Error::other)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.hand_on()?;
        }
        Ok(bytes.len())
    }

    /// Nothing is promised before the file is closed.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
