//! The reading rules (rewrite rules A) over files in memory.

#![allow(clippy::unwrap_used, reason = "tests")]

use arrow_array::{
    Array, Float64Array, Int32Array, Int64Array, StringArray, StructArray, cast::AsArray, types::Int64Type,
};
use arrow_schema::Fields;
use iceberg::spec::{Literal, Struct};
use parquet::{
    basic::Compression,
    file::properties::{WriterProperties, WriterVersion},
};
use serde_json::json;
use table_io::LiveDeletes;

use super::*;
use crate::{
    Limits,
    testing::{
        batch, column, data_file, delete_file, equality_deletes, fetch, job, longs, optional, output_rows,
        parquet_bytes, plain_table, rewritten, store, table, with_id,
    },
};

const POS: i32 = 2_147_483_545;
const FILE_PATH: i32 = 2_147_483_546;

fn ids(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    batch(vec![column(1, "id", Int64Array::from_iter_values(values))])
}

fn long_table() -> LoadedTable {
    plain_table(2, json!([optional(1, "id", "long")]))
}

fn rows(table: &LoadedTable, inputs: &[RewriteInput], limits: Limits) -> Result<Vec<RecordBatch>> {
    let schema = arrow_schema(table.metadata.current_schema(), false)?;
    let control = Control::default();
    let deletes = GroupDeletes::load(table, inputs, limits, &control)?;
    let open = |input| FileRows::open(table, Arc::clone(&schema), input, &deletes, &control);
    let mut batches = Vec::new();
    for input in inputs {
        batches.extend(open(input)?.collect::<Result<Vec<_>>>()?);
    }
    Ok(batches)
}

fn id_rows(table: &LoadedTable, inputs: &[RewriteInput]) -> Vec<Option<i64>> {
    rows(table, inputs, Limits::default()).unwrap().iter().flat_map(|it| longs(it, "id")).collect()
}

fn refusal(table: &LoadedTable, input: RewriteInput) -> String {
    rows(table, &[input], Limits::default()).unwrap_err().to_string()
}

#[test]
fn a3_equality_deletes_apply_strictly_below_their_sequence_number() {
    let table = long_table();
    let mut inputs: Vec<RewriteInput> = [4, 5, 6]
        .map(|sequence| data_file(&table, &format!("memory:/{sequence}"), &ids([sequence, 1]), sequence))
        .into();
    let delete = equality_deletes(&table, "memory:/d", &[1], &ids([1]), 5);
    for input in &mut inputs {
        input.deletes.equalities.push(Arc::clone(&delete));
    }
    assert_eq!(id_rows(&table, &inputs), [4, 5, 1, 6, 1].map(Some), "only the 1 of sequence number 4 is gone");
}

#[test]
fn a4_null_equals_null_nan_equals_nan_and_zeros_of_other_sign_differ() {
    let table = plain_table(2, json!([optional(1, "id", "long"), optional(2, "x", "double")]));
    let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let x = Float64Array::from(vec![None, Some(other_nan), Some(-0.0), Some(0.0), Some(1.0)]);
    let data = batch(vec![column(1, "id", Int64Array::from_iter_values(0..5)), column(2, "x", x)]);
    let mut input = data_file(&table, "memory:/f", &data, 1);
    let keys = batch(vec![column(2, "x", Float64Array::from(vec![None, Some(f64::NAN), Some(-0.0)]))]);
    input.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[2], &keys, 2));
    assert_eq!(id_rows(&table, &[input]), [3, 4].map(Some));
}

#[test]
fn a4_a_key_of_two_columns_needs_both_to_match() {
    let table = plain_table(2, json!([optional(1, "id", "long"), optional(2, "x", "string")]));
    let data = batch(vec![
        column(1, "id", Int64Array::from(vec![1, 1, 2, 2])),
        column(2, "x", StringArray::from(vec![Some("a"), None, Some("a"), None])),
    ]);
    let mut input = data_file(&table, "memory:/f", &data, 1);
    let keys = batch(vec![
        column(1, "id", Int64Array::from(vec![1, 2])),
        column(2, "x", StringArray::from(vec![None, Some("a")])),
    ]);
    input.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[1, 2], &keys, 2));
    let left = rows(&table, &[input], Limits::default()).unwrap();
    assert_eq!(longs(&left[0], "id"), [1, 2].map(Some));
    assert_eq!(left[0].column(1).as_string_view().iter().collect::<Vec<_>>(), [Some("a"), None]);
}

#[test]
fn a4_keys_written_before_a_promotion_match_values_written_after() {
    let table = long_table();
    let mut input = data_file(&table, "memory:/f", &ids([1, 2, 3]), 1);
    let keys = batch(vec![column(1, "id", Int32Array::from(vec![2]))]);
    input.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[1], &keys, 2));
    assert_eq!(id_rows(&table, &[input]), [1, 3].map(Some));
}

#[test]
fn a4_a_dropped_column_still_deletes_by_its_field_id() {
    let before = json!([optional(1, "id", "long"), optional(2, "x", "long")]);
    let table = table(2, &[before, json!([optional(1, "id", "long")])], &[json!([])], &[]);
    let data =
        batch(vec![column(1, "id", Int64Array::from(vec![1, 2])), column(2, "x", Int64Array::from(vec![10, 20]))]);
    let mut input = data_file(&table, "memory:/f", &data, 1);
    let keys = batch(vec![column(2, "x", Int64Array::from(vec![10]))]);
    input.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[2], &keys, 2));
    assert_eq!(id_rows(&table, &[input]), [Some(2)]);
}

#[test]
fn a4_a_delete_column_that_a_file_lacks_reads_as_its_initial_default() {
    let mut x = optional(2, "x", "long");
    x["initial-default"] = json!(7);
    x["write-default"] = json!(7);
    let table = plain_table(3, json!([optional(1, "id", "long"), x]));
    let mut old = data_file(&table, "memory:/old", &ids([1]), 1);
    let mut null = data_file(
        &table,
        "memory:/new",
        &batch(vec![column(1, "id", Int64Array::from(vec![2])), column(2, "x", Int64Array::from(vec![None]))]),
        1,
    );
    let keys = batch(vec![column(2, "x", Int64Array::from(vec![7]))]);
    let delete = equality_deletes(&table, "memory:/d", &[2], &keys, 2);
    old.deletes.equalities.push(Arc::clone(&delete));
    null.deletes.equalities.push(delete);
    assert_eq!(id_rows(&table, &[old, null]), [Some(2)]);
}

/// `s struct<a: long>` with row 1 NULL as a whole and row 2 NULL inside.
fn nested() -> RecordBatch {
    let field = with_id(Field::new("a", DataType::Int64, true), 3);
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(1), None]));
    let nulls = arrow_buffer::NullBuffer::from(vec![true, false, true]);
    let s = StructArray::try_new(Fields::from(vec![field]), vec![inner], Some(nulls)).unwrap();
    batch(vec![column(1, "id", Int64Array::from(vec![1, 2, 3])), column(2, "s", s)])
}

#[test]
fn a4_a_nested_key_is_null_where_its_struct_is() {
    let of = |fields| json!([optional(1, "id", "long"), optional(2, "s", json!({"type": "struct", "fields": fields}))]);
    let mut b = optional(4, "b", "long");
    b["initial-default"] = json!(7);
    let table = plain_table(3, of(json!([optional(3, "a", "long"), b])));
    let gone = |ids: &[i32], keys: RecordBatch| {
        let mut input = data_file(&table, "memory:/f", &nested(), 1);
        input.deletes.equalities.push(equality_deletes(&table, "memory:/d", ids, &keys, 2));
        id_rows(&table, &[input])
    };
    let keys = |id, name, value| {
        let field = with_id(Field::new(name, DataType::Int64, true), id);
        let inner: ArrayRef = Arc::new(Int64Array::from(vec![value]));
        batch(vec![column(2, "s", StructArray::from(vec![(Arc::new(field), inner)]))])
    };
    assert_eq!(gone(&[3], keys(3, "a", Some(1))), [2, 3].map(Some));
    assert_eq!(gone(&[3], keys(3, "a", None)), [Some(1)], "NULL inside, and NULL around");
    assert_eq!(gone(&[4], keys(4, "b", Some(7))), [Some(2)], "the default, but not under a NULL struct");
}

#[test]
fn a3_keys_beyond_the_memory_limit_delete_the_same_rows() {
    let table = long_table();
    let mut inputs: Vec<RewriteInput> =
        (0..3).map(|at| data_file(&table, &format!("memory:/{at}"), &ids(at * 1_000..(at + 1) * 1_000), 1)).collect();
    let all = ids((0..3_000).filter(|id| id % 3 != 0));
    let delete = equality_deletes(&table, "memory:/d", &[1], &all, 2);
    for input in &mut inputs {
        input.deletes.equalities.push(Arc::clone(&delete));
    }
    let limits = Limits { deletes_bytes: 10_000 };
    let left: Vec<_> = rows(&table, &inputs, limits).unwrap().iter().flat_map(|it| longs(it, "id")).collect();
    assert_eq!(left, (0..3_000).filter(|id| id % 3 == 0).map(Some).collect::<Vec<_>>());
    let error = rows(&table, &inputs, Limits { deletes_bytes: 1 }).unwrap_err();
    assert!(matches!(error, Error::DeletesTooLarge { .. }), "{error}");
}

fn positions(table: &LoadedTable, path: &str, of: &[(&str, i64)]) -> Arc<table_io::LiveDeleteFile> {
    let (paths, positions): (Vec<&str>, Vec<i64>) = of.iter().copied().unzip();
    let rows = batch(vec![
        column(FILE_PATH, "file_path", StringArray::from(paths)),
        column(POS, "pos", Int64Array::from(positions)),
    ]);
    delete_file(table, path, &rows, LiveDeletes::Position { referenced: None }, 2)
}

#[test]
fn a2_position_deletes_name_rows_of_their_file_across_batches() {
    let table = long_table();
    let mut first = data_file(&table, "memory:/a", &ids(0..20_000), 1);
    let mut second = data_file(&table, "memory:/b", &ids(20_000..20_003), 1);
    let both = positions(&table, "memory:/d1", &[("memory:/a", 0), ("memory:/a", 8_192), ("memory:/b", 1)]);
    let more = positions(&table, "memory:/d2", &[("memory:/a", 19_999), ("memory:/a", 0), ("memory:/a", 99_999)]);
    first.deletes.positions.extend([Arc::clone(&both), more]);
    second.deletes.positions.push(both);
    let gone = [0, 8_192, 19_999, 20_001];
    assert_eq!(
        id_rows(&table, &[first, second]),
        (0..20_003).filter(|id| !gone.contains(id)).map(Some).collect::<Vec<_>>()
    );
}

#[test]
fn a5_a_nested_file_without_ids_and_mapping_is_refused_a_flat_one_read_by_position() {
    let s = optional(2, "s", json!({"type": "struct", "fields": [optional(3, "a", "long")]}));
    let fields = json!([optional(1, "id", "long"), s]);
    let without = |rows: RecordBatch| {
        let schema = rows.schema();
        let bare = |it: &Arc<Field>| match it.data_type() {
            DataType::Struct(_) => {
                let inner = Fields::from(vec![Field::new("a", DataType::Int64, true)]);
                Field::new(it.name(), DataType::Struct(inner), true)
            }
            other => Field::new(it.name(), other.clone(), true),
        };
        let schema = Arc::new(ArrowSchema::new(schema.fields().iter().map(bare).collect::<Vec<_>>()));
        let columns = rows.columns().iter().zip(schema.fields()).map(|(it, field)| match field.data_type() {
            DataType::Struct(inner) => {
                let s = it.as_struct();
                Arc::new(StructArray::new(inner.clone(), s.columns().to_vec(), s.nulls().cloned())) as ArrayRef
            }
            _ => Arc::clone(it),
        });
        RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap()
    };
    let bare = without(nested());
    let plain = plain_table(2, fields.clone());
    let reason = refusal(&plain, data_file(&plain, "memory:/f", &bare, 1));
    assert!(reason.contains("memory:/f") && reason.contains("schema.name-mapping.default"), "{reason}");

    let mapping =
        r#"[{"field-id":1,"names":["id"]},{"field-id":2,"names":["s"],"fields":[{"field-id":3,"names":["a"]}]}]"#;
    let mapped = table(2, &[fields], &[json!([])], &[("schema.name-mapping.default", mapping)]);
    let read = rows(&mapped, &[data_file(&mapped, "memory:/f", &bare, 1)], Limits::default()).unwrap();
    let s = read[0].column(1).as_struct();
    assert!(s.is_null(1));
    assert_eq!(s.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>()[..1], [Some(1)]);

    let flat = without(ids([5]));
    assert_eq!(id_rows(&plain, &[data_file(&plain, "memory:/f", &flat, 1)]), [Some(5)]);
}

#[test]
fn a5_names_never_decide() {
    let table = plain_table(2, json!([optional(1, "a", "long"), optional(2, "b", "long")]));
    let swapped = batch(vec![column(2, "a", Int64Array::from(vec![2])), column(1, "b", Int64Array::from(vec![1]))]);
    let read = rows(&table, &[data_file(&table, "memory:/f", &swapped, 1)], Limits::default()).unwrap();
    assert_eq!((longs(&read[0], "a"), longs(&read[0], "b")), (vec![Some(1)], vec![Some(2)]));
}

#[test]
fn a5_an_absent_column_is_its_partition_constant_and_null_is_one_too() {
    let mut zone = optional(2, "zone", "long");
    zone["initial-default"] = json!(7);
    let spec = json!([{"source-id": 2, "field-id": 1000, "name": "zone", "transform": "identity"}]);
    let table = table(3, &[json!([optional(1, "id", "long"), zone])], &[spec], &[]);
    for (value, expected) in [(Some(Literal::long(3)), Some(3)), (None, None)] {
        let mut input = data_file(&table, "memory:/f", &ids([1]), 1);
        Arc::make_mut(&mut input.file).tuple = Arc::new(Struct::from_iter([value]));
        let read = rows(&table, &[input], Limits::default()).unwrap();
        assert_eq!(longs(&read[0], "zone"), [expected]);
    }
}

#[test]
fn a5_required_but_absent_without_default_names_file_and_column() {
    let table =
        plain_table(2, json!([optional(1, "id", "long"), {"id": 2, "name": "must", "required": true, "type": "long"}]));
    let reason = refusal(&table, data_file(&table, "memory:/f", &ids([1]), 1));
    assert!(reason.contains("memory:/f") && reason.contains("must"), "{reason}");
}

#[test]
fn a6_a_value_that_would_change_is_refused() {
    let table = plain_table(2, json!([optional(1, "id", "int")]));
    let reason = refusal(&table, data_file(&table, "memory:/f", &ids([1]), 1));
    assert!(reason.contains("memory:/f") && reason.contains("id"), "{reason}");
}

#[test]
fn a_file_read_in_windows_is_the_file_read_whole() {
    let table = plain_table(2, json!([optional(1, "id", "long"), optional(2, "x", "string")]));
    let text = |id: i64| format!("{id:064}-{}", id.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64));
    let rows = batch(vec![
        column(1, "id", Int64Array::from_iter_values(0..60_000)),
        column(2, "x", StringArray::from_iter_values((0..60_000).map(text))),
    ]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_max_row_group_row_count(Some(25_000))
        .set_dictionary_enabled(false)
        .build();
    store(&table, "memory:/f", parquet_bytes(&rows, properties));
    let length = fetch(&table, "memory:/f").len() as u64;
    assert!(length > 4 * 1024 * 1024, "several windows of 256 KiB and more: {length}");
    for whole_max in [0, u64::MAX] {
        let source = Source::open_with(&table, "memory:/f", length, whole_max).unwrap();
        let file = ParquetFile::new(&table, "memory:/f", source).unwrap();
        let read: Vec<RecordBatch> = file.batches(&[0, 1]).unwrap().map(|it| it.unwrap()).collect();
        let read = arrow_select::concat::concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.column(0), rows.column(0));
        assert!(read.column(1).as_string_view().iter().eq(rows.column(1).as_string::<i32>().iter()));
    }
}

#[test]
fn bad_bytes_are_an_error_that_names_the_file_and_never_a_panic() {
    let table = plain_table(2, json!([optional(1, "id", "long"), optional(2, "x", "string")]));
    let text = StringArray::from_iter_values((0..500).map(|it| format!("{}", it % 7)));
    let rows_in = batch(vec![column(1, "id", Int64Array::from_iter_values(0..500)), column(2, "x", text)]);
    let input = data_file(&table, "memory:/f", &rows_in, 1);
    let bytes = fetch(&table, "memory:/f").to_vec();
    let attempt = |bytes: Vec<u8>| {
        store(&table, "memory:/f", bytes);
        if let Err(error) = rows(&table, std::slice::from_ref(&input), Limits::default()) {
            assert!(error.to_string().contains("memory:/f"), "{error}");
        }
    };
    for length in 0..bytes.len() {
        store(&table, "memory:/f", bytes[..length].to_vec());
        let error = rows(&table, std::slice::from_ref(&input), Limits::default()).unwrap_err();
        assert!(error.to_string().contains("memory:/f"), "cut to {length}: {error}");
    }
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut broken = bytes.clone();
            broken[at] ^= flip;
            attempt(broken);
        }
    }
}

#[test]
fn every_codec_and_page_version_is_read() {
    let table = long_table();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ];
    for codec in codecs {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_compression(codec).set_writer_version(version);
            // A dictionary that overflows half way: both kinds of pages in one chunk.
            let properties =
                properties.set_dictionary_page_size_limit(2_000).set_data_page_row_count_limit(100).build();
            let input = data_file(&table, "memory:/f", &ids(0..1_000), 1);
            let bytes = parquet_bytes(&ids(0..1_000), properties);
            store(&table, "memory:/f", bytes);
            assert_eq!(id_rows(&table, &[input]), (0..1_000).map(Some).collect::<Vec<_>>(), "{codec} {version:?}");
        }
    }
}

#[test]
fn a_row_count_that_is_not_the_manifests_is_refused() {
    let table = long_table();
    let mut input = data_file(&table, "memory:/f", &ids([1, 2]), 1);
    Arc::make_mut(&mut input.file).records = 3;
    let reason = refusal(&table, input);
    assert!(reason.contains("memory:/f") && reason.contains('2') && reason.contains('3'), "{reason}");
}

#[test]
fn a7_columns_may_be_called_like_metadata_columns() {
    let names = ["pos", "file_path", "_file", "_pos", "_deleted"];
    let fields: Vec<_> = names.iter().zip(1..).map(|(name, id)| optional(id, name, "long")).collect();
    let table = plain_table(2, json!(fields));
    let columns = names.iter().zip(1..).map(|(name, id)| column(id, name, Int64Array::from(vec![i64::from(id), 0])));
    let mut input = data_file(&table, "memory:/f", &batch(columns.collect()), 1);
    input.deletes.positions.push(positions(&table, "memory:/d", &[("memory:/f", 1)]));
    let output = rewritten(&table, &job(vec![input])).unwrap();
    let read = output_rows(&table, &output);
    for (name, id) in names.iter().zip(1..) {
        assert_eq!(longs(&read, name), [Some(id)]);
    }
}
