//! Deletion vectors in Puffin files (Puffin spec, "File structure" and "Blob types: deletion-vector-v1").

use std::io::Write;

use roaring::RoaringTreemap;
use serde_json::json;

const FILE_MAGIC: &[u8] = b"PFA1";
const VECTOR_MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];

/// A Puffin file with one deletion vector, and the vector's (offset, size) in it.
pub(crate) fn file(positions: &[u64], data_file: &str) -> (Vec<u8>, (u64, u64)) {
    let mut body = VECTOR_MAGIC.to_vec();
    positions.iter().copied().collect::<RoaringTreemap>().serialize_into(&mut body).unwrap();
    let mut blob = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    blob.extend_from_slice(&body);
    blob.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    let (offset, size) = (FILE_MAGIC.len() as u64, blob.len() as u64);
    let footer =
        json!({"blobs": [{"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
        "offset": offset, "length": size,
        "properties": {"referenced-data-file": data_file, "cardinality": positions.len().to_string()}}]})
        .to_string();
    let mut bytes = FILE_MAGIC.to_vec();
    bytes.write_all(&blob).unwrap();
    bytes.write_all(FILE_MAGIC).unwrap();
    bytes.write_all(footer.as_bytes()).unwrap();
    bytes.write_all(&u32::try_from(footer.len()).unwrap().to_le_bytes()).unwrap();
    bytes.write_all(&[0; 4]).unwrap();
    bytes.write_all(FILE_MAGIC).unwrap();
    (bytes, (offset, size))
}

/// The positions of a deletion vector's blob.
pub(crate) fn positions(blob: &[u8]) -> Vec<u64> {
    let body = &blob[4..blob.len() - 4];
    assert_eq!(body[..4], VECTOR_MAGIC, "no deletion vector");
    RoaringTreemap::deserialize_from(&body[4..]).unwrap().into_iter().collect()
}
