using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>What a client does not trust: endless responses, tokens that never come, foreign JSON, keys in games.</summary>
    public static class BoundsTests
    {
        private const string Server = "https://scores.example.com";

        [Test]
        public static void AResponseIsBounded()
        {
            Virtual.Run(time =>
            {
                var endless = new Endless("application/json", " ");
                var call = NewClient(time, endless).TopAsync();
                var error = Failure(time, call);
                Check.That(error.Message.Contains("over 4194304 bytes"), error.Message);
                Check.That(endless.Disposed && endless.Bytes < 9 << 20, "the response is closed");
            });
        }

        [Test]
        public static void AnEventIsBounded()
        {
            Virtual.Run(time =>
            {
                var endless = new Endless("text/event-stream", "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n");
                using (var watch = NewClient(time, endless).Watch())
                {
                    Check.That(time.Wait(watch.MoveNextAsync()), "a state");
                    Check.That(watch.Current.Error.Message.Contains("over 1048576 bytes"), watch.Current.Error.Message);
                    Check.That(endless.Disposed && endless.Bytes < 4 << 20, "the stream is closed");
                }
            });
        }

        [Test]
        public static void ATokenThatNeverComesIsBounded()
        {
            Virtual.Run(time =>
            {
                var fetched = 0;
                var token = new RenewingToken(
                    cancel => fetched++ == 0
                        ? new TaskCompletionSource<IssuedToken>().Task
                        : Task.FromResult(new IssuedToken { Token = "t", ExpiresAt = time.Now.AddSeconds(60) }),
                    time.Platform(null));
                var script = new Script(time, new[] { Answer("{}"), Answer("{}") });
                var client = new ScoreboardClient(new Options
                {
                    Server = Server, Attempts = 1, TokenSource = token.GetAsync, Platform = time.Platform(script),
                });
                var error = Failure(time, client.TopAsync());
                Check.That(error.Message.Contains("no response within 10000 ms"), error.Message);
                Check.Equal(time.Elapsed, 10000, "time");
                time.Wait(client.TopAsync()); // fetches again
                time.Wait(client.TopAsync()); // knows it
                Check.Equal(script.Seen.Select(s => s.Header("Authorization")), new[] { "Bearer t", "Bearer t" }, "tokens");
                Check.Equal(fetched, 2, "fetches");
                time.Pass(31000); // less than 30 s before it expires
                Failure(time, client.TopAsync()); // not scripted
                Check.Equal(fetched, 3, "fetches");
            });
        }

        [Test]
        public static void JsonIsReadExactly()
        {
            const string text = " {\"a\": [1, -2.0e1, true, null, {\"b\": {}}], \"text\":\"\\u00e9\\ud83c\\udfae\\\"\\\\\\n\u00ef\", \"n\": 9007199254740991}";
            var bytes = Encoding.UTF8.GetBytes(text);
            var r = new JsonReader(bytes, bytes.Length);
            r.BeginObject();
            Check.That(r.NextField() && r.Is("a") && !r.Is("b"), "a");
            r.BeginArray();
            Check.That(r.NextItem() && r.Long() == 1 && r.NextItem() && r.Long() == -20 && r.NextItem() && r.Bool(), "items");
            Check.That(r.NextItem() && r.Null() && r.NextItem(), "null");
            r.Skip();
            Check.That(!r.NextItem() && r.NextField(), "the end of the list");
            Check.Equal(r.Text(), "\u00e9\ud83c\udfae\"\\\n\u00ef", "text");
            Check.That(r.NextField() && r.Long() == 9007199254740991 && !r.NextField(), "the end");
            r.End();
        }

        [Test]
        public static void JsonThatIsNoneIsAnError()
        {
            foreach (var text in new[]
            {
                "", "{", "{\"a\"}", "{\"a\":1 \"b\":2}", "{\"a\":1,}", "[1 2]", "{\"a\":tru}", "{\"a\":\"x", "{\"a\":\"\\x\"}",
                "{\"a\":1}x", "{\"a\":-}", "{a:1}", "{\"a\":\"\n\"}", new string('[', 100), "{\"a\":\"\\u12\"}",
            })
            {
                Check.Throws<FormatException>(() =>
                {
                    var bytes = Encoding.UTF8.GetBytes(text);
                    var r = new JsonReader(bytes, bytes.Length);
                    r.Skip();
                    r.End();
                });
            }
        }

        [Test]
        public static void TimesAreReadExactly()
        {
            foreach (var pair in new[]
            {
                new[] { "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z" },
                new[] { "2026-11-21T13:00:00.250+01:00", "2026-11-21T12:00:00.25Z" },
                new[] { "2026-11-21T12:00:00.123456789Z", "2026-11-21T12:00:00.1234567Z" },
                new[] { "2026-11-21T00:30:00-09:30", "2026-11-21T10:00:00Z" },
                new[] { "2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z" },
            })
            {
                DateTimeOffset time;
                Check.That(Rfc3339.TryParse(Encoding.ASCII.GetBytes(pair[0]), pair[0].Length, out time), pair[0]);
                Check.Equal(Rfc3339.Exact(time), pair[1], pair[0]);
            }
            foreach (var text in new[] { "", "2026-11-21", "2026-13-21T12:00:00Z", "2026-02-30T12:00:00Z", "2026-11-21T12:00:00", "2026-11-21T12:00:00+1:00", "2026-11-21 12-00-00Z" })
            {
                DateTimeOffset time;
                Check.That(!Rfc3339.TryParse(Encoding.ASCII.GetBytes(text), text.Length, out time), text);
            }
        }

        [Test]
        public static void AKeyIsNotForPlayers()
        {
            var options = new Options { Server = Server, KeyId = "k", KeySecret = "s" };
            new ScoreboardClient(options); // on a server
            options.Platform.ForPlayers = true;
            var error = Check.Throws<ArgumentException>(() => new ScoreboardClient(options));
            Check.That(error.Message.Contains("AllowKeyInClient"), error.Message);
            options.AllowKeyInClient = true;
            new ScoreboardClient(options);
            new ScoreboardClient(new Options { Server = Server, Platform = options.Platform });
            Check.Throws<ArgumentException>(() => new ScoreboardClient(new Options { Server = Server, KeyId = "k" }));
        }

        [Test]
        public static void AddressesAreChecked()
        {
            foreach (var server in new[] { "scores.example.com", "ftp://scores.example.com", "https://a:b@scores.example.com", "" })
            {
                Check.Throws<ArgumentException>(() => new ScoreboardClient(server, "t"));
            }
            Check.Equal(Check.Throws<ScoreboardException>(() => new ScoreboardClient(Server, "t").ScoreAsync("..")).Code, "invalid_request", "code");
        }

        [Test]
        public static void EventIdsSortByTime()
        {
            var now = DateTimeOffset.UtcNow;
            var ids = Enumerable.Range(0, 100).Select(n => EventIds.At(now.AddMilliseconds(n))).ToList();
            Check.Equal(ids.OrderBy(i => i, StringComparer.Ordinal), ids, "order");
            foreach (var id in ids)
            {
                Check.That(System.Text.RegularExpressions.Regex.IsMatch(id, "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"), id);
            }
            Check.Equal(ids.Select(i => i.Substring(15)).Distinct().Count(), 100, "random parts");
        }

        [Test]
        public static void ACallIsCancelled()
        {
            Virtual.Run(time =>
            {
                var client = NewClient(time, new Streams(time));
                using (var cancel = new CancellationTokenSource())
                {
                    // A stream as a response: its body never ends.
                    var call = client.SubmitAsync(new Increment { UserId = "a", Delta = 1, EventId = "kept" }, cancel.Token);
                    time.Pass(100);
                    Check.That(!call.IsCompleted, "it waits");
                    cancel.Cancel();
                    time.Drain();
                    Check.Equal(Check.Throws<CallCanceledException>(() => call.GetAwaiter().GetResult()).EventId, "kept", "event id");
                    var again = client.TopAsync(default(TopQuery), cancel.Token);
                    time.Drain();
                    Check.Throws<OperationCanceledException>(() => again.GetAwaiter().GetResult());
                }
                Check.Equal(time.Timers, 0, "timers");
            });
        }

        internal static ScoreboardException Failure<T>(Virtual time, Task<T> call)
        {
            time.Until(() => call.IsCompleted);
            return Check.Throws<ScoreboardException>(() => call.GetAwaiter().GetResult());
        }

        private static ScoreboardClient NewClient(Virtual time, IApiTransport http)
        {
            return new ScoreboardClient(new Options { Server = Server, Attempts = 1, Platform = time.Platform(http) });
        }

        private static object Answer(string text)
        {
            return new Dictionary<string, object> { { "text", text } };
        }

        /// <summary>A response that never ends, once; then there is no connection.</summary>
        private sealed class Endless : IApiTransport, IApiResponse
        {
            public bool Disposed;
            public long Bytes;
            private readonly string type;
            private readonly byte[] piece;
            private int sent;

            public Endless(string type, string text)
            {
                this.type = type;
                piece = Encoding.ASCII.GetBytes(text);
            }

            public int Status
            {
                get { return 200; }
            }

            public Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
            {
                if (sent++ > 0) throw new IOException("offline");
                return Task.FromResult<IApiResponse>(this);
            }

            public string Header(string name)
            {
                return name == "Content-Type" ? type : "";
            }

            public Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
            {
                for (var n = 0; n < count; n++) buffer[offset + n] = piece[(Bytes + n) % piece.Length];
                Bytes += count;
                return Task.FromResult(count);
            }

            public void Dispose()
            {
                Disposed = true;
            }
        }
    }
}
