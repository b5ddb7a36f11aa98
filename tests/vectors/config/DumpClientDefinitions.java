// Prints what Kafka says of the configurations of its producer, consumer and admin client as JSON, by client and name:
// type, default (null where there is none), importance, valid values, whether it is internal, whether it must be given:
//   bin/kafka-jars 4
//   java -cp '.cache/kafka/4.3.1/*' tests/vectors/config/DumpClientDefinitions.java > tests/vectors/config/clients-4.3.1.json

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;

public class DumpClientDefinitions {
    private static String quoted(Object value) {
        if (value == null || value == ConfigDef.NO_DEFAULT_VALUE) {
            return "null";
        }
        String text = value instanceof List<?> list
            ? list.stream().map(DumpClientDefinitions::plain).collect(Collectors.joining(","))
            : plain(value);
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static String plain(Object value) {
        return value instanceof Class<?> type ? type.getName() : value.toString();
    }

    private static String row(Map.Entry<String, ConfigKey> entry) {
        ConfigKey key = entry.getValue();
        return "  " + quoted(entry.getKey()) + ": [" + quoted(key.type.name()) + ", " + quoted(key.defaultValue) + ", "
            + quoted(key.importance.name().toLowerCase()) + ", " + quoted(key.validator) + ", " + key.internalConfig + ", "
            + (key.defaultValue == ConfigDef.NO_DEFAULT_VALUE) + "]";
    }

    private static String table(String name, ConfigDef definitions) {
        return " " + quoted(name) + ": {\n"
            + new TreeMap<>(definitions.configKeys()).entrySet().stream()
                .map(DumpClientDefinitions::row)
                .collect(Collectors.joining(",\n"))
            + "\n }";
    }

    public static void main(String[] arguments) {
        System.out.println("{\n" + table("producer", ProducerConfig.configDef()) + ",\n"
            + table("consumer", ConsumerConfig.configDef()) + ",\n"
            + table("admin", AdminClientConfig.configDef()) + "\n}");
    }
}
