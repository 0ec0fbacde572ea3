//! Locations of local files as Iceberg metadata writes them, and the errors that name them.

use std::{io, path::PathBuf};

use iceberg::{Error, ErrorKind, Result};

/// The path of `location`: `/abs`, `file:/abs`, `file:///abs` or `file://localhost/abs`.
///
/// Nothing is percent-decoded: Hadoop and Iceberg write paths into metadata as they are, so `a%20b` names a file with
/// a percent sign.
///
/// # Errors
/// `DataInvalid` for another scheme or host, and for a relative path.
pub(crate) fn to_path(location: &str) -> Result<PathBuf> {
    let rest = location.strip_prefix("file:").unwrap_or(location);
    let path = match rest.strip_prefix("//") {
        Some(authority) if rest.len() < location.len() => authority.strip_prefix("localhost").unwrap_or(authority),
        _ => rest,
    };
    if path.starts_with('/') && !path.contains('\0') {
        return Ok(PathBuf::from(path));
    }
    Err(Error::new(
        ErrorKind::DataInvalid,
        format!("{location} is not a local file: expected /path, file:/path or file:///path"),
    ))
}

/// An I/O failure while doing `action` to `location`, with the operating system's error as its source.
pub(crate) fn failed(action: &str, location: &str, source: io::Error) -> Error {
    let kind = match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => ErrorKind::DataInvalid,
        io::ErrorKind::AlreadyExists => ErrorKind::PreconditionFailed,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, format!("cannot {action} {location}")).with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_styles_of_a_local_location_name_the_same_file() {
        for location in ["/a/b c%20", "file:/a/b c%20", "file:///a/b c%20", "file://localhost/a/b c%20"] {
            assert_eq!(to_path(location).unwrap(), PathBuf::from("/a/b c%20"), "{location}");
        }
    }

    #[test]
    fn other_schemes_hosts_and_relative_paths_are_refused() {
        for location in ["s3://bucket/key", "file://host/a", "a/b", "file:a", ""] {
            assert!(to_path(location).is_err(), "{location}");
        }
    }
}
