import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Runs steps of the administration scenario: Java's AdminClient and Apache Kafka's own tools, in one JVM.
 *
 * A line of JSON on stdin, {"server": ..., "action": ..., "arguments": {...}}, is answered by one line of JSON on stdout.
 * What a tool prints is caught and is a part of its answer, so that nothing else reaches stdout.
 */
public final class ScenarioProgram {
    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        ObjectMapper json = new ObjectMapper().configure(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS, true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, AdminSteps> clients = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode step = json.readTree(line);
            String server = step.get("server").asText();
            Object answer;
            if (step.get("action").asText().equals("tool")) {
                answer = ToolSteps.run(step.get("arguments"));
            } else {
                answer = clients.computeIfAbsent(server, AdminSteps::new).run(step.get("action").asText(), step.get("arguments"));
            }
            answers.println(json.writeValueAsString(answer));
            answers.flush();
        }
        clients.values().forEach(AdminSteps::close);
    }
}
