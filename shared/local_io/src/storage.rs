//! Iceberg's storage port on the local filesystem.
//!
//! Calls block the thread that polls them: reads come from `block_on` on worker threads, so handing them to another
//! thread would cost more than the page cache does.

use std::{fs::File, io, ops::Range, os::unix::fs::FileExt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use iceberg::{
    Error, ErrorKind, Result,
    io::{
        FileIO, FileIOBuilder, FileMetadata, FileRead, FileWrite, InputFile, OutputFile, Storage, StorageConfig,
        StorageFactory,
    },
};
use serde::{Deserialize, Serialize};

use crate::{
    location::{failed, to_path},
    write::NewFile,
};

/// Iceberg's file access over the local filesystem.
#[must_use]
pub fn file_io() -> FileIO {
    FileIOBuilder::new(Arc::new(FilesystemFactory)).build()
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FilesystemFactory;

#[typetag::serde]
impl StorageFactory for FilesystemFactory {
    fn build(&self, _config: &StorageConfig) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(Filesystem))
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Filesystem;

#[async_trait]
#[typetag::serde]
impl Storage for Filesystem {
    async fn exists(&self, location: &str) -> Result<bool> {
        to_path(location)?.try_exists().map_err(|e| failed("look for", location, e))
    }

    async fn metadata(&self, location: &str) -> Result<FileMetadata> {
        let metadata = std::fs::metadata(to_path(location)?).map_err(|e| failed("read", location, e))?;
        Ok(FileMetadata { size: metadata.len() })
    }

    async fn read(&self, location: &str) -> Result<Bytes> {
        let bytes = std::fs::read(to_path(location)?).map_err(|e| failed("read", location, e))?;
        Ok(bytes.into())
    }

    async fn reader(&self, location: &str) -> Result<Box<dyn FileRead>> {
        Ok(Box::new(OpenFile::open(location)?))
    }

    async fn write(&self, location: &str, bytes: Bytes) -> Result<()> {
        let mut file = NewFile::create(location)?;
        file.write(bytes).await?;
        file.close().await
    }

    async fn writer(&self, location: &str) -> Result<Box<dyn FileWrite>> {
        Ok(Box::new(NewFile::create(location)?))
    }

    async fn delete(&self, location: &str) -> Result<()> {
        match std::fs::remove_file(to_path(location)?) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("delete", location, e)),
            _ => Ok(()),
        }
    }

    async fn delete_prefix(&self, location: &str) -> Result<()> {
        Err(Error::new(
            ErrorKind::FeatureUnsupported,
            format!("{location} was not deleted: files are deleted one by one, by their exact location"),
        ))
    }

    async fn delete_stream(&self, mut locations: BoxStream<'static, String>) -> Result<()> {
        while let Some(location) = locations.next().await {
            self.delete(&location).await?;
        }
        Ok(())
    }

    fn new_input(&self, location: &str) -> Result<InputFile> {
        Ok(InputFile::new(Arc::new(*self), location.to_owned()))
    }

    fn new_output(&self, location: &str) -> Result<OutputFile> {
        Ok(OutputFile::new(Arc::new(*self), location.to_owned()))
    }
}

struct OpenFile {
    location: String,
    file: File,
    size: u64,
}

impl OpenFile {
    fn open(location: &str) -> Result<Self> {
        let path = to_path(location)?;
        let file = File::open(path).map_err(|e| failed("read", location, e))?;
        let size = file.metadata().map_err(|e| failed("read", location, e))?.len();
        Ok(Self { location: location.to_owned(), file, size })
    }
}

#[async_trait]
impl FileRead for OpenFile {
    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        // Ranges come from footers: one that leaves the file must not become an allocation.
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.size);
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
            return Err(Error::new(
                ErrorKind::DataInvalid,
                format!("bytes {}..{} lie outside {} ({} bytes)", range.start, range.end, self.location, self.size),
            ));
        };
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, range.start).map_err(|e| failed("read", &self.location, e))?;
        Ok(buffer.into())
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn ranged_reads_return_the_bytes_of_the_range() {
        let dir = tempfile::tempdir().unwrap();
        let location = format!("file:{}/a", dir.path().display());
        let io = file_io();
        block_on(io.new_output(&location).unwrap().write(Bytes::from_static(b"0123456789"))).unwrap();
        let reader = block_on(io.new_input(&location).unwrap().reader()).unwrap();
        assert_eq!(block_on(reader.read(3..6)).unwrap(), "345");
        assert_eq!(block_on(reader.read(10..10)).unwrap(), "");
        assert!(block_on(reader.read(3..11)).is_err());
        assert!(block_on(reader.read(0..u64::MAX)).is_err());
        #[allow(clippy::reversed_empty_ranges, reason = "a broken footer can ask for one")]
        let reversed = 6..3;
        assert!(block_on(reader.read(reversed)).is_err());
    }

    #[test]
    fn an_error_names_the_file_and_carries_the_cause() {
        let error = block_on(file_io().new_input("/no/such/file").unwrap().read()).unwrap_err();
        assert!(error.to_string().contains("/no/such/file"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().downcast_ref::<io::Error>().unwrap();
        assert_eq!(cause.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn deleting_removes_exactly_the_named_file_and_never_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display();
        let io = file_io();
        for name in ["a", "ab"] {
            block_on(io.new_output(format!("{root}/{name}")).unwrap().write(Bytes::new())).unwrap();
        }
        block_on(io.delete(format!("file://{root}/a"))).unwrap();
        block_on(io.delete(format!("{root}/a"))).unwrap();
        assert!(!block_on(io.exists(format!("{root}/a"))).unwrap());
        assert!(block_on(io.exists(format!("{root}/ab"))).unwrap());
        assert!(block_on(io.delete_prefix(root.to_string())).is_err());
        assert!(block_on(io.delete(root.to_string())).is_err());
        assert!(block_on(io.exists(format!("{root}/ab"))).unwrap());
    }
}
