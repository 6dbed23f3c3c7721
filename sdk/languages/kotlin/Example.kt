import java.time.OffsetDateTime
import java.time.ZoneOffset
import java.time.format.DateTimeFormatter
import java.time.temporal.ChronoUnit
import java.util.HexFormat
import java.util.UUID
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import org.openapitools.client.apis.LeaderboardApi
import org.openapitools.client.apis.ScoresApi
import org.openapitools.client.infrastructure.ApiClient
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.models.IncrementRequest
import org.openapitools.client.models.Receipt

/** One signed increment, one read and one rejected request with the generated client. */
fun main() {
    val server = System.getenv("SBCTL_SERVER")
    val keyId = System.getenv("SBCTL_KEY_ID")
    val secret = System.getenv("SBCTL_KEY_SECRET")
    val eventId = UUID.randomUUID().toString()
    ApiClient.accessToken = System.getenv("SBCTL_TOKEN")
    // begin
    val now = OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS)
    val text = "alice|5|$eventId|" + DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(now)
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(SecretKeySpec(secret.toByteArray(), "HmacSHA256"))
    val signature = HexFormat.of().formatHex(mac.doFinal(text.toByteArray()))
    val increment = IncrementRequest(5, eventId, now, "alice", keyId = keyId, signature = signature)
    val receipt = ScoresApi(server).postScoresIncrement(increment).actualInstance as Receipt
    val top = LeaderboardApi(server).getLeaderboardTop(limit = 10)
    println("${receipt.newScore} ${top.propertyEntries.size}")
    // end
    check(receipt.newScore >= 5 && top.board == "global") { "$receipt $top" }
    try {
        ScoresApi(server).postScoresIncrement(increment.copy(delta = 6))
        error("an increment with a wrong signature was counted")
    } catch (e: ClientException) {
        val body = (e.response as ClientError<*>).body.toString()
        check(e.statusCode == 401 && "invalid_signature" in body) { "${e.statusCode} $body" }
    }
}
