import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.LeaderboardApi;
import org.openapitools.client.api.ScoresApi;
import org.openapitools.client.model.IncrementRequest;
import org.openapitools.client.model.Receipt;
import org.openapitools.client.model.Top;

/** One signed increment, one read and one rejected request with the generated client. */
public class Example {
    public static void main(String[] arguments) throws Exception {
        String keyId = System.getenv("SBCTL_KEY_ID");
        String secret = System.getenv("SBCTL_KEY_SECRET"), eventId = UUID.randomUUID().toString();
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("SBCTL_SERVER"));
        client.setBearerToken(System.getenv("SBCTL_TOKEN"));
        // begin
        OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS);
        String text = "alice|5|" + eventId + "|" + DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(now);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        String signature = HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        IncrementRequest increment = new IncrementRequest().userId("alice").delta(5L).eventId(eventId).timestamp(now)
            .keyId(keyId).signature(signature);
        Receipt receipt = new ScoresApi(client).postScoresIncrement(increment).getReceipt();
        Top top = new LeaderboardApi(client).getLeaderboardTop(10L, "global", null, null, null, null, null, null, null);
        System.out.println(receipt.getNewScore() + " " + top.getEntries().size());
        // end
        if (receipt.getNewScore() < 5 || !top.getBoard().equals("global")) {
            throw new AssertionError(receipt + " " + top);
        }
        try {
            new ScoresApi(client).postScoresIncrement(increment.delta(6L));
            throw new AssertionError("an increment with a wrong signature was counted");
        } catch (ApiException e) {
            if (e.getCode() != 401 || !e.getResponseBody().contains("invalid_signature")) {
                throw e;
            }
        }
    }
}
