import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member with Java's KafkaConsumer; line_protocol.py says what it hears and tells. */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final String PACKAGE = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", PACKAGE + "RangeAssignor",
        "roundrobin", PACKAGE + "RoundRobinAssignor",
        "sticky", PACKAGE + "StickyAssignor",
        "cooperative-sticky", PACKAGE + "CooperativeStickyAssignor");

    private final ObjectMapper json = new ObjectMapper();
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private final Map<TopicPartition, Long> read = new HashMap<>();
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final List<String> topics = new ArrayList<>();
    private volatile boolean commits = true;

    private GroupMember(JsonNode settings) {
        settings.get("topics").forEach(topic -> topics.add(topic.asText()));
        Properties properties = new Properties();
        properties.put("bootstrap.servers", settings.get("server").asText());
        properties.put("group.id", settings.get("group").asText());
        properties.put("client.id", settings.get("client_id").asText());
        if (!settings.get("group_instance_id").isNull()) {
            properties.put("group.instance.id", settings.get("group_instance_id").asText());
        }
        properties.put("partition.assignment.strategy", ASSIGNORS.get(settings.get("assignor").asText()));
        properties.put("session.timeout.ms", settings.get("session_timeout_ms").asInt());
        properties.put("heartbeat.interval.ms", settings.get("heartbeat_interval_ms").asInt());
        properties.put("max.poll.interval.ms", settings.get("max_poll_interval_ms").asInt());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", false);
        properties.put("fetch.max.wait.ms", 100);
        properties.put("auto.include.jmx.reporter", false);
        properties.put("enable.metrics.push", false);
        consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        GroupMember member = new GroupMember(new ObjectMapper().readTree(arguments[0]));
        Thread listener = new Thread(member::listen);
        listener.setDaemon(true);
        listener.start();
        member.run();
    }

    private void listen() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode command = json.readTree(line);
                if (command.get("do").asText().equals("commit")) {
                    commits = command.get("on").asBoolean();
                    tell("heard", Map.of());
                } else {
                    commands.add(command.get("do").asText());
                }
            }
        } catch (Exception error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    private void run() throws Exception {
        tell("ready", Map.of());
        if (commands.take().equals("join")) {
            consumer.subscribe(topics, this);
            while (commands.poll() == null) {
                try {
                    take(consumer.poll(POLL));
                } catch (FencedInstanceIdException fenced) {
                    tell("fenced", Map.of());
                    commands.take();
                    break;
                } catch (KafkaException error) {
                    tell("failed", Map.of("error", error.getClass().getSimpleName()));
                }
            }
        }
        consumer.close();
        tell("left", Map.of());
        Runtime.getRuntime().halt(0);
    }

    private void take(Iterable<ConsumerRecord<byte[], byte[]>> records) {
        List<Object> told = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> one : records) {
            String value = new String(one.value(), StandardCharsets.UTF_8);
            told.add(List.of(one.topic(), one.partition(), one.offset(), value));
            read.put(new TopicPartition(one.topic(), one.partition()), one.offset() + 1);
        }
        if (told.isEmpty()) {
            return;
        }
        tell("records", Map.of("records", told));
        if (commits) {
            commit();
        }
    }

    /** Everything read and not committed yet. */
    private void commit() {
        if (read.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        read.forEach((place, offset) -> offsets.put(place, new OffsetAndMetadata(offset)));
        Map<String, Object> outcome = new HashMap<>();
        outcome.put("error", null);
        try {
            consumer.commitSync(offsets);
            read.clear();
        } catch (KafkaException error) {
            outcome.put("error", error.getClass().getSimpleName());
        }
        tell("committed", outcome);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tellPartitions("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        if (commits) {
            commit();
        }
        partitions.forEach(read::remove);
        tellPartitions("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        partitions.forEach(read::remove);
        tellPartitions("lost", partitions);
    }

    private void tellPartitions(String event, Collection<TopicPartition> partitions) {
        List<Object> told = new ArrayList<>();
        partitions.forEach(one -> told.add(List.of(one.topic(), one.partition())));
        tell(event, Map.of("partitions", told));
    }

    private synchronized void tell(String event, Map<String, ?> fields) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.put("at", System.nanoTime());
        line.putAll(fields);
        try {
            System.out.println(json.writeValueAsString(line));
            System.out.flush();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
