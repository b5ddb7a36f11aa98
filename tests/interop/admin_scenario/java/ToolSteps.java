import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/** Apache Kafka's command-line programs, called by their main: what they print, and the code that they would exit with. */
final class ToolSteps {
    private ToolSteps() {
    }

    /** Ends a tool where it would have ended the JVM. */
    private static final class Exited extends RuntimeException {
    }

    static Map<String, Object> run(JsonNode arguments) {
        List<String> words = new ArrayList<>();
        arguments.get("words").forEach(word -> words.add(word.asText()));
        PrintStream out = System.out;
        PrintStream err = System.err;
        InputStream in = System.in;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        Map<String, Object> answer = new LinkedHashMap<>();
        // What the tool does after its first exit never happens in a JVM of its own; some catch whatever is thrown.
        Exit.Procedure exit = (code, message) -> {
            if (answer.isEmpty()) {
                end(answer, code, printed, complained);
            }
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        System.setIn(new ByteArrayInputStream(arguments.path("stdin").asText().getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            int code = call(arguments.get("program").asText(), words.toArray(new String[0]));
            if (answer.isEmpty()) {
                end(answer, code, printed, complained);
            }
        } finally {
            System.setIn(in);
            System.setOut(out);
            System.setErr(err);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
        }
        return answer;
    }

    private static void end(Map<String, Object> answer, int code, ByteArrayOutputStream out, ByteArrayOutputStream err) {
        answer.put("code", code);
        answer.put("stdout", out.toString(StandardCharsets.UTF_8));
        answer.put("stderr", err.toString(StandardCharsets.UTF_8));
    }

    /** What main would end with; 0 also for a tool that has exited already. */
    private static int call(String program, String[] words) {
        int[] code = {0};
        // Scala prints to a stream of its own, which it took when it was loaded.
        scala.Console.withOut(System.out, () -> scala.Console.withErr(System.err, () -> {
            code[0] = main(program, words);
            return null;
        }));
        return code[0];
    }

    private static int main(String program, String[] words) {
        try {
            Class.forName(program).getMethod("main", String[].class).invoke(null, (Object) words);
            return 0;
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof Exited) {
                return 0;
            }
            // As java does it with what main throws.
            System.err.println("Exception in thread \"main\" " + thrown.getCause());
            return 1;
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
    }
}
