package firn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Files;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SingleValueParser;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.DateTimeUtil;
import org.apache.spark.sql.SparkSession;

/**
 * What Spark cannot do and Iceberg's Java API can: equality deletes, deletes of positions in types that Spark does not
 * know, default values. Everything arrives as JSON with columns by name; bytes are hex, times are ISO 8601.
 */
public final class IceTool {
  private static final ObjectMapper JSON = new ObjectMapper();

  private IceTool() {}

  /** Creates {@code zoo.db.name}; schema and spec in the JSON of table metadata. */
  public static void create(SparkSession spark, String name, String schema, String spec, Map<String, String> properties) {
    Schema columns = SchemaParser.fromJson(schema);
    Spark3Util.loadIcebergCatalog(spark, "zoo")
        .createTable(TableIdentifier.of("db", name), columns, PartitionSpecParser.fromJson(columns, spec), null, properties);
  }

  /** Adds a column, at the end of {@code parent} or of the table when that is null, that old files have a default for. */
  public static void addColumn(SparkSession spark, String name, String parent, String column, String type, String value, boolean required)
      throws Exception {
    UpdateSchema update = load(spark, name).updateSchema();
    Type parsed = Types.fromPrimitiveString(type);
    if (required) {
      update.addRequiredColumn(parent, column, parsed, null, literal(parsed, value));
    } else {
      update.addColumn(parent, column, parsed, null, literal(parsed, value));
    }
    update.commit();
  }

  /** Changes what later writers put where they have no value; old files keep the initial default. */
  public static void changeWriteDefault(SparkSession spark, String name, String column, String value) throws Exception {
    Table table = load(spark, name);
    table.updateSchema().updateColumnDefault(column, literal(table.schema().findType(column), value)).commit();
  }

  /**
   * One row delta. {@code change} may hold "rows": [row] (with "spec"), "equality": [{"columns", "keys", "spec",
   * "schema"}], and "positions": [n] to remove from every live data file.
   */
  public static void commit(SparkSession spark, String name, String change) throws Exception {
    Table table = load(spark, name);
    JsonNode parts = JSON.readTree(change);
    RowDelta delta = table.newRowDelta();
    PartitionSpec spec = table.specs().get(parts.path("spec").asInt(table.spec().specId()));
    if (parts.has("rows")) {
      appendRows(table, spec, parts.get("rows"), delta);
    }
    for (JsonNode deletes : parts.path("equality")) {
      equalityDeletes(table, deletes, delta);
    }
    if (parts.has("positions")) {
      positionDeletes(table, parts.get("positions"), delta);
    }
    delta.commit();
  }

  /** The rows of a table as Iceberg's generic reader sees them, as a Parquet file of the table's own types. */
  public static void read(SparkSession spark, String name, String path) throws Exception {
    Table table = load(spark, name);
    FileAppender<Record> out =
        Parquet.write(Files.localOutput(path)).schema(table.schema()).createWriterFunc(GenericParquetWriter::create).overwrite(true).build();
    try (out; CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
      out.addAll(rows);
    }
  }

  private static Table load(SparkSession spark, String name) throws Exception {
    return Spark3Util.loadIcebergTable(spark, "zoo.db." + name);
  }

  private static Literal<?> literal(Type type, String json) {
    return Expressions.lit(SingleValueParser.fromJson(type, json));
  }

  // ---- files ----

  private static void appendRows(Table table, PartitionSpec spec, JsonNode rows, RowDelta delta) throws Exception {
    for (Map.Entry<PartitionKey, List<JsonNode>> part : byPartition(spec, table.schema(), rows).entrySet()) {
      List<Record> records = new ArrayList<>();
      part.getValue().forEach(row -> records.add(record(table.schema().asStruct(), row)));
      delta.addRows(dataFile(table, spec, part.getKey(), records));
    }
  }

  private static DataFile dataFile(Table table, PartitionSpec spec, StructLike partition, List<Record> rows) throws Exception {
    DataWriter<Record> writer =
        new GenericAppenderFactory(table, table.schema(), spec, null, null, null, null)
            .newDataWriter(output(table, spec, partition), FileFormat.PARQUET, partition);
    try (writer) {
      rows.forEach(writer::write);
    }
    return writer.toDataFile();
  }

  private static void equalityDeletes(Table table, JsonNode deletes, RowDelta delta) throws Exception {
    Schema schema = deletes.has("schema") ? table.schemas().get(deletes.get("schema").asInt()) : table.schema();
    PartitionSpec spec = table.specs().get(deletes.path("spec").asInt(table.spec().specId()));
    List<Integer> ids = new ArrayList<>();
    deletes.get("columns").forEach(column -> ids.add(schema.findField(column.asText()).fieldId()));
    Schema keySchema = TypeUtil.select(schema, new HashSet<>(ids));
    int[] fieldIds = ids.stream().mapToInt(Integer::intValue).toArray();
    for (Map.Entry<PartitionKey, List<JsonNode>> part : byPartition(spec, schema, deletes.get("keys")).entrySet()) {
      EqualityDeleteWriter<Record> writer =
          new GenericAppenderFactory(table, schema, spec, null, fieldIds, keySchema, null)
              .newEqDeleteWriter(output(table, spec, part.getKey()), FileFormat.PARQUET, part.getKey());
      try (writer) {
        part.getValue().forEach(key -> writer.write(record(keySchema.asStruct(), key)));
      }
      delta.addDeletes(writer.toDeleteFile());
    }
  }

  /** Deletion vectors from format version 3 on; before, one position delete file per data file. */
  private static void positionDeletes(Table table, JsonNode positions, RowDelta delta) throws Exception {
    List<DataFile> files = new ArrayList<>();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      tasks.forEach(task -> files.add(task.file()));
    }
    files.sort(Comparator.comparing(DataFile::location));
    if (TableUtil.formatVersion(table) >= 3) {
      BaseDVFileWriter writer =
          new BaseDVFileWriter(OutputFileFactory.builderFor(table, 1, 1).format(FileFormat.PUFFIN).build(), path -> null);
      try (writer) {
        for (DataFile file : files) {
          positions.forEach(at -> writer.delete(file.location(), at.asLong(), table.specs().get(file.specId()), file.partition()));
        }
      }
      writer.result().deleteFiles().forEach(delta::addDeletes);
      return;
    }
    for (DataFile file : files) {
      PartitionSpec spec = table.specs().get(file.specId());
      PositionDeleteWriter<Record> writer =
          new GenericAppenderFactory(table, table.schema(), spec, null, null, null, null)
              .newPosDeleteWriter(output(table, spec, file.partition()), FileFormat.PARQUET, file.partition());
      try (writer) {
        positions.forEach(at -> writer.write(PositionDelete.<Record>create().set(file.location(), at.asLong())));
      }
      delta.addDeletes(writer.toDeleteFile());
    }
  }

  private static EncryptedOutputFile output(Table table, PartitionSpec spec, StructLike partition) {
    OutputFileFactory factory = OutputFileFactory.builderFor(table, 1, 1).defaultSpec(spec).format(FileFormat.PARQUET).build();
    return spec.isUnpartitioned() || partition == null ? factory.newOutputFile() : factory.newOutputFile(spec, partition);
  }

  // ---- rows ----

  private static Map<PartitionKey, List<JsonNode>> byPartition(PartitionSpec spec, Schema schema, JsonNode rows) {
    Map<PartitionKey, List<JsonNode>> parts = new LinkedHashMap<>();
    PartitionKey key = new PartitionKey(spec, schema);
    for (JsonNode row : rows) {
      key.partition(new InternalRecordWrapper(schema.asStruct()).wrap(withNanos(record(schema.asStruct(), row))));
      parts.computeIfAbsent(key.copy(), k -> new ArrayList<>()).add(row);
    }
    return parts;
  }

  /** Timestamps of nanoseconds as numbers, which {@link InternalRecordWrapper} does not make of them. */
  private static Record withNanos(Record record) {
    for (int at = 0; at < record.size(); at++) {
      if (record.struct().fields().get(at).type().typeId() == Type.TypeID.TIMESTAMP_NANO && record.get(at) != null) {
        Object value = record.get(at);
        record.set(at, value instanceof OffsetDateTime ? DateTimeUtil.nanosFromTimestamptz((OffsetDateTime) value) : DateTimeUtil.nanosFromTimestamp((LocalDateTime) value));
      }
    }
    return record;
  }

  private static Record record(Types.StructType type, JsonNode row) {
    Record record = GenericRecord.create(type);
    for (Types.NestedField field : type.fields()) {
      record.setField(field.name(), value(field.type(), row.get(field.name())));
    }
    return record;
  }

  private static Object value(Type type, JsonNode node) {
    if (node == null || node.isNull()) {
      return null;
    }
    String text = node.asText();
    switch (type.typeId()) {
      case BOOLEAN: return node.booleanValue();
      case INTEGER: return node.intValue();
      case LONG: return node.longValue();
      case FLOAT: return Float.parseFloat(text);
      case DOUBLE: return Double.parseDouble(text);
      case DECIMAL: return new BigDecimal(text).setScale(((Types.DecimalType) type).scale());
      case DATE: return LocalDate.parse(text);
      case TIME: return LocalTime.parse(text);
      case TIMESTAMP: return instant(((Types.TimestampType) type).shouldAdjustToUTC(), text);
      case TIMESTAMP_NANO: return instant(((Types.TimestampNanoType) type).shouldAdjustToUTC(), text);
      case STRING: return text;
      case UUID: return UUID.fromString(text);
      case FIXED: return HexFormat.of().parseHex(text);
      case BINARY: return ByteBuffer.wrap(HexFormat.of().parseHex(text));
      case STRUCT: return record(type.asStructType(), node);
      case LIST: return list(type.asListType(), node);
      case MAP: return map(type.asMapType(), node);
      default: throw new IllegalArgumentException("no JSON form of " + type);
    }
  }

  private static Object instant(boolean zoned, String text) {
    return zoned ? OffsetDateTime.parse(text) : LocalDateTime.parse(text);
  }

  private static List<Object> list(Types.ListType type, JsonNode node) {
    List<Object> out = new ArrayList<>();
    node.forEach(item -> out.add(value(type.elementType(), item)));
    return out;
  }

  private static Map<Object, Object> map(Types.MapType type, JsonNode pairs) {
    Map<Object, Object> out = new LinkedHashMap<>();
    pairs.forEach(pair -> out.put(value(type.keyType(), pair.get(0)), value(type.valueType(), pair.get(1))));
    return out;
  }
}
