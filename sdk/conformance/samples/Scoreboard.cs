// NOT RUN: a starting point for a client in C# (.NET 8), without tests. It signs and submits one increment
// and retries with the same event id. Make the vectors of sdk/conformance pass before you rely on it.
// For a server: a secret never goes into a game that players have.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Net;
using System.Net.Http;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

public sealed class ScoreboardClient
{
    // Redirects are not followed: another server must not get the token.
    private readonly HttpClient http = new(new SocketsHttpHandler { AllowAutoRedirect = false })
    {
        Timeout = TimeSpan.FromSeconds(10),
    };
    private readonly string server, token, keyId, keySecret;

    public ScoreboardClient(string server, string token, string keyId, string keySecret) =>
        (this.server, this.token, this.keyId, this.keySecret) = (server.TrimEnd('/'), token, keyId, keySecret);

    /// <summary>Counts an increment and returns its receipt. eventId counts once, however often it is sent.</summary>
    public async Task<JsonElement> Submit(string userId, long delta, string eventId, CancellationToken cancel = default)
    {
        for (var n = 0; ; n++)
        {
            TimeSpan wait = TimeSpan.Zero;
            try
            {
                using var response = await Send(userId, delta, eventId, cancel);
                var text = await response.Content.ReadAsStringAsync(cancel);
                if (response.IsSuccessStatusCode) return JsonDocument.Parse(text).RootElement;
                var status = (int)response.StatusCode;
                wait = response.Headers.RetryAfter?.Delta ?? TimeSpan.Zero;
                var temporary = status == 429 || status >= 500;
                if (!temporary || n == 4 || wait > TimeSpan.FromSeconds(30))
                    throw new InvalidOperationException($"submit {eventId}: {status} {text}");
            }
            catch (Exception e) when (n < 4 && !cancel.IsCancellationRequested &&
                e is HttpRequestException or TaskCanceledException or JsonException)
            {
                // The increment may have been counted: the same event id makes it safe to send it again.
            }
            var jitter = Random.Shared.NextDouble() * Math.Min(200 * Math.Pow(2, n), 5000);
            await Task.Delay(wait + TimeSpan.FromMilliseconds(jitter), cancel);
        }
    }

    // Each try has a new timestamp, because a signature is valid for 60 seconds.
    private Task<HttpResponseMessage> Send(string userId, long delta, string eventId, CancellationToken cancel)
    {
        var timestamp = DateTime.UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);
        var text = string.Create(CultureInfo.InvariantCulture, $"{userId}|{delta}|{eventId}|{timestamp}");
        var body = JsonSerializer.Serialize(new Dictionary<string, object>
        {
            ["user_id"] = userId, ["delta"] = delta, ["event_id"] = eventId, ["timestamp"] = timestamp,
            ["key_id"] = keyId, ["signature"] = Sign(keySecret, text),
        });
        var request = new HttpRequestMessage(HttpMethod.Post, server + "/v1/scores/increment")
        {
            Content = new StringContent(body, Encoding.UTF8, "application/json"),
        };
        request.Headers.Add("Authorization", "Bearer " + token);
        return http.SendAsync(request, cancel);
    }

    /// <summary>The HMAC-SHA256 of a text, in hex. The secret is used as it was shown.</summary>
    public static string Sign(string secret, string text) => Convert.ToHexString(
        HMACSHA256.HashData(Encoding.UTF8.GetBytes(secret), Encoding.UTF8.GetBytes(text))).ToLowerInvariant();
}
