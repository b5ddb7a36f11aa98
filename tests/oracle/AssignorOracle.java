import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Apache Kafka's own assignors as an oracle for ours. A line of JSON on stdin,
 *   {"assignor": CLASS, "topics": {NAME: [[RACK, ...] a partition]}, "members": {ID: {topics, owned, generation, rack, instance, data}}}
 * is answered by one on stdout,
 *   {"assignment": {ID: [[TOPIC, PARTITION], ...]}, "subscriptions": {ID: [HEX a version]}}   or   {"error": TEXT}
 */
public final class AssignorOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PACKAGE = "org.apache.kafka.clients.consumer.";

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
            out.flush();
        }
    }

    private static JsonNode answer(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            Map<String, Subscription> members = members(question.get("members"));
            ObjectNode bytes = answer.putObject("subscriptions");
            members.forEach((id, subscription) -> {
                ArrayNode versions = bytes.putArray(id);
                for (short version = 0; version <= 3; version++) {
                    versions.add(hex(ConsumerProtocol.serializeSubscription(subscription, version)));
                }
            });
            Class<?> kind = Class.forName(PACKAGE + question.get("assignor").asText());
            ConsumerPartitionAssignor assignor = (ConsumerPartitionAssignor) kind.getDeclaredConstructor().newInstance();
            Map<String, Assignment> found =
                assignor.assign(cluster(question.get("topics")), new GroupSubscription(members)).groupAssignment();
            ObjectNode assignment = answer.putObject("assignment");
            found.forEach((id, assigned) -> {
                ArrayNode partitions = assignment.putArray(id);
                assigned.partitions().forEach(p -> partitions.addArray().add(p.topic()).add(p.partition()));
            });
        } catch (Exception | AssertionError exception) {
            answer.put("error", exception.toString());
        }
        return answer;
    }

    private static Map<String, Subscription> members(JsonNode described) {
        Map<String, Subscription> members = new HashMap<>();
        described.fields().forEachRemaining(entry -> {
            JsonNode member = entry.getValue();
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(topic.asText()));
            List<TopicPartition> owned = new ArrayList<>();
            member.get("owned").forEach(p -> owned.add(new TopicPartition(p.get(0).asText(), p.get(1).asInt())));
            JsonNode data = member.get("data");
            ByteBuffer userData = data.isNull() ? null : ByteBuffer.wrap(HexFormat.of().parseHex(data.asText()));
            String rack = member.get("rack").asText();
            Subscription subscription = new Subscription(
                topics, userData, owned, member.get("generation").asInt(), rack.isEmpty() ? Optional.empty() : Optional.of(rack));
            JsonNode instance = member.get("instance");
            subscription.setGroupInstanceId(instance.isNull() ? Optional.empty() : Optional.of(instance.asText()));
            members.put(entry.getKey(), subscription);
        });
        return members;
    }

    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(entry -> {
            int number = 0;
            for (JsonNode racks : entry.getValue()) {
                List<Node> replicas = new ArrayList<>();
                racks.forEach(rack ->
                    replicas.add(nodes.computeIfAbsent(rack.asText(), name -> new Node(nodes.size(), "broker", 9092, name))));
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(entry.getKey(), number++, all.length == 0 ? Node.noNode() : all[0], all, all));
            }
        });
        return new Cluster("oracle", nodes.values(), partitions, Collections.emptySet(), Collections.emptySet());
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
