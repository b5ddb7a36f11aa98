// Prints the names, types, defaults and importances of Kafka's broker and topic configurations as JSON:
//   bin/kafka-jars 3.9.2
//   javac -cp '.cache/kafka/3.9.2/*' -d /tmp tests/vectors/config/DumpConfigDefinitions.java
//   java -cp '.cache/kafka/3.9.2/*:/tmp' DumpConfigDefinitions > tests/vectors/config/kafka-3.9.2.json

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;

public class DumpConfigDefinitions {
    private static String quoted(Object value) {
        if (value == null || value == ConfigDef.NO_DEFAULT_VALUE) {
            return "null";
        }
        String text = value instanceof List<?> list
            ? list.stream().map(Object::toString).collect(Collectors.joining(","))
            : value.toString();
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static String row(Map.Entry<String, ConfigKey> entry) {
        ConfigKey key = entry.getValue();
        return "  " + quoted(entry.getKey()) + ": [" + quoted(key.type.name()) + ", " + quoted(key.defaultValue) + ", "
            + quoted(key.importance.name().toLowerCase()) + "]";
    }

    private static String table(String name, ConfigDef definitions) {
        return " " + quoted(name) + ": {\n"
            + new TreeMap<>(definitions.configKeys()).entrySet().stream()
                .map(DumpConfigDefinitions::row)
                .collect(Collectors.joining(",\n"))
            + "\n }";
    }

    public static void main(String[] arguments) {
        System.out.println("{\n" + table("broker", kafka.server.KafkaConfig.configDef()) + ",\n"
            + table("topic", org.apache.kafka.storage.internals.log.LogConfig.configDefCopy()) + "\n}");
    }
}
