using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>
    /// The vectors of messages. The client always asks for deltas, so it runs all of them over such a stream: once over
    /// server-sent events, once over WebSockets.
    /// </summary>
    public static class MessagesTests
    {
        [Test]
        public static void OverEventStream()
        {
            Vector.Each("frames.json", "cases", v => Virtual.Run(time =>
            {
                var streams = new Streams(time);
                Run(v, time, time.Platform(streams), streams.Connects);
            }));
        }

        [Test]
        public static void OverWebSocket()
        {
            Vector.Each("frames.json", "cases", v =>
            {
                // A ping of a WebSocket is not shown to programs.
                if (v.List("steps").Any(s => new Vector(s).Has("keepalive"))) return;
                Virtual.Run(time =>
                {
                    var streams = new Streams(time);
                    Run(v, time, time.Platform(streams, streams), streams.Connects);
                });
            });
        }

        private static void Run(Vector v, Virtual time, Platform platform, List<Connect> connects)
        {
            v.Only("name", "delta", "steps", "resume");
            var client = new ScoreboardClient(new Options { Server = "https://scores.example.com", Platform = platform });
            using (var watch = client.Watch(new WatchQuery { Board = "global" }))
            {
                WatchState last = null;
                var reading = ReadAsync(watch, s => last = s.Copy());
                time.Until(() => connects.Count == 1);
                var streams = 1;
                var n = 0;
                foreach (var step in v.List("steps").Select(s => new Vector(s)))
                {
                    step.Only("at_ms", "frame", "keepalive", "state", "resync", "reconnect");
                    if (step.Long("at_ms") > time.Elapsed) time.Pass(step.Long("at_ms") - time.Elapsed);
                    connects[streams - 1].Send(step.True("keepalive") ? null : Json.Write(step.Fields["frame"]));
                    var asked = time.Elapsed;
                    if (step.Has("reconnect") || step.Has("resync"))
                    {
                        time.Until(() => connects.Count > streams);
                        var waited = connects[streams++].At - asked;
                        var bounds = step.Has("reconnect") ? step.Get("reconnect") : null;
                        var within = waited >= (bounds == null ? 0 : bounds.Long("min_ms"))
                            && waited <= (bounds == null ? Virtual.Step : bounds.Long("max_ms") + Virtual.Step);
                        Check.That(within, "step " + n + ": waited " + waited + " ms");
                    }
                    else
                    {
                        time.Drain();
                        Check.That(last != null, "a state");
                        Check.Equal(FieldsOf(last), step.Fields["state"], "step " + n);
                    }
                    n++;
                }
                if (streams == 1)
                {
                    connects[0].End();
                    time.Until(() => connects.Count > 1);
                    streams++;
                }
                Check.Equal(connects[streams - 1].Resume, v.Text("resume"), "resume");
                Check.Equal(connects[0].Delta, "1", "delta");
                watch.Dispose();
                time.Drain();
                Check.That(reading.IsCompleted, "the watch has ended");
                Check.Equal(time.Timers, 0, "timers");
            }
        }

        internal static async Task ReadAsync(BoardWatch watch, Action<WatchState> show)
        {
            while (await watch.MoveNextAsync()) show(watch.Current);
        }

        private static Dictionary<string, object> FieldsOf(WatchState s)
        {
            var fields = new Dictionary<string, object>
            {
                { "board", s.Board }, { "epoch", s.Epoch }, { "version", s.Version }, { "degraded", s.Degraded },
                { "top", s.Top.Select(RowOf) },
            };
            if (s.Me != null)
            {
                fields["me"] = new Dictionary<string, object>
                {
                    { "user_id", s.Me.UserId }, { "score", s.Me.Score }, { "rank", s.Me.Rank },
                    { "previous_rank", s.Me.PreviousRank },
                };
                if (s.Me.Subscore != null) ((Dictionary<string, object>)fields["me"])["subscore"] = s.Me.Subscore;
            }
            if (s.Tier != null)
            {
                fields["tier"] = new Dictionary<string, object>
                {
                    { "user_id", s.Tier.UserId }, { "tier", s.Tier.Tier }, { "previous_tier", s.Tier.PreviousTier },
                };
            }
            return fields;
        }

        private static Dictionary<string, object> RowOf(Entry e)
        {
            var row = new Dictionary<string, object> { { "rank", e.Rank }, { "user_id", e.UserId }, { "score", e.Score } };
            if (e.Subscore != null) row["subscore"] = e.Subscore;
            if (e.DisplayName != "") row["display_name"] = e.DisplayName;
            if (e.AvatarUrl != "") row["avatar_url"] = e.AvatarUrl;
            if (e.Private) row["private"] = true;
            return row;
        }
    }

    /// <summary>A stream that a test feeds.</summary>
    public sealed class Connect : IApiResponse, ISocket
    {
        public readonly long At;
        public readonly List<string> Sent = new List<string>(); // by the client
        public bool Closed;
        private readonly Queue<byte[]> pieces = new Queue<byte[]>();
        private readonly Dictionary<string, object> query;
        private readonly bool socket;
        private TaskCompletionSource<bool> waiting = new TaskCompletionSource<bool>();

        public Connect(long at, string url, bool socket)
        {
            At = at;
            query = new Seen { Request = new ApiRequest { Url = url } }.Query;
            this.socket = socket;
        }

        public string Resume
        {
            get { return query.ContainsKey("last_event_id") ? (string)query["last_event_id"] : ""; }
        }

        public string Delta
        {
            get { return query.ContainsKey("delta") ? (string)query["delta"] : ""; }
        }

        public int Status
        {
            get { return 200; }
        }

        public string Header(string name)
        {
            return name == "Content-Type" ? "text/event-stream" : "";
        }

        /// <summary>Sends a message; null for a keepalive.</summary>
        public void Send(string message)
        {
            var text = socket ? message : message == null ? ": ping\n\n" : "event: x\nid: 1:1\ndata: " + message + "\n\n";
            pieces.Enqueue(Encoding.UTF8.GetBytes(text));
            waiting.TrySetResult(true);
        }

        public void End()
        {
            pieces.Enqueue(new byte[0]);
            waiting.TrySetResult(true);
        }

        public async Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancel)
        {
            // In small pieces, as a network may deliver it.
            var piece = await NextAsync(Math.Min(count, 100), cancel);
            Buffer.BlockCopy(piece, 0, buffer, offset, piece.Length);
            return piece.Length;
        }

        public async Task<SocketPiece> ReceiveAsync(byte[] buffer, int offset, CancellationToken cancel)
        {
            var piece = await NextAsync(Math.Min(buffer.Length - offset, 100), cancel);
            if (piece.Length == 0) return new SocketPiece { Closed = true, CloseCode = 1006, CloseReason = "" };
            Buffer.BlockCopy(piece, 0, buffer, offset, piece.Length);
            return new SocketPiece { Count = piece.Length, EndOfMessage = whole };
        }

        public Task SendAsync(string message, CancellationToken cancel)
        {
            Sent.Add(new Vector(Json.Parse(message)).Text("type"));
            return Task.FromResult(true);
        }

        public void Dispose()
        {
            Closed = true;
        }

        private byte[] rest = new byte[0];
        private bool whole;

        private async Task<byte[]> NextAsync(int count, CancellationToken cancel)
        {
            if (rest.Length == 0)
            {
                using (cancel.Register(() => waiting.TrySetCanceled()))
                {
                    while (pieces.Count == 0)
                    {
                        await waiting.Task;
                        waiting = new TaskCompletionSource<bool>();
                    }
                }
                rest = pieces.Dequeue();
            }
            var piece = rest.Take(count).ToArray();
            rest = rest.Skip(count).ToArray();
            whole = rest.Length == 0;
            return piece;
        }
    }

    /// <summary>Opens streams that a test feeds.</summary>
    public sealed class Streams : IApiTransport, ISocketTransport
    {
        public readonly List<Connect> Connects = new List<Connect>();
        private readonly Virtual time;

        public Streams(Virtual time)
        {
            this.time = time;
        }

        public Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
        {
            Connects.Add(new Connect(time.Elapsed, request.Url, false));
            return Task.FromResult<IApiResponse>(Connects.Last());
        }

        public Task<ISocket> ConnectAsync(string url, CancellationToken cancel)
        {
            Connects.Add(new Connect(time.Elapsed, url, true));
            return Task.FromResult<ISocket>(Connects.Last());
        }
    }
}
