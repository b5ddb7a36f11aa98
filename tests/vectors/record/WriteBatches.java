import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;

/** Prints what kafka-clients writes, one line a buffer: name and hex. kafka-3.9.2.txt is its output:
 *  java -cp "$(bin/kafka-jars 3.9)" tests/vectors/record/WriteBatches.java
 */
public class WriteBatches {
    static final Header[] NONE = new Header[0];

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static void print(String name, MemoryRecords records) {
        ByteBuffer buffer = records.buffer();
        byte[] out = new byte[buffer.remaining()];
        buffer.get(out);
        System.out.println(name + " " + HexFormat.of().formatHex(out));
    }

    static MemoryRecordsBuilder builder(byte magic, CompressionType type, TimestampType timestampType) {
        boolean old = magic < 2;
        return MemoryRecords.builder(ByteBuffer.allocate(1024), magic, Compression.of(type).build(), timestampType,
            500L, 1700000001000L, old ? -1L : 4711L, old ? (short) -1 : (short) 3, old ? -1 : 17, false, old ? -1 : 6);
    }

    static void append(MemoryRecordsBuilder builder, byte magic) {
        Header[] headers = magic < 2 ? NONE
            : new Header[] {new RecordHeader("a", bytes("1")), new RecordHeader("a", null),
                new RecordHeader("", new byte[0])};
        builder.append(1700000000000L, bytes("key"), bytes("value"), NONE);
        builder.append(1700000000007L, null, bytes("no key"), headers);
        builder.append(1699999999000L, bytes("no value"), null, NONE);
        builder.append(1700000000001L, new byte[0], new byte[0], NONE);
        builder.append(1700000000002L, bytes("long"), bytes("0123456789".repeat(50)), NONE);
    }

    public static void main(String[] arguments) {
        for (byte magic = 0; magic <= 2; magic++) {
            for (CompressionType type : CompressionType.values()) {
                if (magic < 2 && type == CompressionType.ZSTD) continue;
                MemoryRecordsBuilder builder = builder(magic, type, TimestampType.CREATE_TIME);
                append(builder, magic);
                print("magic" + magic + "-" + type.name, builder.build());
            }
        }
        for (byte magic = 1; magic <= 2; magic++) {
            MemoryRecordsBuilder builder = builder(magic, CompressionType.GZIP, TimestampType.LOG_APPEND_TIME);
            append(builder, magic);
            print("magic" + magic + "-gzip-log-append-time", builder.build());
        }
        for (ControlRecordType type : new ControlRecordType[] {ControlRecordType.ABORT, ControlRecordType.COMMIT}) {
            print("marker-" + type.name().toLowerCase(), MemoryRecords.withEndTransactionMarker(500L, 1700000001000L, 6,
                4711L, (short) 3, new EndTransactionMarker(type, 11)));
        }
    }
}
