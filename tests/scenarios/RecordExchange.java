import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes and reads records exactly, with Apache Kafka's own clients: a line of JSON asks, a line answers.
 *
 * {"servers", "topic", "codec", "records": [...]}  answers the offsets that the producer was told
 * {"servers", "topic", "count"}                    answers the records of partition 0
 * {"keys": [...], "partitions"}                    answers the partition of each key
 *
 * A record is {"key", "value", "timestamp", "headers": [[name, value], ...]} and, when read, "offset"; bytes are in
 * hexadecimal, null is null.
 */
public class RecordExchange {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long PATIENCE_MS = 120_000;

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                JsonNode asked = JSON.readTree(line);
                answer.set("answer",
                    asked.has("keys") ? place(asked) : asked.has("records") ? write(asked) : read(asked));
            } catch (Exception error) {
                answer.put("error", error.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : HexFormat.of().parseHex(text.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    private static ArrayNode place(JsonNode asked) {
        ArrayNode partitions = JSON.createArrayNode();
        for (JsonNode key : asked.get("keys")) {
            partitions.add(BuiltInPartitioner.partitionForKey(bytes(key), asked.get("partitions").asInt()));
        }
        return partitions;
    }

    private static ArrayNode write(JsonNode asked) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", asked.get("servers").asText());
        properties.put("compression.type", asked.get("codec").asText());
        // One batch, as far as it goes: `flush` sends it.
        properties.put("linger.ms", "60000");
        ByteArraySerializer serializer = new ByteArraySerializer();
        ArrayNode offsets = JSON.createArrayNode();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, serializer, serializer)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode row : asked.get("records")) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    asked.get("topic").asText(), 0, row.get("timestamp").asLong(), bytes(row.get("key")), bytes(row.get("value")));
                for (JsonNode header : row.get("headers")) {
                    record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                }
                sent.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) {
                offsets.add(each.get().offset());
            }
        }
        return offsets;
    }

    private static ArrayNode read(JsonNode asked) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", asked.get("servers").asText());
        ByteArrayDeserializer deserializer = new ByteArrayDeserializer();
        TopicPartition partition = new TopicPartition(asked.get("topic").asText(), 0);
        ArrayNode records = JSON.createArrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, deserializer, deserializer)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (records.size() < asked.get("count").asInt() && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    ObjectNode row = records.addObject();
                    row.put("offset", record.offset()).put("timestamp", record.timestamp());
                    row.put("key", text(record.key())).put("value", text(record.value()));
                    ArrayNode headers = row.putArray("headers");
                    for (Header header : record.headers()) {
                        headers.addArray().add(header.key()).add(text(header.value()));
                    }
                }
            }
        }
        return records;
    }
}
