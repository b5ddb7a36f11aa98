import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Begins to use transactions at the servers of its argument, and prints the error that ends it: its class and text. */
public final class TransactionalProducer {
    private static final String TIMEOUT_MS = "30000";

    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("transactional.id", "tx");
        properties.put("max.block.ms", TIMEOUT_MS);
        StringSerializer serializer = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, serializer, serializer)) {
            producer.initTransactions();
        } catch (KafkaException error) {
            System.out.println(error.getClass().getSimpleName() + " " + error.getMessage());
        }
    }
}
