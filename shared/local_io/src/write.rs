//! Writing a new file: whole under its name or not there at all, and never over another file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use iceberg::{Error, ErrorKind, Result, io::FileWrite};

use crate::location::{failed, to_path};

/// A file being written under a temporary name in its folder. `close` gives it its name; dropped before that, or after
/// a failure, it is removed.
#[derive(Debug)]
pub(crate) struct NewFile {
    location: String,
    path: PathBuf,
    temporary: Option<(PathBuf, File)>,
}

impl NewFile {
    /// Starts `location`, creating its folder if need be.
    ///
    /// # Errors
    /// `PreconditionFailed` when a file of that name exists; otherwise as the operating system reports.
    pub(crate) fn create(location: &str) -> Result<Self> {
        let path = to_path(location)?;
        let create = || -> io::Result<(PathBuf, File)> {
            let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
            fs::create_dir_all(folder)?;
            if path.try_exists()? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            create_temporary(folder)
        };
        let temporary = create().map_err(|e| failed("create", location, e))?;
        Ok(Self { location: location.to_owned(), path, temporary: Some(temporary) })
    }

    fn closed(&self) -> Error {
        Error::new(ErrorKind::Unexpected, format!("{} is already closed", self.location))
    }

    fn abandon(&mut self) {
        if let Some((temporary, _)) = self.temporary.take() {
            // Nothing refers to the name, so a file that cannot be removed is litter, not harm.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn create_temporary(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".firn-{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            // Left behind by a killed process that had the same id.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Moves `temporary` to `path` unless that exists.
fn publish(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => {
            // Its content is safe under the final name.
            let _ = fs::remove_file(temporary);
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
        // Filesystems without hard links: claim the name with an empty file of our own, then replace that one.
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            if let Err(e) = fs::rename(temporary, path) {
                let _ = fs::remove_file(path);
                return Err(e);
            }
        }
    }
    // The name outlives a power failure only once the folder is on disk too.
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[async_trait]
impl FileWrite for NewFile {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let Some((_, file)) = &mut self.temporary else { return Err(self.closed()) };
        file.write_all(&bytes).map_err(|e| {
            self.abandon();
            failed("write", &self.location, e)
        })
    }

    async fn close(&mut self) -> Result<()> {
        let Some((temporary, file)) = &self.temporary else { return Err(self.closed()) };
        let done = file.sync_all().and_then(|()| publish(temporary, &self.path));
        if done.is_ok() {
            self.temporary = None;
        }
        self.abandon();
        done.map_err(|e| failed("write", &self.location, e))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_only_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let location = format!("{}/deep/a", dir.path().display());
        let mut file = NewFile::create(&location).unwrap();
        block_on(file.write(Bytes::from_static(b"one "))).unwrap();
        assert!(!Path::new(&location).exists());
        block_on(file.write(Bytes::from_static(b"two"))).unwrap();
        block_on(file.close()).unwrap();
        assert_eq!(fs::read(&location).unwrap(), b"one two");
        assert_eq!(names(&dir.path().join("deep")), ["a"]);
        assert!(block_on(file.close()).is_err());
        assert!(block_on(file.write(Bytes::new())).is_err());
        drop(file);
        assert_eq!(fs::read(&location).unwrap(), b"one two");
    }

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let location = format!("{}/a", dir.path().display());
        let mut late = NewFile::create(&location).unwrap();
        block_on(late.write(Bytes::from_static(b"late"))).unwrap();
        fs::write(&location, "first").unwrap();
        let error = block_on(late.close()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PreconditionFailed);
        assert_eq!(NewFile::create(&location).unwrap_err().kind(), ErrorKind::PreconditionFailed);
        assert_eq!(fs::read(&location).unwrap(), b"first");
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn a_writer_dropped_before_close_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = NewFile::create(&format!("{}/a", dir.path().display())).unwrap();
        block_on(file.write(Bytes::from_static(b"x"))).unwrap();
        drop(file);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = NewFile::create(&format!("{}/a", dir.path().display())).unwrap();
        let (path, _) = file.temporary.take().unwrap();
        // Read-only: every write fails, as on a full disk.
        file.temporary = Some((path.clone(), File::open(path).unwrap()));
        assert!(block_on(file.write(Bytes::from_static(b"x"))).is_err());
        assert!(names(dir.path()).is_empty());
        assert!(block_on(file.close()).is_err());
        assert!(names(dir.path()).is_empty());
    }
}
