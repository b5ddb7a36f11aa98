import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Java's consumers that leave it to the broker which topics match their patterns (SubscriptionPattern, Kafka 4).
 *
 * Arguments: servers, group. A line "NAME PATTERN" on stdin has the consumer of that name subscribe, and makes it if it is
 * not there; "NAME" alone closes it; the end of stdin closes all. On stdout, tabs between the words:
 *   owns NAME PLACE...        what it has from now on, as topic:partition
 *   read NAME VALUE...        the values of records that it got
 *   fails NAME CLASS TEXT     what its poll threw, and that closed it
 *   closed NAME
 */
public final class PatternConsumers {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final Map<String, KafkaConsumer<String, String>> CONSUMERS = new LinkedHashMap<>();
    private static final Map<String, Set<TopicPartition>> SHOWN = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        Queue<String> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> read(commands));
        reader.start();
        while (reader.isAlive() || !commands.isEmpty()) {
            for (String command = commands.poll(); command != null; command = commands.poll()) {
                obey(command, arguments[0], arguments[1]);
            }
            if (CONSUMERS.isEmpty()) {
                Thread.sleep(POLL.toMillis());
            }
            for (String name : List.copyOf(CONSUMERS.keySet())) {
                poll(name);
            }
        }
        for (String name : List.copyOf(CONSUMERS.keySet())) {
            close(name);
        }
    }

    private static void read(Queue<String> commands) {
        new BufferedReader(new InputStreamReader(System.in)).lines().forEach(commands::add);
    }

    private static void obey(String command, String servers, String group) {
        String[] words = command.split(" ", 2);
        if (words.length == 1) {
            close(words[0]);
        } else {
            CONSUMERS.computeIfAbsent(words[0], name -> make(servers, group))
                .subscribe(new SubscriptionPattern(words[1]));
        }
    }

    private static KafkaConsumer<String, String> make(String servers, String group) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", servers, "group.id", group, "group.protocol", "consumer",
            "auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static void poll(String name) {
        KafkaConsumer<String, String> consumer = CONSUMERS.get(name);
        try {
            List<String> values = new ArrayList<>();
            consumer.poll(POLL).forEach(record -> values.add(record.value()));
            if (!values.isEmpty()) {
                say("read", name, String.join("\t", values));
            }
            Set<TopicPartition> owned = Set.copyOf(consumer.assignment());
            if (!owned.equals(SHOWN.put(name, owned))) {
                List<String> places = new ArrayList<>();
                owned.forEach(place -> places.add(place.topic() + ":" + place.partition()));
                say("owns", name, String.join("\t", places));
            }
        } catch (KafkaException error) {
            say("fails", name, error.getClass().getSimpleName() + "\t" + error.getMessage());
            close(name);
        }
    }

    private static void close(String name) {
        CONSUMERS.remove(name).close();
        SHOWN.remove(name);
        say("closed", name, "");
    }

    private static void say(String what, String name, String rest) {
        System.out.println(what + "\t" + name + (rest.isEmpty() ? "" : "\t" + rest));
    }
}
