using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>A request of the API; each try builds a new one.</summary>
    internal sealed class Call
    {
        internal string Method = "GET";
        internal string Path;
        internal Query Query = new Query();
        internal Func<string> Body; // of a try; JSON
        internal bool Sign; // in the headers
        internal bool RespondAsync;
        internal string EventId = "";
    }

    /// <summary>A query by parameter. Absent and empty values are left out.</summary>
    internal sealed class Query
    {
        private readonly StringBuilder text = new StringBuilder();

        internal Query Add(string name, string value)
        {
            if (string.IsNullOrEmpty(value)) return this;
            text.Append(text.Length == 0 ? '?' : '&').Append(name).Append('=').Append(Uri.EscapeDataString(value));
            return this;
        }

        internal Query Add(string name, long? value)
        {
            return value == null ? this : Add(name, value.Value.ToString(CultureInfo.InvariantCulture));
        }

        internal Query Add(string name, DateTimeOffset? value)
        {
            return value == null ? this : Add(name, Rfc3339.Exact(value.Value));
        }

        public override string ToString()
        {
            return text.ToString();
        }
    }

    /// <summary>Sends requests to one server.</summary>
    internal sealed class Calls
    {
        /// <summary>The maximum Retry-After that a call waits for.</summary>
        private static readonly TimeSpan MaxRetryAfter = TimeSpan.FromSeconds(30);

        internal readonly Settings Settings;
        internal readonly Jitter Jitter = new Jitter();
        private readonly bool stay;

        internal Calls(Settings settings)
        {
            Settings = settings;
            stay = settings.Stay;
        }

        internal IClock Clock
        {
            get { return Settings.Platform.Clock; }
        }

        /// <summary>Makes a call, with retries.</summary>
        internal async Task<T> SendAsync<T>(Call call, Func<JsonReader, T> read, CancellationToken cancel)
        {
            for (var n = 1;; n++)
            {
                ScoreboardException error;
                try
                {
                    return await TryAsync(call, read, cancel).ConfigureAwait(stay);
                }
                catch (ScoreboardException e)
                {
                    error = e;
                    error.Attempts = n;
                    if (error.EventId == "") error.EventId = call.EventId;
                    if (n >= Settings.Attempts || !error.Temporary || error.RetryAfter > MaxRetryAfter) throw;
                }
                await WaitAsync(error.RetryAfter + Jitter.Next(n - 1), call.EventId, cancel).ConfigureAwait(stay);
            }
        }

        /// <summary>Makes a call once.</summary>
        internal async Task<T> TryAsync<T>(Call call, Func<JsonReader, T> read, CancellationToken cancel)
        {
            if (cancel.IsCancellationRequested) throw new CallCanceledException(call.EventId, cancel);
            using (var ended = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                var exchange = ExchangeAsync(call, read, ended.Token);
                try
                {
                    // What does not heed its CancellationToken, such as a token source, is left behind.
                    var timeout = Clock.Delay(Settings.Timeout, ended.Token);
                    var over = await Task.WhenAny(exchange, timeout).ConfigureAwait(stay) != exchange;
                    if (cancel.IsCancellationRequested && (over || exchange.IsFaulted || exchange.IsCanceled))
                    {
                        throw new CallCanceledException(call.EventId, cancel);
                    }
                    if (over) throw Errors.Connection("no response within " + Settings.Timeout.TotalMilliseconds + " ms");
                    return await exchange.ConfigureAwait(stay);
                }
                catch (Exception e) when (!(e is ScoreboardException) && !(e is CallCanceledException))
                {
                    throw Errors.Wrap(call.Method + " " + call.Path, e);
                }
                finally
                {
                    ended.Cancel();
                    Forget(exchange);
                }
            }
        }

        private async Task<T> ExchangeAsync<T>(Call call, Func<JsonReader, T> read, CancellationToken cancel)
        {
            var text = call.Body?.Invoke();
            var body = text == null ? null : Encoding.UTF8.GetBytes(text);
            var target = call.Path + call.Query;
            var headers = await HeadersAsync("application/json", cancel).ConfigureAwait(stay);
            if (body != null) headers["Content-Type"] = "application/json";
            if (call.RespondAsync) headers["Prefer"] = "respond-async";
            if (call.Sign) AddSignature(headers, call.Method, target, body ?? new byte[0]);
            var request = new ApiRequest { Method = call.Method, Url = Settings.Server + target, Headers = headers, Body = body };
            using (var response = await Settings.Platform.Http.SendAsync(request, cancel).ConfigureAwait(stay))
            {
                var reply = await Body.ReadAsync(response, stay, cancel).ConfigureAwait(stay);
                if (response.Status < 200 || response.Status > 299) throw Errors.OfResponse(response, reply, Clock.Now);
                var reader = new JsonReader(reply.Bytes, reply.Length);
                var result = read(reader);
                reader.End();
                return result;
            }
        }

        /// <summary>The headers of all requests, streams included.</summary>
        internal async Task<Dictionary<string, string>> HeadersAsync(string accept, CancellationToken cancel)
        {
            var headers = new Dictionary<string, string> { { "Accept", accept } };
            if (!string.IsNullOrEmpty(Settings.Platform.UserAgent)) headers["User-Agent"] = Settings.Platform.UserAgent;
            var bearer = Settings.Token == null ? "" : await Settings.Token(cancel).ConfigureAwait(stay);
            if (!string.IsNullOrEmpty(bearer)) headers["Authorization"] = "Bearer " + bearer;
            return headers;
        }

        /// <summary>Waits for a time, unless the caller cancels.</summary>
        internal async Task WaitAsync(TimeSpan time, string eventId, CancellationToken cancel)
        {
            try
            {
                await Clock.Delay(time, cancel).ConfigureAwait(stay);
            }
            catch (OperationCanceledException)
            {
                throw new CallCanceledException(eventId, cancel);
            }
        }

        /// <summary>
        /// Escapes an id for a path. The ids "." and ".." cannot be sent in one: addresses resolve them, escaped or not.
        /// </summary>
        internal static string Segment(string id)
        {
            if (id == "." || id == "..")
            {
                throw new ScoreboardException("invalid_request", "the id \"" + id + "\" cannot be sent in a path");
            }
            return Uri.EscapeDataString(id);
        }

        /// <summary>Makes sure that a failure nobody waits for is not reported as unobserved.</summary>
        internal static void Forget(Task task)
        {
            task.ContinueWith(
                Observe, CancellationToken.None,
                TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
        }

        private static void Observe(Task task)
        {
            GC.KeepAlive(task.Exception);
        }

        private void AddSignature(Dictionary<string, string> headers, string method, string target, byte[] body)
        {
            if (Settings.KeyId == "") return;
            var timestamp = Clock.Now.ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture);
            var text = Signing.HeaderText(method, target, Settings.KeyId, timestamp, body);
            headers["X-Scoreboard-Key"] = Settings.KeyId;
            headers["X-Scoreboard-Timestamp"] = timestamp;
            headers["X-Scoreboard-Signature"] = "v1=" + Signing.Sign(Settings.KeySecret, text);
        }
    }
}
