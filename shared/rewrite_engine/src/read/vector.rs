//! Deletion vectors: the `deletion-vector-v1` blob of a Puffin file (Puffin spec, "Blob types").

use roaring::RoaringTreemap;

const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];

/// The deleted positions of `blob`, which must hold exactly `cardinality` of them, all below `rows`.
pub(crate) fn parse(blob: &[u8], cardinality: u64, rows: u64) -> Result<RoaringTreemap, String> {
    let (length, rest) = blob.split_first_chunk::<4>().ok_or("the blob is shorter than its length field")?;
    let (body, crc) = rest.split_last_chunk::<4>().ok_or("the blob is shorter than its checksum")?;
    if usize::try_from(u32::from_be_bytes(*length)) != Ok(body.len()) {
        return Err(format!(
            "the blob has {} bytes, its length field says {}",
            body.len(),
            u32::from_be_bytes(*length)
        ));
    }
    if crc32fast::hash(body) != u32::from_be_bytes(*crc) {
        return Err("the checksum of the blob is wrong".to_owned());
    }
    let mut bitmap = body.strip_prefix(&MAGIC).ok_or("the blob does not start with the magic of a deletion vector")?;
    let positions =
        RoaringTreemap::deserialize_from(&mut bitmap).map_err(|error| format!("the bitmap does not parse: {error}"))?;
    if !bitmap.is_empty() {
        return Err(format!("{} bytes follow the bitmap", bitmap.len()));
    }
    if positions.len() != cardinality {
        return Err(format!("the vector deletes {} rows, its manifest entry says {cardinality}", positions.len()));
    }
    if positions.max().is_some_and(|last| last >= rows) {
        return Err(format!("the vector deletes rows beyond the {rows} of its data file"));
    }
    Ok(positions)
}
