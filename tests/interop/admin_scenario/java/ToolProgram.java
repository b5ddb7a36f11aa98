import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Runs Apache Kafka's own tools, of whichever version is on the class path, in one JVM.
 *
 * Lines of JSON come and go as with ScenarioProgram; every action is "tool".
 */
public final class ToolProgram {
    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.println(json.writeValueAsString(ToolSteps.run(json.readTree(line).get("arguments"))));
            answers.flush();
        }
    }
}
