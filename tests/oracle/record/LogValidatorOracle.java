import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Apache Kafka's own judgement of produced bytes: ProduceRequest.validateRecords, the checks of
 * UnifiedLog.analyzeAndValidateRecords (private to the broker, so said again here), then LogValidator.
 *
 * A line in: version origin compacted timestampType targetCodec before after now baseOffset leaderEpoch maxBytes hex.
 * A line out: error code, index of the first record at fault or -1, maximum timestamp, and the validated bytes in hex.
 */
public class LogValidatorOracle {
    static final TopicPartition PARTITION = new TopicPartition("topic", 0);

    static final LogValidator.MetricsRecorder METRICS = new LogValidator.MetricsRecorder() {
        public void recordInvalidMagic() { }
        public void recordInvalidOffset() { }
        public void recordInvalidSequence() { }
        public void recordInvalidChecksums() { }
        public void recordNoKeyCompactedTopic() { }
    };

    /** A clock that stands still; only the time of day and of the machine are asked for. */
    static Time standingAt(long now) {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) -> method.getName().equals("milliseconds") ? now : 0L);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = judge(line.split(" ", -1));
            } catch (RecordValidationException e) {
                int index = e.recordErrors().get(0).batchIndex;
                answer = Errors.forException(e.invalidException()).code() + " " + index + " -1 -";
            } catch (Throwable e) {
                answer = Errors.forException(e).code() + " -1 -1 -";
            }
            out.append(answer).append('\n');
        }
        System.out.print(out);
    }

    static String judge(String[] fields) {
        short version = Short.parseShort(fields[0]);
        AppendOrigin origin = fields[1].equals("0") ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR;
        TimestampType timestampType = TimestampType.forName(fields[3].equals("0") ? "CreateTime" : "LogAppendTime");
        int targetCodec = Integer.parseInt(fields[4]);
        Time time = standingAt(Long.parseLong(fields[7]));
        long baseOffset = Long.parseLong(fields[8]);
        int maxBytes = Integer.parseInt(fields[10]);
        byte[] data = HexFormat.of().parseHex(fields[11]);
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(data));

        if (origin == AppendOrigin.CLIENT) ProduceRequest.validateRecords(version, records);
        CompressionType source = CompressionType.NONE;
        for (MutableRecordBatch batch : records.batches()) {
            if (origin == AppendOrigin.CLIENT && batch.baseOffset() != 0)
                throw new InvalidRecordException("base offset");
            if (batch.sizeInBytes() > maxBytes) throw new RecordTooLargeException("size");
            if (!batch.isValid()) throw new CorruptRecordException("checksum");
            source = batch.compressionType();
        }
        CompressionType target = targetCodec < 0 ? source : CompressionType.forId(targetCodec);
        LogValidator validator = new LogValidator(records, PARTITION, time, source, Compression.of(target).build(),
            fields[2].equals("1"), RecordBatch.MAGIC_VALUE_V2, timestampType, Long.parseLong(fields[5]),
            Long.parseLong(fields[6]), Integer.parseInt(fields[9]), origin, MetadataVersion.latestProduction());
        LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(baseOffset), METRICS, BufferSupplier.NO_CACHING);
        if (result.messageSizeMaybeChanged) {
            for (RecordBatch batch : result.validatedRecords.batches())
                if (batch.sizeInBytes() > maxBytes) throw new RecordTooLargeException("size");
        }
        ByteBuffer buffer = result.validatedRecords.buffer().duplicate();
        byte[] validated = new byte[buffer.remaining()];
        buffer.get(validated);
        return "0 -1 " + result.maxTimestampMs + " " + HexFormat.of().formatHex(validated);
    }
}
