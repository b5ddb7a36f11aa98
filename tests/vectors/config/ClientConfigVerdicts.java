// Reads configurations of clients, one a line (client, then name and value by turns, tab-separated), makes each client
// and prints a line: OK, or what Kafka complains of. Used by tests/oracle/test_client_configs_against_java.py.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class ClientConfigVerdicts {
    private static void make(String client, Map<String, Object> properties) {
        switch (client) {
            case "producer" ->
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer()).close(Duration.ZERO);
            case "consumer" ->
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())
                    .close(CloseOptions.timeout(Duration.ZERO));
            default -> Admin.create(properties).close(Duration.ZERO);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            Map<String, Object> properties = new HashMap<>();
            for (int index = 1; index + 1 < parts.length; index += 2) {
                properties.put(parts[index], parts[index + 1]);
            }
            String verdict = "OK";
            try {
                make(parts[0], properties);
            } catch (RuntimeException failure) {
                Throwable cause = failure;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                verdict = cause.getMessage();
            }
            System.out.println("verdict\t" + verdict);
        }
    }
}
