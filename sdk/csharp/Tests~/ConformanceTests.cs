using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>The vectors of sdk/conformance, all but those of messages.</summary>
    public static class ConformanceTests
    {
        private const string Server = "https://scores.example.com";

        [Test]
        public static void Signatures()
        {
            Vector.Each("signatures.json", "fields", v =>
            {
                var i = v.Get("increment");
                var boards = i.Has("board") ? new[] { i.Text("board") } : i.Texts("boards");
                var text = Signing.FieldText(
                    i.Text("user_id"), i.Long("delta"), i.Text("event_id"), i.Text("timestamp"), boards, i.Text("action"));
                Check.Equal(text, v.Text("text"), "text");
                Check.Equal(Signing.Sign(v.Text("secret"), text), v.Text("signature"), "signature");
            });
            Vector.Each("signatures.json", "headers", v =>
            {
                var body = Encoding.UTF8.GetBytes(v.Text("body"));
                var text = Signing.HeaderText(
                    v.Text("method"), v.Text("target"), v.Text("key_id"), v.Text("timestamp"), body);
                Check.Equal(text, v.Text("text"), "text");
                Check.Equal("v1=" + Signing.Sign(v.Text("secret"), text), v.Text("signature"), "signature");
            });
        }

        [Test]
        public static void Failures()
        {
            Vector.Each("errors.json", "cases", v =>
            {
                v.Only("name", "now", "response", "error");
                var now = v.Has("now") ? DateTimeOffset.Parse(v.Text("now"), CultureInfo.InvariantCulture) : (DateTimeOffset?)null;
                Virtual.Run(time =>
                {
                    var response = v.Get("response").Fields;
                    response["text"] = response["body"];
                    response.Remove("body");
                    var script = new Script(time, new[] { response });
                    CheckError(v.Get("error"), FailureOf(time, NewClient(time, script, 1).TopAsync()));
                    Check.Equal(script.Seen.Count, 1, "requests");
                }, now);
            });
        }

        [Test]
        public static void Retries()
        {
            Vector.Each("retries.json", "cases", v => Virtual.Run(time =>
            {
                v.Only("name", "call", "attempts", "responses", "expect");
                var expect = v.Get("expect");
                expect.Only("requests", "waits", "result", "error");
                var script = new Script(time, v.List("responses"));
                var call = Perform(NewClient(time, script, (int)v.Long("attempts")), v.Get("call"));
                time.Until(() => call.IsCompleted);
                Check.Equal(script.Seen.Count, expect.Long("requests"), "requests");
                var waits = expect.List("waits");
                Check.Equal(waits.Count, expect.Long("requests") - 1, "waits");
                for (var n = 0; n < waits.Count; n++)
                {
                    var bounds = new Vector(waits[n]);
                    var waited = script.Seen[n + 1].At - script.Seen[n].At;
                    var within = waited >= bounds.Long("min_ms") && waited <= bounds.Long("max_ms");
                    Check.That(within, "waited " + waited + " ms, want " + Json.Write(bounds.Fields));
                }
                var ids = script.Seen.Select(s => IdOf(s.Body)).Distinct().ToList();
                Check.Equal(ids.Count, 1, "event ids");
                if (v.Get("call").Has("submit")) Check.That(ids[0] != "", "an event id");
                if (expect.Has("error")) CheckError(expect.Get("error"), FailureOf(time, call));
                else Contains(call.GetAwaiter().GetResult(), expect.Fields["result"], "result");
            }));
        }

        [Test]
        public static void Queued()
        {
            Vector.Each("queued.json", "cases", v => Virtual.Run(time =>
            {
                v.Only("name", "call", "responses", "expect");
                var expect = v.Get("expect");
                expect.Only("requests", "receipts", "error");
                var script = new Script(time, v.List("responses"));
                var call = Perform(NewClient(time, script, 1), v.Get("call"));
                time.Until(() => call.IsCompleted);
                var requests = script.Seen.Select(s => s.Request.Method + " " + s.Request.Url.Substring(Server.Length));
                Check.Equal(requests, expect.List("requests"), "requests");
                if (expect.Has("error"))
                {
                    CheckError(expect.Get("error"), FailureOf(time, call));
                    return;
                }
                var result = call.GetAwaiter().GetResult();
                var receipts = result as IEnumerable<Receipt>
                    ?? new[] { (Receipt)result }.Concat(((Receipt)result).Matched);
                Check.Equal(receipts.Select(r => r.Board), expect.List("receipts"), "receipts");
            }));
        }

        [Test]
        public static void Receipts()
        {
            Vector.Each("receipts.json", "cases", v => Virtual.Run(time =>
            {
                v.Only("name", "body", "event");
                var client = NewClient(time, new Script(time, Answers(v.Fields["body"])), 1);
                var e = time.Wait(client.ReceiptAsync("match-7"));
                Check.Equal(new Dictionary<string, object>
                {
                    { "id", e.Id }, { "status", e.Status }, { "boards", e.Receipts.Select(r => r.Board) }, { "code", e.Code },
                    { "message", e.Message },
                }, v.Fields["event"], "event");
            }));
        }

        [Test]
        public static void Cursors()
        {
            Vector.Each("cursors.json", "cases", v => Virtual.Run(time =>
            {
                v.Only("name", "query", "pages", "requests", "users");
                var script = new Script(time, Answers(v.List("pages").ToArray()));
                var query = v.Get("query");
                query.Only("board", "limit");
                var users = new List<string>();
                var rows = NewClient(time, script, 1).Entries(
                    new TopQuery { Board = query.Text("board"), Limit = (int)query.Long("limit") });
                while (time.Wait(rows.MoveNextAsync())) users.Add(rows.Current.UserId);
                Check.Equal(users, v.List("users"), "users");
                Check.Equal(script.Seen.Select(s => s.Query), v.List("requests"), "requests");
            }));
        }

        [Test]
        public static void Requests()
        {
            Vector.Each("requests.json", "cases", v => Virtual.Run(time =>
            {
                v.Only("name", "prefix", "call", "method", "path", "query", "body", "signed");
                var script = new Script(time, new[] { new Dictionary<string, object> { { "status", 500L } } });
                var options = new Options
                {
                    Server = Server + v.Text("prefix"), Attempts = 1, Platform = time.Platform(script),
                };
                if (v.Has("signed"))
                {
                    options.KeyId = v.Get("signed").Text("key_id");
                    options.KeySecret = v.Get("signed").Text("secret");
                }
                FailureOf(time, Perform(new ScoreboardClient(options), v.Get("call"))); // the response does not matter
                Check.Equal(script.Seen.Count, 1, "requests");
                var seen = script.Seen[0];
                Check.That(seen.Request.Url.StartsWith(options.Server + "/v1/", StringComparison.Ordinal), seen.Request.Url);
                var target = seen.Request.Url.Substring(options.Server.Length);
                if (v.Has("signed")) CheckSignature(v.Get("signed"), seen, target);
                CheckTimes(v, seen, time);
                Check.Equal(seen.Request.Method, v.Text("method"), "method");
                var path = target.Split('?')[0].Substring(1).Split('/').Select(Uri.UnescapeDataString);
                Check.Equal(path, v.List("path"), "path");
                Check.Equal(seen.Query, v.Fields["query"], "query");
                Check.Equal(seen.Body, v.Has("body") ? v.Fields["body"] : null, "body");
            }));
        }

        /// <summary>Checks the signature of a request, and removes it from the body.</summary>
        private static void CheckSignature(Vector signed, Seen seen, string target)
        {
            signed.Only("key_id", "secret", "scheme");
            if (signed.Text("scheme") == "fields")
            {
                var body = new Vector(seen.Body);
                var boards = body.Has("board") ? new[] { body.Text("board") } : body.Texts("boards");
                var text = Signing.FieldText(
                    body.Text("user_id"), body.Long("delta"), body.Text("event_id"), body.Text("timestamp"), boards,
                    body.Text("action"));
                Check.Equal(body.Text("key_id"), signed.Text("key_id"), "key");
                Check.Equal(body.Text("signature"), Signing.Sign(signed.Text("secret"), text), "signature");
                Check.Equal(seen.Header("X-Scoreboard-Signature"), "", "signature in the headers");
                seen.Body.Remove("key_id");
                seen.Body.Remove("signature");
                return;
            }
            var timestamp = seen.Header("X-Scoreboard-Timestamp");
            var header = Signing.HeaderText(
                seen.Request.Method, target, signed.Text("key_id"), timestamp, Encoding.UTF8.GetBytes(seen.Text));
            Check.Equal(seen.Header("X-Scoreboard-Key"), signed.Text("key_id"), "key");
            Check.Equal(seen.Header("X-Scoreboard-Signature"), "v1=" + Signing.Sign(signed.Text("secret"), header), "signature");
            Check.That(Math.Abs(long.Parse(timestamp) - DateTimeOffset.UtcNow.ToUnixTimeSeconds()) < 60, timestamp);
        }

        /// <summary>Replaces the times of increments.</summary>
        private static void CheckTimes(Vector v, Seen seen, Virtual time)
        {
            if (seen.Body == null) return;
            var increments = new Vector(seen.Body).List("items").Cast<Dictionary<string, object>>().ToList();
            if (v.Get("call").Has("submit") || v.Get("call").Has("submit_boards")) increments.Add(seen.Body);
            foreach (var increment in increments)
            {
                var stamp = (string)increment["timestamp"];
                Check.That(Regex.IsMatch(stamp, @"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), stamp);
                var at = DateTimeOffset.Parse(stamp, CultureInfo.InvariantCulture);
                Check.That(Math.Abs((at - time.Now).TotalSeconds) < 60, stamp);
                increment["timestamp"] = "$timestamp";
            }
        }

        private static ScoreboardClient NewClient(Virtual time, IApiTransport http, int attempts)
        {
            return new ScoreboardClient(new Options { Server = Server, Attempts = attempts, Platform = time.Platform(http) });
        }

        private static IEnumerable<object> Answers(params object[] bodies)
        {
            return bodies.Select(b => new Dictionary<string, object> { { "body", b } });
        }

        private static string IdOf(Dictionary<string, object> body)
        {
            return body != null && body.ContainsKey("event_id") ? (string)body["event_id"] : "";
        }

        private static ScoreboardException FailureOf<T>(Virtual time, Task<T> call)
        {
            time.Until(() => call.IsCompleted);
            return Check.Throws<ScoreboardException>(() => call.GetAwaiter().GetResult());
        }

        private static void CheckError(Vector want, ScoreboardException e)
        {
            var got = new Dictionary<string, object>
            {
                { "status", e.Status }, { "code", e.Code }, { "message", e.Message }, { "field", e.Field },
                { "reason", e.Reason }, { "event_id", e.EventId }, { "request_id", e.RequestId },
                { "retry_after_ms", e.RetryAfter.TotalMilliseconds }, { "would_rank", e.WouldRank },
                { "next_reset", e.NextReset },
                { "attempts", e.Attempts }, { "temporary", e.Temporary }, { "next_step", e.NextStep },
            };
            want.Only(got.Keys.ToArray());
            foreach (var field in want.Fields) Check.Equal(got[field.Key], field.Value, field.Key);
        }

        /// <summary>Compares the fields that want has.</summary>
        private static void Contains(object got, object want, string at)
        {
            if (want is Dictionary<string, object>)
            {
                foreach (var field in (Dictionary<string, object>)want)
                {
                    var name = Regex.Replace(field.Key, "(?:^|_)(.)", m => m.Groups[1].Value.ToUpperInvariant());
                    var property = got.GetType().GetProperty(name);
                    Check.That(property != null, at + " has no " + name);
                    Contains(property.GetValue(got), field.Value, at + "." + field.Key);
                }
                return;
            }
            if (want is List<object>)
            {
                var items = ((System.Collections.IEnumerable)got).Cast<object>().ToList();
                var wanted = (List<object>)want;
                Check.Equal(items.Count, wanted.Count, at);
                for (var n = 0; n < wanted.Count; n++) Contains(items[n], wanted[n], at + "[" + n + "]");
                return;
            }
            if (got is DateTimeOffset) got = Rfc3339.Exact((DateTimeOffset)got);
            Check.Equal(got, want, at);
        }

        /// <summary>What a vector says of a result of a batch that has no receipt.</summary>
        private sealed class FailedResult
        {
            public string Code { get; set; }
            public string Field { get; set; }
            public string EventId { get; set; }
        }

        private sealed class BatchResults
        {
            public List<object> Results { get; set; }
        }

        private static Increment IncrementOf(Vector v)
        {
            v.Only("user_id", "delta", "event_id", "board", "boards", "action", "action_token", "attestation", "attributes",
                "if_period", "metadata", "subscore");
            return new Increment
            {
                UserId = v.Text("user_id"), Delta = v.Long("delta"), EventId = v.Text("event_id"), Board = v.Text("board"),
                Action = v.Text("action"), ActionToken = v.Text("action_token"), Attestation = v.Text("attestation"),
                Attributes = v.Has("attributes")
                    ? v.Get("attributes").Fields.ToDictionary(f => f.Key, f => (string)f.Value) : null,
                IfPeriod = v.Text("if_period"), Metadata = v.Has("metadata") ? Json.Write(v.Fields["metadata"]) : null,
                Subscore = v.Has("subscore") ? (long?)v.Long("subscore") : null,
            };
        }

        private static PlaceQuery PlaceOf(Vector v)
        {
            v.Only("user_id", "board", "neighbours", "min_version");
            return new PlaceQuery
            {
                Board = v.Text("board"), Neighbours = (int)v.Long("neighbours"), MinVersion = v.Long("min_version"),
            };
        }

        /// <summary>Makes a call.</summary>
        private static async Task<object> Perform(ScoreboardClient client, Vector call)
        {
            Check.Equal(call.Fields.Count, 1, "calls");
            var kind = call.Fields.Keys.Single();
            if (kind == "batch")
            {
                var increments = call.List("batch").Select(i => IncrementOf(new Vector(i))).ToList();
                var results = await client.SubmitBatchAsync(increments);
                return new BatchResults
                {
                    Results = results.Select(r => r.Receipt ?? (object)new FailedResult
                    {
                        Code = r.Error.Code, Field = r.Error.Field, EventId = r.Error.EventId,
                    }).ToList(),
                };
            }
            var v = call.Get(kind);
            switch (kind)
            {
                case "submit": return await client.SubmitAsync(IncrementOf(v));
                case "submit_boards": return await client.SubmitBoardsAsync(IncrementOf(v), v.Texts("boards"));
                case "top":
                    v.Only("board", "limit", "min_version");
                    return await client.TopAsync(new TopQuery
                    {
                        Board = v.Text("board"), Limit = (int)v.Long("limit"), MinVersion = v.Long("min_version"),
                    });
                case "me": return await client.MeAsync(PlaceOf(v));
                case "score": return await client.ScoreAsync(v.Text("user_id"), PlaceOf(v));
                case "rank": return await client.RankAsync(v.Text("user_id"), PlaceOf(v));
                case "users":
                    v.Only("board", "user_ids");
                    return await client.UsersAsync(v.Texts("user_ids"), v.Text("board"));
                case "action":
                    v.Only("user_id", "board", "action");
                    return await client.StartActionAsync(new ActionRequest
                    {
                        UserId = v.Text("user_id"), Board = v.Text("board"), Action = v.Text("action"),
                    });
                case "receipt":
                    v.Only("event_id", "user_id");
                    return await client.ReceiptAsync(v.Text("event_id"), v.Text("user_id"));
                default: throw new TestFailure("unknown call " + kind);
            }
        }
    }
}
