using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Follows one board: over streams or, where they do not work, by polling.</summary>
    internal sealed class Watcher
    {
        private static readonly TimeSpan PollMin = TimeSpan.FromSeconds(1);
        private static readonly TimeSpan PollMax = TimeSpan.FromSeconds(3);
        private static readonly TimeSpan PollFor = TimeSpan.FromSeconds(5); // before streams are tried again, at first
        private static readonly TimeSpan PollForMax = TimeSpan.FromSeconds(60);
        private static readonly TimeSpan MaxReconnectAfter = TimeSpan.FromSeconds(30);
        private static readonly TimeSpan MinReconnectAfter = TimeSpan.FromMilliseconds(200);

        internal readonly Calls Calls;
        internal readonly WatchQuery Query;
        internal readonly BoardState Board;
        internal bool Received; // whether the current stream has sent anything
        private readonly Action<WatchState> put;
        private readonly bool stay;
        private readonly JsonReader reader = new JsonReader(new StringCache());
        private readonly StreamMessage message = new StreamMessage();
        private readonly Rows polled = new Rows();
        private bool connected; // ever
        private Exception streamError;
        private TimeSpan? reconnectAfter; // set by what ends a stream
        private DateTimeOffset? resyncedAt;

        internal Watcher(Calls calls, WatchQuery query, Action<WatchState> put)
        {
            Calls = calls;
            Query = query;
            this.put = put;
            stay = calls.Settings.Stay;
            Board = new BoardState(string.IsNullOrEmpty(query.Board) ? "global" : query.Board, calls.Clock);
        }

        /// <summary>What a stream of this watch asks for.</summary>
        internal Query StreamQuery
        {
            get
            {
                var query = new Query().Add("board", Query.Board).Add("limit", Limit);
                return query.Add("delta", "1").Add("last_event_id", Board.Resume);
            }
        }

        private long? Limit
        {
            get { return Query.Limit == 0 ? (long?)null : Query.Limit; }
        }

        /// <summary>Ends by being cancelled, or fails when a poll, the last resort, is rejected.</summary>
        internal async Task RunAsync(CancellationToken cancel)
        {
            var pollFor = PollFor;
            for (var failures = 0;; failures++)
            {
                await LiveAsync(cancel).ConfigureAwait(stay);
                cancel.ThrowIfCancellationRequested();
                // Polling works and continues shortly.
                if (Board.State.Connection != Connection.Polling) Disconnected(streamError);
                var received = Received;
                if (received)
                {
                    failures = 0;
                    pollFor = PollFor;
                }
                var wait = reconnectAfter ?? Calls.Jitter.Next(failures);
                reconnectAfter = null;
                if (wait > TimeSpan.Zero) await Calls.WaitAsync(wait, "", cancel).ConfigureAwait(stay);
                if (received) continue;
                await PollAsync(pollFor, cancel).ConfigureAwait(stay);
                pollFor = pollFor + pollFor < PollForMax ? pollFor + pollFor : PollForMax;
            }
        }

        /// <summary>Handles a message of a stream. It fails if the message ends the stream.</summary>
        internal void OnMessage(Connection connection, byte[] data, int length)
        {
            reader.Reset(data, length);
            message.Fill(reader);
            switch (message.Type)
            {
                case "leaderboard.updated":
                    Heard(connection);
                    Board.Snapshot(message.Epoch, message.Version, message.Board, message.Top, message.At, message.Degraded);
                    break;
                case "leaderboard.delta":
                    Heard(connection);
                    if (!Board.Delta(message)) Resync();
                    break;
                case "user.rank.updated":
                    Heard(connection);
                    Board.Move(message);
                    break;
                case "user.tier.updated":
                    Heard(connection);
                    Board.Tier(message);
                    break;
                case "error": // about the stream itself, because commands of this client are valid
                    throw Errors.OfCode(message.ErrorCode, message.Message);
                case "bye":
                    Bye();
                    break;
                default: // of a newer protocol
                    Received = true;
                    return;
            }
            Received = true;
            put(Board.State);
        }

        /// <summary>Handles a message without a state: the state is still current.</summary>
        internal void OnKeepalive(Connection connection)
        {
            Received = true;
            Heard(connection);
            Board.Confirm();
            put(Board.State);
        }

        /// <summary>Follows the stream by WebSocket, else by server-sent events, until it breaks.</summary>
        private async Task LiveAsync(CancellationToken cancel)
        {
            Received = false;
            streamError = null;
            if (Calls.Settings.Platform.Socket != null)
            {
                await FollowAsync(new SocketStream(this), cancel).ConfigureAwait(stay);
            }
            if (!Received && !cancel.IsCancellationRequested)
            {
                await FollowAsync(new EventStream(this), cancel).ConfigureAwait(stay);
            }
        }

        private async Task FollowAsync(LiveStream stream, CancellationToken cancel)
        {
            try
            {
                await stream.FollowAsync(cancel).ConfigureAwait(stay);
            }
            catch (Exception e)
            {
                streamError = streamError ?? e;
            }
        }

        private void Bye()
        {
            // Wait at least a moment, even if the server did not ask for a delay.
            var wait = TimeSpan.FromMilliseconds(Math.Min(message.ReconnectAfterMs, MaxReconnectAfter.TotalMilliseconds));
            reconnectAfter = wait > MinReconnectAfter ? wait : MinReconnectAfter;
            throw Errors.Connection("the server is closing the connection: " + message.Reason);
        }

        /// <summary>Connects again at once; not if that was done just before, for it would not help.</summary>
        private void Resync()
        {
            if (resyncedAt == null || Calls.Clock.Now - resyncedAt > PollFor) reconnectAfter = TimeSpan.Zero;
            resyncedAt = Calls.Clock.Now;
            Received = true;
            throw Errors.Connection("a delta for rows other than those received");
        }

        /// <summary>Polls for about a time, while streams do not work; less if the server is back after an outage.</summary>
        private async Task PollAsync(TimeSpan duration, CancellationToken cancel)
        {
            var end = Calls.Clock.Now + duration;
            for (var failures = 0;;)
            {
                var wait = PollMin + TimeSpan.FromTicks((long)(Calls.Jitter.Share() * (PollMax - PollMin).Ticks));
                try
                {
                    await PollOnceAsync(cancel).ConfigureAwait(stay);
                    if (failures > 0) return; // streams may work again, too
                }
                catch (ScoreboardException e)
                {
                    if (e.Status == 401 || e.Status == 403 || e.Status == 404) throw; // it is pointless to go on
                    Disconnected(e);
                    wait = Calls.Jitter.Next(failures++, PollMin, PollMax);
                    if (e.RetryAfter > wait) wait = e.RetryAfter;
                }
                if (failures == 0 && Calls.Clock.Now + wait > end) return;
                await Calls.WaitAsync(wait, "", cancel).ConfigureAwait(stay);
            }
        }

        private async Task PollOnceAsync(CancellationToken cancel)
        {
            var query = new Query().Add("board", Query.Board).Add("limit", Limit);
            var call = new Call { Path = "/v1/leaderboard/top", Query = query };
            var top = await Calls.TryAsync(call, Client.Top.Read, cancel).ConfigureAwait(stay);
            Heard(Connection.Polling);
            polled.CopyFrom(top.Entries);
            var degraded = StreamMessage.DegradedOf(top.Degraded, top.DegradedReason, top.BoardState);
            // A degraded response has no version.
            if (top.Epoch == null || top.Version == null) Board.Show(top.Board, polled, top.UpdatedAt, degraded);
            else Board.Snapshot(top.Epoch.Value, top.Version.Value, top.Board, polled, top.UpdatedAt, degraded);
            put(Board.State);
        }

        private void Heard(Connection connection)
        {
            var state = Board.State;
            if (state.Connection == Connection.Disconnected && connected) state.Reconnects++;
            connected = true;
            state.Connection = connection;
            state.HeardAt = Calls.Clock.Now;
            state.Error = connection == Connection.Polling ? streamError : null;
        }

        private void Disconnected(Exception error)
        {
            Board.State.Connection = Connection.Disconnected;
            Board.State.Error = error;
            put(Board.State);
        }
    }
}
