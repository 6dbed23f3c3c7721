using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>What a watch does beyond the vectors.</summary>
    public static class WatchTests
    {
        private const string Message = "{\"type\":\"leaderboard.updated\",\"board\":\"global\",\"epoch\":7,\"version\":1,\"ts\":\"2026-11-21T12:00:00Z\",\"top\":[]}";

        [Test]
        public static void ASilentWebSocketIsTriedThenReplaced()
        {
            Virtual.Run(time =>
            {
                var streams = new Streams(time);
                var watch = NewWatch(time, time.Platform(streams, streams));
                WatchState last = null;
                var reading = MessagesTests.ReadAsync(watch, s => last = s.Copy());
                time.Drain();
                var socket = streams.Connects.Single();
                socket.Send(Message);
                time.Drain();
                Check.Equal(last.Connection.ToString(), "WebSocket", "connection");
                time.Pass(24000);
                Check.Equal(socket.Sent.Count, 0, "sent");
                time.Pass(2000);
                Check.Equal(socket.Sent, new[] { "unsubscribe", "subscribe" }, "sent");
                time.Pass(50000);
                Check.That(socket.Closed, "it is closed");
                Check.Equal(streams.Connects.Count, 2, "connects");
                watch.Dispose();
                time.Drain();
                Check.That(reading.IsCompleted && streams.Connects[1].Closed, "all has ended");
            });
        }

        [Test]
        public static void ASilentEventStreamIsReplaced()
        {
            Virtual.Run(time =>
            {
                var streams = new Streams(time);
                using (var watch = NewWatch(time, time.Platform(streams)))
                {
                    WatchState last = null;
                    Calls.Forget(MessagesTests.ReadAsync(watch, s => last = s.Copy()));
                    time.Drain();
                    streams.Connects[0].Send(Message);
                    for (var n = 0; n < 3; n++)
                    {
                        time.Pass(30000);
                        streams.Connects[0].Send(null); // the server's comment
                    }
                    time.Drain();
                    Check.Equal(streams.Connects.Count, 1, "connects");
                    Check.Equal((last.HeardAt - time.Now).Value.TotalSeconds, 0, "heard");
                    time.Pass(76000);
                    Check.Equal(streams.Connects.Count, 2, "connects");
                    Check.Equal(streams.Connects[1].Resume, "7:1", "resume");
                }
                time.Drain();
            });
        }

        [Test]
        public static void ASlowReaderGetsTheLatest()
        {
            Virtual.Run(time =>
            {
                var streams = new Streams(time);
                using (var watch = NewWatch(time, time.Platform(streams)))
                {
                    var first = watch.MoveNextAsync();
                    time.Drain();
                    for (var n = 1; n <= 5; n++)
                    {
                        streams.Connects[0].Send(Message.Replace("\"version\":1", "\"version\":" + n));
                        time.Drain();
                    }
                    Check.That(time.Wait(first), "a state");
                    Check.Equal(watch.Current.Version, 1, "the version read first");
                    var kept = watch.Current.Copy();
                    Check.That(time.Wait(watch.MoveNextAsync()), "a state");
                    Check.Equal(new[] { kept.Version, watch.Current.Version }, new[] { 1, 5 }, "versions");
                    var waits = watch.MoveNextAsync();
                    time.Pass(1000);
                    Check.That(!waits.IsCompleted, "nothing new");
                    watch.Dispose();
                    Check.That(!time.Wait(waits) && !time.Wait(watch.MoveNextAsync()), "the end");
                }
            });
        }

        /// <summary>
        /// A board whose rows change goes through the reader, the merge and the hand-over 100,000 times without a garbage
        /// collection, which 48 bytes for each would cause.
        /// </summary>
        [Test]
        public static void ALiveBoardAllocatesNothing()
        {
            var handed = new WatchState();
            var calls = new Calls(new Settings(new Options { Server = "https://scores.example.com" }));
            var watcher = new Watcher(calls, default(WatchQuery), s => handed.CopyFrom(s));
            var rows = Enumerable.Range(0, 10).Select(n => Row(n + 1, n, 100 - n));
            Feed(watcher, "{\"type\":\"leaderboard.updated\",\"board\":\"global\",\"epoch\":7,\"version\":0,\"ts\":\"2026-11-21T12:00:00Z\",\"top\":[" + string.Join(",", rows) + "]}");
            // Two deltas undo each other, but for their versions, of which the bytes are changed in place.
            var messages = new[] { Delta(0, 1), Delta(1, 0) };
            var before = 0;
            for (var n = 0; n < 101000; n++)
            {
                var message = messages[n % 2];
                Digits(message, "\"version\":", n + 1);
                Digits(message, "\"base\":", n);
                watcher.OnMessage(Connection.WebSocket, message, message.Length);
                if (n != 1000) continue;
                GC.Collect();
                before = GC.CollectionCount(0);
            }
            Check.Equal(GC.CollectionCount(0) - before, 0, "garbage collections");
            Check.Equal(handed.Version, 101000, "version");
            Check.Equal(handed.Top.Select(e => e.UserId), Enumerable.Range(0, 10).Select(n => "player-" + n), "rows");
            Check.Equal(handed.Top[0].DisplayName, "Zo\u00eb 0", "a name");
        }

        private static byte[] Delta(int first, int second)
        {
            var changed = Row(1, second, 100) + "," + Row(2, first, 99);
            return Encoding.UTF8.GetBytes("{\"type\":\"leaderboard.delta\",\"board\":\"global\",\"version\":000000,\"epoch\":7,\"ts\":\"2026-11-21T12:00:01.5Z\",\"base\":000000,\"changed\":[" + changed + "],\"removed\":[]}");
        }

        private static string Row(int rank, int user, int score)
        {
            return "{\"rank\":" + rank + ",\"user_id\":\"player-" + user + "\",\"score\":" + score + ",\"display_name\":\"Zo\u00eb " + user + "\"}";
        }

        private static void Digits(byte[] message, string field, int value)
        {
            var at = 0;
            for (var n = 0; n < field.Length; at++) n = message[at] == field[n] ? n + 1 : 0;
            for (var n = at + 5; n >= at; n--, value /= 10) message[n] = (byte)('0' + value % 10);
        }

        private static void Feed(Watcher watcher, string message)
        {
            var bytes = Encoding.UTF8.GetBytes(message);
            watcher.OnMessage(Connection.WebSocket, bytes, bytes.Length);
        }

        private static BoardWatch NewWatch(Virtual time, Platform platform)
        {
            return new ScoreboardClient(new Options { Server = "https://scores.example.com", Platform = platform }).Watch();
        }
    }
}
