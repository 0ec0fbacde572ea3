//! Equality keys as bytes that are equal exactly when the keys are (rewrite rule A.4), and sets of them.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use hashbrown::{HashTable, hash_table::Entry};
use xxhash_rust::xxh3::xxh3_64;

/// One NaN for all of them: NaN equals NaN. −0.0 and 0.0 stay apart, as their ordering says.
pub(crate) fn one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            let made: Float32Array = values.unary(|it| if it.is_nan() { f32::NAN } else { it });
            Arc::new(made)
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            let made: Float64Array = values.unary(|it| if it.is_nan() { f64::NAN } else { it });
            Arc::new(made)
        }
        _ => Arc::clone(array),
    }
}

/// Encodes rows of columns of fixed types.
pub(crate) struct KeyEncoder(RowConverter);

impl KeyEncoder {
    pub(crate) fn new(types: impl Iterator<Item = DataType>) -> Result<Self, String> {
        let fields = types.map(SortField::new).collect();
        Ok(Self(RowConverter::new(fields).map_err(|error| error.to_string())?))
    }

    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, String> {
        let columns: Vec<ArrayRef> = columns.iter().map(one_nan).collect();
        self.0.convert_columns(&columns).map_err(|error| error.to_string())
    }
}

/// What a key costs beside its bytes: its slot, free slots, and its share of the filter.
const KEY_OVERHEAD_BYTES: u64 = 40;
/// Bits of the filter per key: one in 16 keys that are not there gets past it.
const FILTER_BITS_PER_KEY: usize = 16;

/// A share of all keys by their hash, so that sets beyond memory can be loaded part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) index: u64,
    pub(super) of: u64,
}

impl Part {
    pub(super) const ALL: Self = Self { index: 0, of: 1 };

    fn has(self, hash: u64) -> bool {
        self.of == 1 || hash % self.of == self.index
    }
}

/// Keys and, for each, the highest data sequence number of a delete file with it.
#[derive(Debug, Default)]
pub(super) struct Keys {
    slots: HashTable<Slot>,
    /// The bytes of all keys, one after another.
    bytes: Vec<u8>,
    /// A bit for each key's hash: most rows are in no delete file, and this says so without a cache miss.
    filter: Vec<u64>,
}

#[derive(Debug)]
struct Slot {
    start: u32,
    length: u32,
    newest: i64,
}

fn key_at<'a>(bytes: &'a [u8], slot: &Slot) -> &'a [u8] {
    bytes.get(slot.start as usize..(slot.start + slot.length) as usize).unwrap_or_default()
}

impl Keys {
    /// Adds `key` if it belongs to `part`; the bytes of memory that took. `None`: four gigabytes of keys are full.
    pub(super) fn insert(&mut self, key: &[u8], sequence_number: i64, part: Part) -> Option<u64> {
        let hash = xxh3_64(key);
        if !part.has(hash) {
            return Some(0);
        }
        let bytes = &self.bytes;
        let entry = self.slots.entry(hash, |it| key_at(bytes, it) == key, |it| xxh3_64(key_at(bytes, it)));
        match entry {
            Entry::Occupied(mut it) => {
                it.get_mut().newest = it.get().newest.max(sequence_number);
                Some(0)
            }
            Entry::Vacant(it) => {
                let (start, length) = (u32::try_from(bytes.len()).ok()?, u32::try_from(key.len()).ok()?);
                start.checked_add(length)?;
                it.insert(Slot { start, length, newest: sequence_number });
                self.bytes.extend_from_slice(key);
                Some(key.len() as u64 + KEY_OVERHEAD_BYTES)
            }
        }
    }

    /// Builds the filter; nothing is found before.
    pub(super) fn seal(&mut self) {
        let words = (self.slots.len() * FILTER_BITS_PER_KEY / 64).next_power_of_two();
        self.filter = vec![0; words];
        for slot in &self.slots {
            let (word, bit) = filter_place(words, xxh3_64(key_at(&self.bytes, slot)));
            if let Some(word) = self.filter.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// The highest sequence number that deletes `key`.
    pub(super) fn newest(&self, key: &[u8]) -> Option<i64> {
        let hash = xxh3_64(key);
        let (word, bit) = filter_place(self.filter.len(), hash);
        if self.filter.get(word)? & bit == 0 {
            return None;
        }
        self.slots.find(hash, |it| key_at(&self.bytes, it) == key).map(|it| it.newest)
    }
}

/// The bits that the table and [`Part`] use least. `words` is a power of two.
fn filter_place(words: usize, hash: u64) -> (usize, u64) {
    let high = (hash >> 20) as usize;
    ((high >> 6) & words.wrapping_sub(1), 1 << (high & 63))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn filled(part: Part) -> Keys {
        let mut keys = Keys::default();
        for key in 0..10_000_u32 {
            keys.insert(&key.to_le_bytes(), i64::from(key), part).unwrap();
        }
        keys.seal();
        keys
    }

    #[test]
    fn a3_a_key_keeps_its_highest_sequence_number() {
        let mut keys = Keys::default();
        assert_eq!(keys.insert(b"a", 3, Part::ALL), Some(41));
        assert_eq!(keys.insert(b"a", 7, Part::ALL), Some(0));
        assert_eq!(keys.insert(b"a", 5, Part::ALL), Some(0));
        keys.seal();
        assert_eq!(keys.newest(b"a"), Some(7));
        assert_eq!(keys.newest(b"b"), None);
        assert_eq!(keys.newest(b""), None);
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        let keys = filled(Part::ALL);
        for key in 0..20_000_u32 {
            assert_eq!(keys.newest(&key.to_le_bytes()), (key < 10_000).then_some(i64::from(key)));
        }
    }

    #[test]
    fn parts_hold_every_key_once() {
        let parts: Vec<Keys> = (0..3).map(|index| filled(Part { index, of: 3 })).collect();
        for key in 0..10_000_u32 {
            let holders = parts.iter().filter(|it| it.newest(&key.to_le_bytes()).is_some()).count();
            assert_eq!(holders, 1, "{key}");
        }
    }
}
