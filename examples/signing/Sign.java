import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Both signature schemes of scoreboard, with the standard library (Java 11). */
public class Sign {
    static final String SECRET = "sk_test_0123456789abcdef"; // as it was shown; this one is only for tests

    static String sign(String text) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(SECRET.getBytes(UTF_8), "HmacSHA256"));
        return hex(mac.doFinal(text.getBytes(UTF_8)));
    }

    static String hex(byte[] bytes) {
        StringBuilder digits = new StringBuilder();
        for (byte b : bytes) {
            digits.append(String.format("%02x", b));
        }
        return digits.toString();
    }

    /** The value of "signature" in the body. Boards may be empty, and the action "". */
    static String signFields(
            String user, long delta, String event, String timestamp, List<String> boards, String action)
            throws GeneralSecurityException {
        String text = user + "|" + delta + "|" + event + "|" + timestamp;
        if (!boards.isEmpty() || !action.isEmpty()) {
            text += "|" + String.join(",", boards);
        }
        if (!action.isEmpty()) {
            text += "|" + action;
        }
        return sign(text);
    }

    /** The value of X-Scoreboard-Signature. The body is sent as these bytes. */
    static String signHeaders(String method, String target, String keyId, long seconds, byte[] body)
            throws GeneralSecurityException {
        String digest = hex(MessageDigest.getInstance("SHA-256").digest(body));
        return "v1=" + sign(String.join("\n", method, target, keyId, String.valueOf(seconds), digest));
    }

    /** Prints the signatures of the test vectors, in their order. */
    public static void main(String[] args) throws GeneralSecurityException {
        String event = "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", time = "2026-11-21T12:00:00Z";
        System.out.println(signFields("alice", 5, event, time, List.of(), ""));
        System.out.println(signFields("alice", 5, event, time, List.of("global", "daily"), ""));
        System.out.println(signFields("alice", 5, event, time, List.of("weekly"), ""));
        System.out.println(signFields("alice", 5, event, time, List.of(), "kill"));
        System.out.println(signFields("alice", 5, event, time, List.of("weekly"), "kill"));
        System.out.println(signFields(
                "eu:bob@example.com", -3, "match-8841:round.2", "2026-11-21T13:00:00.250+01:00", List.of(), ""));
        System.out.println(signHeaders(
                "POST", "/v1/scores/increments", "k1", 1795262400, "{\"items\":[]}".getBytes(UTF_8)));
        String round = "{\"user_id\":\"alice\",\"delta\":5,\"event_id\":\"match-8841\","
                + "\"timestamp\":\"2026-11-21T12:00:00Z\"}";
        System.out.println(signHeaders("POST", "/v1/scores/increment", "k1", 1795262400, round.getBytes(UTF_8)));
        String name = "{\"display_name\":\"Zo\u00eb\"}";
        System.out.println(signHeaders(
                "PUT", "/v1/users/alice/profile?reason=new%20name", "k1", 1795262400, name.getBytes(UTF_8)));
        System.out.println(signHeaders(
                "GET", "/v1/events/match-8841?user_id=alice", "k1", 1795262400, new byte[0]));
    }
}
