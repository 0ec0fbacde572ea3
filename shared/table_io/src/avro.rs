//! The header of an Avro object container file: its key-value metadata, read and replaced.
//!
//! Iceberg keeps a manifest's schema and partition spec there, and the library trusts them blindly.

use std::collections::BTreeMap;

const MAGIC: &[u8] = b"Obj\x01";

/// The metadata of a container file, and everything after it.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    /// Key-value metadata.
    pub(crate) metadata: BTreeMap<String, Vec<u8>>,
    /// Sync marker and data blocks.
    body: &'a [u8],
}

impl<'a> Header<'a> {
    /// The header of `file`; `None` when it is no Avro container file.
    pub(crate) fn parse(file: &'a [u8]) -> Option<Self> {
        let mut rest = file.strip_prefix(MAGIC)?;
        let mut metadata = BTreeMap::new();
        loop {
            let mut count = read_long(&mut rest)?;
            if count == 0 {
                return Some(Self { metadata, body: rest });
            }
            if count < 0 {
                // A negative count is followed by the block's size in bytes.
                count = count.checked_neg()?;
                read_long(&mut rest)?;
            }
            for _ in 0..count {
                let key = String::from_utf8(read_bytes(&mut rest)?.to_vec()).ok()?;
                metadata.insert(key, read_bytes(&mut rest)?.to_vec());
            }
        }
    }

    /// The file with this metadata.
    pub(crate) fn to_file(&self) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        write_long(&mut file, self.metadata.len());
        for (key, value) in &self.metadata {
            for bytes in [key.as_bytes(), value] {
                write_long(&mut file, bytes.len());
                file.extend_from_slice(bytes);
            }
        }
        file.push(0);
        file.extend_from_slice(self.body);
        file
    }
}

/// A zigzag variable-length integer.
fn read_long(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

fn read_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_long(rest)?).ok()?;
    let (bytes, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(bytes)
}

fn write_long(out: &mut Vec<u8>, length: usize) {
    let mut value = (length as u64) << 1;
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written out by hand from the Avro specification: one block of a map with k → "v", then a marker.
    const FILE: &[u8] = b"Obj\x01\x02\x02k\x02v\x00marker";
    // The same with a negative count (-1 = 01) and the block's size (4 bytes = 08).
    const SIZED: &[u8] = b"Obj\x01\x01\x08\x02k\x02v\x00marker";

    #[test]
    fn metadata_is_read_with_and_without_block_sizes_and_written_back() {
        for file in [FILE, SIZED] {
            let header = Header::parse(file).unwrap();
            assert_eq!(header.metadata, BTreeMap::from([("k".to_owned(), b"v".to_vec())]));
            assert_eq!(header.to_file(), FILE);
        }
    }

    #[test]
    fn long_values_survive() {
        let mut header = Header::parse(FILE).unwrap();
        header.metadata.insert("schema".into(), vec![7; 100_000]);
        let file = header.to_file();
        assert_eq!(Header::parse(&file).unwrap().metadata, header.metadata);
        assert!(file.ends_with(b"marker"));
    }

    #[test]
    fn a_cut_or_foreign_file_has_no_header() {
        for end in 0..FILE.len() - b"marker".len() {
            assert!(Header::parse(&FILE[..end]).is_none(), "{end}");
        }
        assert!(Header::parse(b"PAR1").is_none());
        assert!(Header::parse(b"Obj\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").is_none());
    }
}
