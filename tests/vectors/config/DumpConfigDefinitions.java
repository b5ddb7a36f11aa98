// Prints what Kafka says of its broker and topic configurations as JSON, by name: type, default, importance, mode
// (KIP-226), valid values, whether it is internal; then the broker configurations behind each topic configuration:
//   java -cp "$(bin/kafka-jars 4.3.1)" tests/vectors/config/DumpConfigDefinitions.java > tests/vectors/config/kafka-4.3.1.json

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
            : value instanceof Class<?> type ? type.getName() : value.toString();
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static final Map<String, String> MODES = modes();

    /** By reflection: a Scala object in 3.9, a Java class elsewhere in 4.3. */
    @SuppressWarnings("unchecked")
    private static Map<String, String> modes() {
        try {
            try {
                Class<?> ofJava = Class.forName("org.apache.kafka.server.config.DynamicBrokerConfig");
                return (Map<String, String>) ofJava.getMethod("dynamicConfigUpdateModes").invoke(null);
            } catch (ClassNotFoundException older) {
                Class<?> ofScala = Class.forName("kafka.server.DynamicBrokerConfig$");
                Object module = ofScala.getField("MODULE$").get(null);
                return (Map<String, String>) ofScala.getMethod("dynamicConfigUpdateModes").invoke(module);
            }
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static String row(Map.Entry<String, ConfigKey> entry, boolean isTopic) {
        ConfigKey key = entry.getValue();
        String mode = isTopic ? "cluster-wide" : MODES.getOrDefault(key.name, "read-only");
        return "  " + quoted(entry.getKey()) + ": [" + quoted(key.type.name()) + ", " + quoted(key.defaultValue) + ", "
            + quoted(key.importance.name().toLowerCase()) + ", " + quoted(mode) + ", " + quoted(key.validator) + ", "
            + key.internalConfig + "]";
    }

    private static String synonyms() {
        return " \"synonyms\": {\n"
            + new TreeMap<>(org.apache.kafka.server.config.ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS).entrySet()
                .stream()
                .map(entry -> "  " + quoted(entry.getKey()) + ": [" + entry.getValue().stream()
                    .map(synonym -> quoted(synonym.name()))
                    .collect(Collectors.joining(", ")) + "]")
                .collect(Collectors.joining(",\n"))
            + "\n }";
    }

    private static String table(String name, ConfigDef definitions, boolean isTopic) {
        return " " + quoted(name) + ": {\n"
            + new TreeMap<>(definitions.configKeys()).entrySet().stream()
                .map(entry -> row(entry, isTopic))
                .collect(Collectors.joining(",\n"))
            + "\n }";
    }

    public static void main(String[] arguments) {
        System.out.println("{\n" + table("broker", kafka.server.KafkaConfig.configDef(), false) + ",\n"
            + table("topic", org.apache.kafka.storage.internals.log.LogConfig.configDefCopy(), true) + ",\n"
            + synonyms() + "\n}");
    }
}
