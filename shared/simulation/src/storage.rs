//! Iceberg's storage port over a map in memory, every call behind the fuse of the process that makes it.
//!
//! As on the real ones, a file appears under its name when its writer closes it, whole, and never over another file.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

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

use crate::fuse::{Fuse, Pass};

/// The files of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(Arc<Mutex<BTreeMap<String, Bytes>>>);

impl Files {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same files, in a world of their own.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    fn get(&self, path: &str) -> Result<Bytes> {
        let missing = || Error::new(ErrorKind::DataInvalid, format!("no file {path}"));
        self.lock().get(path).cloned().ok_or_else(missing)
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        let mut files = self.lock();
        if files.contains_key(path) {
            return Err(Error::new(ErrorKind::PreconditionFailed, format!("{path} exists")));
        }
        files.insert(path.to_owned(), bytes);
        Ok(())
    }
}

/// The storage as one process sees it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Process {
    #[serde(skip)]
    files: Files,
    #[serde(skip)]
    fuse: Arc<Fuse>,
}

impl Process {
    pub(crate) fn file_io(files: &Files, fuse: &Arc<Fuse>) -> FileIO {
        FileIOBuilder::new(Arc::new(Self { files: files.clone(), fuse: Arc::clone(fuse) })).build()
    }

    /// One call of the port.
    fn call<T>(&self, operation: &str, path: &str, effect: impl FnOnce() -> Result<T>) -> Result<T> {
        let failed = || Error::new(ErrorKind::Unexpected, format!("storage failed: {operation} {path}"));
        match self.fuse.enter(operation, path).map_err(|_| failed())? {
            Pass::Through => effect(),
            Pass::Nowhere => Err(failed()),
            Pass::Answerless => {
                effect()?;
                Err(failed())
            }
        }
    }
}

#[typetag::serde(name = "simulation")]
impl StorageFactory for Process {
    fn build(&self, _config: &StorageConfig) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
#[typetag::serde(name = "simulation")]
impl Storage for Process {
    async fn exists(&self, path: &str) -> Result<bool> {
        self.call("exists", path, || Ok(self.files.lock().contains_key(path)))
    }

    async fn metadata(&self, path: &str) -> Result<FileMetadata> {
        self.call("metadata", path, || Ok(FileMetadata { size: self.files.get(path)?.len() as u64 }))
    }

    async fn read(&self, path: &str) -> Result<Bytes> {
        self.call("read", path, || self.files.get(path))
    }

    async fn reader(&self, path: &str) -> Result<Box<dyn FileRead>> {
        let open = || Ok(OpenFile { process: self.clone(), path: path.to_owned(), bytes: self.files.get(path)? });
        self.call("open", path, open).map(|file| Box::new(file) as Box<dyn FileRead>)
    }

    async fn write(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.call("put", path, || self.files.put(path, bytes))
    }

    async fn writer(&self, path: &str) -> Result<Box<dyn FileWrite>> {
        let file = || Ok(NewFile { process: self.clone(), path: path.to_owned(), bytes: Some(Vec::new()) });
        self.call("create", path, file).map(|file| Box::new(file) as Box<dyn FileWrite>)
    }

    async fn delete(&self, path: &str) -> Result<()> {
        let effect = || {
            self.files.lock().remove(path);
            Ok(())
        };
        self.call("delete", path, effect)
    }

    async fn delete_prefix(&self, path: &str) -> Result<()> {
        Err(Error::new(ErrorKind::FeatureUnsupported, format!("nobody deletes everything below {path}")))
    }

    async fn delete_stream(&self, mut paths: BoxStream<'static, String>) -> Result<()> {
        while let Some(path) = paths.next().await {
            self.delete(&path).await?;
        }
        Ok(())
    }

    fn new_input(&self, path: &str) -> Result<InputFile> {
        Ok(InputFile::new(Arc::new(self.clone()), path.to_owned()))
    }

    fn new_output(&self, path: &str) -> Result<OutputFile> {
        Ok(OutputFile::new(Arc::new(self.clone()), path.to_owned()))
    }
}

struct OpenFile {
    process: Process,
    path: String,
    bytes: Bytes,
}

#[async_trait]
impl FileRead for OpenFile {
    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        let outside = || Error::new(ErrorKind::DataInvalid, format!("{range:?} lies outside {}", self.path));
        self.process.call("range", &self.path, || {
            self.bytes.get(range.clone()).map(|it| self.bytes.slice_ref(it)).ok_or_else(outside)
        })
    }
}

struct NewFile {
    process: Process,
    path: String,
    bytes: Option<Vec<u8>>,
}

#[async_trait]
impl FileWrite for NewFile {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let Self { process, path, bytes: buffer } = self;
        process.call("write", path, || {
            buffer.as_mut().expect("written after it was closed").extend_from_slice(&bytes);
            Ok(())
        })
    }

    async fn close(&mut self) -> Result<()> {
        let Self { process, path, bytes: buffer } = self;
        process.call("close", path, || process.files.put(path, buffer.take().expect("closed twice").into()))
    }
}
