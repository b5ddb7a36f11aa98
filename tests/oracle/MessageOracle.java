import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Apache Kafka's own message classes as an oracle for ours: reads a message, writes it again, and says what it read.
 *
 * A line "CLASS VERSION HEX" on stdin is answered by one line on stdout:
 *   "ok HEX JSON"           what Kafka writes for what it read, and the fields that it read
 *   "unsupported LOW-HIGH"  the class has no such version
 *   "error TEXT"            Kafka cannot read the bytes, or leaves some of them over
 */
public final class MessageOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(answer(words[0], Short.parseShort(words[1]), words[2]));
            out.flush();
        }
    }

    private static String answer(String className, short version, String hex) {
        try {
            Message message = (Message) Class.forName(className).getDeclaredConstructor().newInstance();
            if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
                return "unsupported " + message.lowestSupportedVersion() + "-" + message.highestSupportedVersion();
            }
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
            message.read(new ByteBufferAccessor(bytes), version);
            if (bytes.hasRemaining()) {
                return "error " + bytes.remaining() + " bytes are left over";
            }
            return "ok " + hexOf(message, version) + " " + jsonOf(message, version);
        } catch (Exception | AssertionError exception) {
            return "error " + exception.toString().replace('\n', ' ');
        }
    }

    private static String hexOf(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        byte[] bytes = new byte[message.size(cache, version)];
        message.write(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), cache, version);
        return HexFormat.of().formatHex(bytes);
    }

    private static String jsonOf(Message message, short version) throws ReflectiveOperationException {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        Method write = converter.getMethod("write", message.getClass(), short.class);
        return write.invoke(null, message, version).toString();
    }
}
