//! The bytes of a Parquet file: small files whole, large ones through windows, so that memory does not grow with the file.

use std::{
    collections::VecDeque,
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Buf, Bytes};
use futures::executor::block_on;
use iceberg::io::FileRead;
use parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::reader::{ChunkReader, Length},
};
use ports::LoadedTable;

use crate::error::{Error, Result};

/// Files up to this size are read with one request.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// All windows of one file together: with the row group that is being written this bounds what a rewrite holds.
const WINDOWS_BYTES: u64 = 48 * 1024 * 1024;
/// One window, at least: below this, requests cost more than bytes.
const WINDOW_BYTES_MIN: u64 = 256 * 1024;
/// One window, at most.
const WINDOW_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Where a Parquet file's bytes come from. Storage futures are driven here: callers are on a blocking thread.
#[derive(Clone)]
pub(crate) enum Source {
    /// All of it.
    Whole(Bytes),
    /// As much as is needed at a time.
    Windowed(Arc<Windows>),
}

impl Source {
    /// Opens `path`; `size_bytes` is what the manifest says and decides only how it is read.
    pub(crate) fn open(table: &LoadedTable, path: &str, size_bytes: u64) -> Result<Self> {
        Self::open_with(table, path, size_bytes, WHOLE_BYTES_MAX)
    }

    pub(super) fn open_with(table: &LoadedTable, path: &str, size_bytes: u64, whole_max: u64) -> Result<Self> {
        let open = async {
            let input = table.file_io.new_input(path)?;
            if size_bytes <= whole_max {
                return Ok(Self::Whole(input.read().await?));
            }
            let length = input.metadata().await?.size;
            let windows = Mutex::new((VecDeque::new(), 1));
            Ok(Self::Windowed(Arc::new(Windows { reader: input.reader().await?, length, windows })))
        };
        block_on(open).map_err(|error: iceberg::Error| Error::Read { path: path.to_owned(), source: error.into() })
    }

    /// Says how many column chunks are read side by side; each gets a window.
    pub(crate) fn expect_columns(&self, columns: usize) {
        if let Self::Windowed(file) = self {
            file.windows.lock().unwrap_or_else(PoisonError::into_inner).1 = columns.max(1);
        }
    }

    fn at(&self, start: u64, length: usize) -> io::Result<Bytes> {
        match self {
            Self::Whole(bytes) => {
                let start = usize::try_from(start).map_err(io::Error::other)?;
                start.checked_add(length).and_then(|end| bytes.get(start..end)).map(|it| bytes.slice_ref(it))
            }
            Self::Windowed(file) => return file.at(start, length),
        }
        .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its footer says so"))
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Windowed(file) => file.length,
        }
    }
}

impl ChunkReader for Source {
    type T = SourceRead;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(SourceRead { source: self.clone(), offset: start, buffer: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.at(start, length).map_err(|error| ParquetError::External(error.into()))
    }
}

/// A file too large to hold.
pub(crate) struct Windows {
    reader: Box<dyn FileRead>,
    length: u64,
    /// The windows, least recently used first, and how many are kept.
    windows: Mutex<(VecDeque<(u64, Bytes)>, usize)>,
}

impl Windows {
    fn at(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let mut guard = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let (windows, columns) = &mut *guard;
        let held = windows.iter().position(|(from, bytes)| within(*from, bytes, start, length).is_some());
        let window = match held.and_then(|at| windows.remove(at)) {
            Some(window) => window,
            None => {
                let size = (WINDOWS_BYTES / *columns as u64).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
                let end = start.saturating_add(size.max(length as u64)).min(self.length);
                let read = block_on(self.reader.read(start..end.max(start)));
                (start, read.map_err(io::Error::other)?)
            }
        };
        let found = within(window.0, &window.1, start, length);
        windows.push_back(window);
        while windows.len() > *columns {
            windows.pop_front();
        }
        found.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its footer says so"))
    }
}

fn within(from: u64, bytes: &Bytes, start: u64, length: usize) -> Option<Bytes> {
    let at = usize::try_from(start.checked_sub(from)?).ok()?;
    bytes.get(at..at.checked_add(length)?).map(|it| bytes.slice_ref(it))
}

/// Reads on from an offset.
pub(crate) struct SourceRead {
    source: Source,
    offset: u64,
    buffer: Bytes,
}

/// What is looked at ahead: page headers are small.
const AHEAD_BYTES: u64 = 1_024;

impl Read for SourceRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.buffer.is_empty() {
            let left = self.source.len().saturating_sub(self.offset);
            let length = usize::try_from(left.min(AHEAD_BYTES.max(into.len() as u64))).map_err(io::Error::other)?;
            self.buffer = self.source.at(self.offset, length)?;
            self.offset += length as u64;
        }
        let length = into.len().min(self.buffer.len());
        self.buffer.split_to(length).copy_to_slice(into.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}
