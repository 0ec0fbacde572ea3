//! The writing rules (rewrite rules C) over groups in memory.

#![allow(clippy::unwrap_used, reason = "tests")]

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, LargeBinaryArray, RecordBatch, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, cast::AsArray, types::Int64Type,
};
use futures::executor::block_on;
use iceberg::spec::{DataFile, Literal, Struct};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::*;
use crate::{
    digest,
    testing::{
        batch, column, data_file, equality_deletes, fetch, job, longs, optional, output_rows, partition, plain_table,
        rewritten, store, table,
    },
};

fn ids(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    batch(vec![column(1, "id", Int64Array::from_iter_values(values))])
}

fn long_fields() -> Value {
    json!([optional(1, "id", "long")])
}

fn spec_field(source_id: i32, name: &str, transform: &str) -> Value {
    json!({"source-id": source_id, "field-id": 1000, "name": name, "transform": transform})
}

fn of_spec(mut input: RewriteInput, spec_id: i32, tuple: Struct) -> RewriteInput {
    let file = Arc::make_mut(&mut input.file);
    file.partition = partition(spec_id);
    file.tuple = Arc::new(tuple);
    input
}

fn exists(table: &LoadedTable, path: &str) -> bool {
    block_on(table.file_io.exists(path)).unwrap()
}

#[test]
fn c3_records_added_are_records_read_minus_deleted() {
    let table = plain_table(2, long_fields());
    let mut first = data_file(&table, "memory:/a", &ids(0..100), 1);
    first.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[1], &ids([5, 7, 1_000]), 2));
    let second = data_file(&table, "memory:/b", &ids(100..110), 2);
    let output = rewritten(&table, &job(vec![first, second])).unwrap();
    assert_eq!((output.records_read, output.records_deleted, output.records_written), (110, 2, 108));
    let expected: Vec<_> = (0..110).filter(|id| ![5, 7].contains(id)).map(Some).collect();
    assert_eq!(longs(&output_rows(&table, &output), "id"), expected);
}

#[test]
fn c5_a_group_whose_rows_are_all_deleted_makes_no_file() {
    let table = plain_table(2, long_fields());
    let mut input = data_file(&table, "memory:/a", &ids([1, 2]), 1);
    input.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[1], &ids([2, 1]), 2));
    let empty = data_file(&table, "memory:/b", &ids([]), 1);
    let output = rewritten(&table, &job(vec![input, empty])).unwrap();
    assert_eq!((output.files.len(), output.records_deleted), (0, 2));
}

#[test]
fn rows_of_nothing_but_nulls_are_rows() {
    let table = plain_table(2, long_fields());
    let nulls = batch(vec![column(1, "id", Int64Array::from(vec![None; 3]))]);
    let inputs = vec![data_file(&table, "memory:/a", &nulls, 1), data_file(&table, "memory:/b", &nulls, 1)];
    let output = rewritten(&table, &job(inputs)).unwrap();
    assert_eq!(longs(&output_rows(&table, &output), "id"), [None; 6]);
    let file = &output.files[0].file;
    assert_eq!((file.record_count(), file.null_value_counts()[&1], file.value_counts()[&1]), (6, 6, 6));
    assert!(file.lower_bounds().is_empty() && file.upper_bounds().is_empty());
}

#[test]
fn no_row_group_is_empty_and_split_offsets_are_where_they_start() {
    let table = table(2, &[long_fields()], &[json!([])], &[("write.parquet.row-group-size-bytes", "1")]);
    let output = rewritten(&table, &job(vec![data_file(&table, "memory:/a", &ids(0..20_000), 1)])).unwrap();
    let file = &output.files[0].file;
    let reader = ParquetRecordBatchReaderBuilder::try_new(fetch(&table, file.file_path())).unwrap();
    let groups = reader.metadata().row_groups();
    assert!(groups.len() > 1 && groups.iter().all(|it| it.num_rows() > 0));
    let starts: Vec<i64> = groups.iter().map(|it| it.column(0).byte_range().0 as i64).collect();
    assert_eq!(file.split_offsets().unwrap(), starts);
}

#[test]
fn c1_an_all_void_output_spec_has_a_tuple_of_nulls() {
    let specs = [json!([spec_field(1, "id", "identity")]), json!([spec_field(99, "gone", "void")]), json!([])];
    let table = table(2, &[long_fields()], &specs, &[]);
    let tuple = Struct::from_iter([Some(Literal::long(4))]);
    let input = of_spec(data_file(&table, "memory:/a", &ids([4, 4]), 1), 0, tuple);
    let output = rewritten(&table, &RewriteJob { output_spec_id: 1, ..job(vec![input]) }).unwrap();
    assert_eq!(output.files[0].file.partition(), &Struct::from_iter([None]));
    assert_eq!(longs(&output_rows(&table, &output), "id"), [4, 4].map(Some));
}

#[test]
fn b2_rows_of_an_old_spec_fan_out_to_more_partitions_than_files_may_be_open() {
    let table = table(2, &[long_fields()], &[json!([]), json!([spec_field(1, "id", "identity")])], &[]);
    let input = data_file(&table, "memory:/a", &ids((0..3_000).map(|it| it % 150)), 1);
    let output = rewritten(&table, &RewriteJob { output_spec_id: 1, ..job(vec![input]) }).unwrap();
    let mut rows = vec![0; 150];
    for file in &output.files {
        let Some(Some(Literal::Primitive(iceberg::spec::PrimitiveLiteral::Long(id)))) =
            file.file.partition().fields().first()
        else {
            panic!("a tuple of one long: {:?}", file.file.partition());
        };
        let id = *id;
        let read = longs(&crate::testing::rows_of(&table, file.file.file_path()), "id");
        assert!(read.iter().all(|it| *it == Some(id)), "C-6: the tuple is true of the rows");
        rows[usize::try_from(id).unwrap()] += read.len();
    }
    assert_eq!(rows, vec![20; 150]);
}

#[test]
fn c6_a_tuple_written_before_its_column_was_widened_is_widened_too() {
    let spec = json!([spec_field(1, "id", "identity")]);
    let table = table(2, &[json!([optional(1, "id", "int")]), long_fields()], &[spec], &[]);
    let narrow = batch(vec![column(1, "id", Int32Array::from(vec![4, 4]))]);
    let input = of_spec(data_file(&table, "memory:/a", &narrow, 1), 0, Struct::from_iter([Some(Literal::int(4))]));
    let output = rewritten(&table, &job(vec![input])).unwrap();
    assert_eq!(output.files[0].file.partition(), &Struct::from_iter([Some(Literal::long(4))]));
    assert!(output.files[0].file.file_path().starts_with("memory:/t/data/id=4/"));
}

#[test]
fn b5_a_group_makes_the_planned_number_of_files_of_even_size() {
    let table = plain_table(2, long_fields());
    // Numbers that do not compress: 8 bytes a row whatever the codec.
    let random =
        |it: u64| (it + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let inputs: Vec<_> = (0..8_u64)
        .map(|at| ids((at * 50_000..(at + 1) * 50_000).map(|it| random(it) as i64)))
        .enumerate()
        .map(|(at, rows)| data_file(&table, &format!("memory:/{at}"), &rows, 1))
        .collect();
    let bytes: u64 = 400_000 * 8;
    for (target, files) in [(bytes / 3, 3_u64), (bytes * 10 / 23, 2), (bytes * 2, 1)] {
        let job = RewriteJob {
            target_file_size_bytes: target,
            expected_output_bytes: bytes,
            expected_output_files: files,
            ..job(inputs.clone())
        };
        let output = rewritten(&table, &job).unwrap();
        let sizes: Vec<u64> = output.files.iter().map(|it| it.file.file_size_in_bytes()).collect();
        assert_eq!(sizes.len() as u64, files, "{sizes:?}");
        let even = bytes / files;
        assert!(sizes.iter().all(|size| size.abs_diff(even) < even / 5), "{sizes:?} around {even}");
    }
}

#[test]
fn a_failed_group_takes_its_files_back_and_touches_no_other() {
    let spec = json!([spec_field(1, "id", "identity")]);
    let table = table(2, &[long_fields()], &[json!([]), spec], &[]);
    let good = data_file(&table, "memory:/a", &ids(0..100), 1);
    let bad = data_file(&table, "memory:/b", &ids(0..100), 1);
    store(&table, "memory:/b", "no parquet");
    store(&table, "memory:/t/data/other.parquet", "other");
    let error = rewritten(&table, &RewriteJob { output_spec_id: 1, ..job(vec![good, bad]) }).unwrap_err();
    assert!(error.to_string().contains("memory:/b"), "{error}");
    assert!(!exists(&table, "memory:/t/data/id=0/g-a-firn536870912-00000.parquet"));
    assert!(exists(&table, "memory:/t/data/other.parquet") && exists(&table, "memory:/a"));
}

#[test]
fn a_stopped_group_says_so() {
    let table = plain_table(2, long_fields());
    let control = Control::default();
    control.stop();
    let job = job(vec![data_file(&table, "memory:/a", &ids([1]), 1)]);
    let error = rewrite_group(&table, &job, Limits::default(), &control).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    let error = digest(&table, &job.inputs, false, &control).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
}

#[test]
fn c4_every_row_keeps_its_id_and_the_sequence_number_of_its_last_change() {
    const ROW_ID: i32 = 2_147_483_540;
    const LAST_UPDATED: i32 = 2_147_483_539;
    let table = plain_table(3, long_fields());
    let mut inherited = data_file(&table, "memory:/a", &ids([10, 11, 12]), 4);
    Arc::make_mut(&mut inherited.file).first_row_id = Some(100);
    inherited.deletes.equalities.push(equality_deletes(&table, "memory:/d", &[1], &ids([10]), 5));
    let stored = batch(vec![
        column(1, "id", Int64Array::from(vec![20, 21])),
        column(ROW_ID, "_row_id", Int64Array::from(vec![Some(7), None])),
        column(LAST_UPDATED, "_last_updated_sequence_number", Int64Array::from(vec![Some(2), None])),
    ]);
    let mut stored = data_file(&table, "memory:/b", &stored, 6);
    Arc::make_mut(&mut stored.file).first_row_id = Some(200);
    let unknown = data_file(&table, "memory:/c", &ids([30]), 1);
    let output = rewritten(&table, &job(vec![inherited, stored, unknown])).unwrap();
    let rows = output_rows(&table, &output);
    assert_eq!(longs(&rows, "id"), [11, 12, 20, 21, 30].map(Some));
    // first_row_id + position where nothing is stored; a file without first_row_id keeps NULL.
    assert_eq!(longs(&rows, "_row_id"), [Some(101), Some(102), Some(7), Some(201), None]);
    assert_eq!(longs(&rows, "_last_updated_sequence_number"), [Some(4), Some(4), Some(2), Some(6), None]);
}

/// One column of every primitive type, three rows of which the last is NULL.
fn every_type() -> (Vec<Value>, RecordBatch) {
    let nulls = |values: [&[u8]; 2], size| {
        let values = values.into_iter().map(Some).chain([None]);
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, size).unwrap()
    };
    let decimal = |low, high, precision| {
        Decimal128Array::from(vec![Some(low), Some(high), None]).with_precision_and_scale(precision, 2).unwrap()
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("boolean", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("int", Arc::new(Int32Array::from(vec![Some(-5), Some(7), None]))),
        ("long", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("float", Arc::new(Float32Array::from(vec![Some(f32::NAN), Some(-0.0), None]))),
        ("double", Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), None]))),
        ("decimal(9,2)", Arc::new(decimal(-1, 100, 9))),
        ("decimal(18,2)", Arc::new(decimal(-129, 128, 18))),
        ("decimal(38,2)", Arc::new(decimal(-(1 << 100), 255, 38))),
        ("date", Arc::new(Date32Array::from(vec![Some(-1), Some(1), None]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![Some(1), Some(2), None]))),
        ("timestamp", Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(2), None]))),
        (
            "timestamptz",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(2), None]).with_timezone("+00:00")),
        ),
        ("timestamp_ns", Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(2), None]))),
        (
            "timestamptz_ns",
            Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(2), None]).with_timezone("+00:00")),
        ),
        ("string", Arc::new(StringArray::from(vec![Some("b"), Some("aaaaaaaaaaaaaaaaé"), None]))),
        ("uuid", Arc::new(nulls([&[0x80; 16], &[0x7F; 16]], 16))),
        ("fixed[3]", Arc::new(nulls([&[0xFF, 0, 0], &[1, 2, 3]], 3))),
        ("binary", Arc::new(LargeBinaryArray::from(vec![Some([0xFF_u8; 20].as_slice()), Some(&[1]), None]))),
    ];
    let fields = columns.iter().zip(1..).map(|((name, _), id)| optional(id, name, *name)).collect();
    let columns = columns.into_iter().zip(1..).map(|((name, values), id)| column(id, name, values)).collect();
    (fields, batch(columns))
}

fn bound(file: &DataFile, id: i32, upper: bool) -> Option<Vec<u8>> {
    let bounds = if upper { file.upper_bounds() } else { file.lower_bounds() };
    bounds.get(&id).map(|it| it.to_bytes().unwrap().to_vec())
}

#[test]
fn c2_every_type_is_written_whole_with_exact_bounds_in_the_spec_s_bytes() {
    let (fields, rows) = every_type();
    let table = plain_table(3, json!(fields));
    let mut input = data_file(&table, "memory:/a", &rows, 1);
    Arc::make_mut(&mut input.file).first_row_id = Some(0);
    let output = rewritten(&table, &job(vec![input])).unwrap();
    let read = output_rows(&table, &output);
    for (at, column) in rows.columns().iter().enumerate() {
        // The reader of this test knows no LargeBinary: Parquet has one kind of bytes.
        let read = arrow_cast::cast(read.column(at), column.data_type()).unwrap();
        assert_eq!(&read, column, "{}", rows.schema().field(at).name());
    }
    let file = &output.files[0].file;
    let some = |bytes: &[u8]| Some(bytes.to_vec());
    // Appendix D, "Binary single-value serialization": little-endian numbers, decimals as minimal big-endian two's complement.
    let expected = [
        (some(&[0]), some(&[1])),
        (some(&(-5_i32).to_le_bytes()), some(&7_i32.to_le_bytes())),
        (some(&i64::MIN.to_le_bytes()), some(&i64::MAX.to_le_bytes())),
        (some(&(-0.0_f32).to_le_bytes()), some(&(-0.0_f32).to_le_bytes())),
        (some(&(-0.0_f64).to_le_bytes()), some(&0.0_f64.to_le_bytes())),
        (some(&[0xFF]), some(&[100])),
        (some(&[0xFF, 0x7F]), some(&[0, 0x80])),
        (some(&[&[0xF0][..], &[0; 12]].concat()), some(&[0, 0xFF])),
        (some(&(-1_i32).to_le_bytes()), some(&1_i32.to_le_bytes())),
        (some(&1_i64.to_le_bytes()), some(&2_i64.to_le_bytes())),
        (some(&(-1_i64).to_le_bytes()), some(&2_i64.to_le_bytes())),
        (some(&(-1_i64).to_le_bytes()), some(&2_i64.to_le_bytes())),
        (some(&(-1_i64).to_le_bytes()), some(&2_i64.to_le_bytes())),
        (some(&(-1_i64).to_le_bytes()), some(&2_i64.to_le_bytes())),
        (some(b"aaaaaaaaaaaaaaaa"), some(b"b")),
        (some(&[0x7F; 16]), some(&[0x80; 16])),
        (some(&[1, 2, 3]), some(&[0xFF, 0, 0])),
        (some(&[1]), None),
    ];
    for ((low, high), id) in expected.into_iter().zip(1..) {
        let name = rows.schema().field(id as usize - 1).name().clone();
        assert_eq!(bound(file, id, false), low, "lower bound of {name}");
        assert_eq!(bound(file, id, true), high, "upper bound of {name}");
        assert_eq!((file.value_counts()[&id], file.null_value_counts()[&id]), (3, 1), "{name}");
    }
    assert_eq!(file.nan_value_counts(), &[(4, 1), (5, 0)].into());
}

#[test]
fn a6_int96_timestamps_are_read_right() {
    // 2001-01-01T00:00:00.000001: day 11,323 since the epoch, Julian day 2,451,911, 1,000 ns into it.
    use parquet::{
        data_type::{Int96, Int96Type},
        file::writer::SerializedFileWriter,
        schema::parser::parse_message_type,
    };
    let schema = Arc::new(parse_message_type("message t { optional int96 at = 1; }").unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let mut value = Int96::new();
    value.set_data(1_000, 0, 2_451_911);
    column.typed::<Int96Type>().write_batch(&[value], Some(&[1, 0]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();

    let table = plain_table(2, json!([optional(1, "at", "timestamptz")]));
    let mut input = data_file(&table, "memory:/a", &ids([0, 0]), 1);
    Arc::make_mut(&mut input.file).size_bytes = bytes.len() as u64;
    store(&table, "memory:/a", bytes);
    let output = rewritten(&table, &job(vec![input])).unwrap();
    let micros = arrow_cast::cast(output_rows(&table, &output).column(0), &arrow_schema::DataType::Int64).unwrap();
    let expected = 11_323 * 86_400_000_000_i64 + 1;
    assert_eq!(micros.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(expected), None]);
}

#[test]
fn metrics_modes_say_what_is_kept() {
    let modes = [
        ("write.metadata.metrics.default", "none"),
        ("write.metadata.metrics.column.b", "counts"),
        ("write.metadata.metrics.column.c", "truncate(1)"),
        ("write.metadata.metrics.column.d", "full"),
    ];
    let fields: Vec<_> = ["a", "b", "c", "d"].iter().zip(1..).map(|(name, id)| optional(id, name, "string")).collect();
    let table = table(2, &[json!(fields)], &[json!([])], &modes);
    let text = |id, name| column(id, name, StringArray::from(vec!["xyz".repeat(10)]));
    let rows = batch(vec![text(1, "a"), text(2, "b"), text(3, "c"), text(4, "d")]);
    let output = rewritten(&table, &job(vec![data_file(&table, "memory:/f", &rows, 1)])).unwrap();
    let file = &output.files[0].file;
    let mut counted: Vec<_> = file.value_counts().keys().copied().collect();
    counted.sort_unstable();
    assert_eq!(counted, [2, 3, 4]);
    assert_eq!(
        (bound(file, 2, false), bound(file, 3, false), bound(file, 3, true)),
        (None, Some(b"x".into()), Some(b"y".into()))
    );
    assert_eq!(bound(file, 4, true), Some("xyz".repeat(10).into_bytes()));
}

#[test]
fn text_that_a_foreign_writer_left_unannotated_is_text() {
    let table = plain_table(2, json!([optional(1, "x", "string")]));
    let rows = batch(vec![column(1, "x", BinaryArray::from(vec!["é".as_bytes()]))]);
    let output = rewritten(&table, &job(vec![data_file(&table, "memory:/f", &rows, 1)])).unwrap();
    assert_eq!(output_rows(&table, &output).column(0).as_string::<i32>().value(0), "é");
}

#[test]
fn c1_a_digest_is_of_rows_and_not_of_files() {
    let table = plain_table(2, long_fields());
    let control = Control::default();
    let split = [data_file(&table, "memory:/a", &ids([3, 1]), 1), data_file(&table, "memory:/b", &ids([2, 1]), 1)];
    let whole = |rows: &[i64]| [data_file(&table, "memory:/c", &ids(rows.iter().copied()), 1)];
    let digest = |inputs: &[RewriteInput]| digest(&table, inputs, false, &control).unwrap();
    assert_eq!(digest(&split), digest(&whole(&[1, 1, 2, 3])));
    assert_ne!(digest(&split), digest(&whole(&[1, 2, 2, 3])), "a multiset, not a set");
    assert_ne!(digest(&split), digest(&whole(&[1, 1, 2])));
}
