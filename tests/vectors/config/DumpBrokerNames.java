// Prints the names of the broker configurations of an Apache Kafka release, one a line. broker-names.json has them for each
// release that is downloaded. In the root of the checkout, for each of 2.8.2, 3.9.2 and 4.3.1:
//
//   java -cp '.cache/kafka/4.3.1/*' tests/vectors/config/DumpBrokerNames.java

import java.util.TreeSet;

public class DumpBrokerNames {
    public static void main(String[] arguments) throws Exception {
        Class<?> config = Class.forName("kafka.server.KafkaConfig");
        Object names;
        try {
            names = config.getMethod("configNames").invoke(null);
        } catch (NoSuchMethodException noSuchMethod) {
            Object definitions = config.getMethod("configDef").invoke(null);
            names = definitions.getClass().getMethod("names").invoke(definitions);
        }
        // A list of Java or of Scala, depending on the release: both print as NAME, NAME in brackets.
        String text = names.toString();
        String listed = text.substring(text.indexOf(text.startsWith("[") ? '[' : '(') + 1, text.length() - 1);
        new TreeSet<>(java.util.List.of(listed.split(", "))).forEach(System.out::println);
    }
}
