using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client.Tests
{
    /// <summary>The client with a real daemon, on real time.</summary>
    public static class DaemonTests
    {
        private static Daemon daemon;

        internal static Daemon Daemon
        {
            get { return daemon ?? (daemon = new Daemon("--ephemeral", "--realtime-ping", "1s", "--boards-close-grace", "1s")); }
        }

        private static ScoreboardClient Game
        {
            get { return new ScoreboardClient(Daemon.Options()); }
        }

        public static void Stop()
        {
            daemon?.Stop();
        }

        [Test]
        public static void TheCodeOfTheReadme()
        {
            var program = Compile("README.md", "readme.exe");
            foreach (var replayed in new[] { "False", "True" })
            {
                var output = Daemon.Run("mono", program);
                Check.That(Regex.IsMatch(output, @"^\d+ " + replayed + "$", RegexOptions.Multiline), output);
            }
        }

        [Test]
        public static void TheFirstLinesOfThePages()
        {
            foreach (var page in new[] { "docs/sdks.md", "sdk/csharp/README.md" })
            {
                using (var program = Daemon.Begin("mono", Compile(page, "first.exe")))
                {
                    var errors = program.StandardError.ReadToEndAsync();
                    var lines = new List<string>();
                    // The receipt, the rows of the top, and those of the first states, with their scores.
                    for (string line; (line = program.StandardOutput.ReadLine()) != null;)
                    {
                        lines.Add(line);
                        if (Regex.IsMatch(line, @"^[a-z]\S* \d+$")) break;
                    }
                    if (!program.HasExited) program.Kill();
                    var output = string.Join("\n", lines);
                    Check.That(Regex.IsMatch(output, @"^\d+ (True|False)\n(\S+\n)+\S+ \d+$"), page + ": " + output + errors.Result);
                }
            }
        }

        [Test]
        public static void TheFirstLines()
        {
            Wait(async () =>
            {
                var increment = new Increment { UserId = "first", Delta = 5, EventId = EventIds.New() };
                var r = await Game.SubmitAsync(increment);
                Check.Equal(new object[] { r.NewScore, r.Replayed, r.ProcessedEventId }, new object[] { 5, false, increment.EventId }, "receipt");
                Check.That((await Game.SubmitAsync(increment)).Replayed, "a repeat");
                await Game.ScoreAsync("first", new PlaceQuery { MinVersion = r.Version });
                var top = await Game.TopAsync(new TopQuery { Board = "global", Limit = 100 });
                Check.Equal(top.Entries.Single(e => e.UserId == "first").Score, 5, "score");
            });
        }

        [Test]
        public static void TheCredentialsOfTheEnvironment()
        {
            var env = Daemon.Environment;
            foreach (var each in env) Environment.SetEnvironmentVariable(each.Key, each.Value);
            try
            {
                Wait(async () =>
                {
                    Check.Equal((await new ScoreboardClient().SubmitAsync(new Increment { UserId = "env", Delta = 1 })).NewScore, 1, "score");
                });
                // Another server gets none of them.
                var elsewhere = new ScoreboardClient(new Options { Server = env["SBCTL_SERVER"] });
                Check.Equal(Failure(elsewhere.SubmitAsync(new Increment { UserId = "env", Delta = 1 })).Code, "unauthorized", "code");
                Check.Throws<ArgumentException>(() => new ScoreboardClient(new Options { Platform = { ForPlayers = true } }));
            }
            finally
            {
                foreach (var each in env) Environment.SetEnvironmentVariable(each.Key, null);
            }
            Check.Throws<ArgumentException>(() => new ScoreboardClient());
        }

        [Test]
        public static void ABatchHasAResultForEach()
        {
            Wait(async () =>
            {
                var increments = new[] { 2, 0, 3 }.Select(d => new Increment { UserId = "batch", Delta = d }).ToArray();
                var results = await Game.SubmitBatchAsync(increments);
                Check.Equal(results[0].Receipt.NewScore, 2, "first");
                Check.Equal(new[] { results[1].Error.Code, results[1].Error.Field }, new[] { "invalid_request", "delta" }, "second");
                Check.Equal(results[2].Receipt.NewScore, 5, "third");
                // The event ids are kept, so a repeat counts nothing.
                var again = await Game.SubmitBatchAsync(increments);
                Check.Equal(new object[] { again[2].Receipt.Replayed, again[2].Receipt.NewScore }, new object[] { true, 5 }, "again");
            });
        }

        [Test]
        public static void OneIncrementOnSeveralBoards()
        {
            Daemon.Sbctl("board", "create", "second");
            Wait(async () =>
            {
                var receipts = await Game.SubmitBoardsAsync(new Increment { UserId = "both", Delta = 4 }, new[] { "global", "second" });
                Check.Equal(receipts.Select(r => r.Board + " " + r.NewScore), new[] { "global 4", "second 4" }, "receipts");
                var e = await Game.ReceiptAsync(receipts[0].ProcessedEventId, "both");
                Check.Equal(e.Status + " " + e.Receipts.Count, "done 2", "event");
            });
        }

        [Test]
        public static void AttributesReachBoardsByTheirRules()
        {
            Daemon.Sbctl("board", "create", "ruled");
            Daemon.Sbctl("board", "rules", "set", "ruled", "--region", "eu");
            Wait(async () =>
            {
                var increment = new Increment { UserId = "rosa", Delta = 5, EventId = "rules-1", Attributes = Map("region", "eu") };
                var first = await Game.SubmitAsync(increment);
                Check.Equal(first.Board + " " + first.Matched.Single().Board, "global ruled", "boards");
                increment.Attributes = Map("region", "us");
                var other = Failure(Game.SubmitAsync(increment));
                Check.Equal(new object[] { other.Status, other.Code, other.EventId }, new object[] { 409, "event_conflict", "rules-1" }, "conflict");
                var queued = await Game.SubmitQueuedAsync(new Increment { UserId = "rosa", Delta = 1, EventId = "rules-2", Attributes = Map("region", "eu") });
                var e = await Game.WaitForEventAsync(queued.Id, "rosa");
                Check.Equal(e.Receipts.Select(r => r.Board), new[] { "global", "ruled" }, "event");
            });
        }

        [Test]
        public static void AWrongSignatureIsRejected()
        {
            var options = Daemon.Options();
            options.KeySecret = "sk_wrong";
            var wrong = new ScoreboardClient(options);
            var increment = new Increment { UserId = "a", Delta = 1 };
            Check.Equal(Failure(wrong.SubmitAsync(increment)).Code, "invalid_signature", "one");
            Check.Equal(Failure(wrong.SubmitBatchAsync(new[] { increment, increment })).Code, "invalid_signature", "a batch");
        }

        [Test]
        public static void Reads()
        {
            Daemon.Sbctl("board", "create", "reads");
            Wait(async () =>
            {
                var increments = Enumerable.Range(0, 25).Select(n => new Increment { UserId = "reader-" + n, Delta = 100 - n, Board = "reads" }).ToArray();
                Check.That((await Game.SubmitBatchAsync(increments)).All(r => r.Receipt != null), "receipts");
                await Game.ScoreAsync("reader-24", new PlaceQuery { Board = "reads", MinVersion = 1 });
                var users = new List<string>();
                var rows = Game.Entries(new TopQuery { Board = "reads", Limit = 10 });
                while (await rows.MoveNextAsync()) users.Add(rows.Current.UserId);
                Check.Equal(users, increments.Select(i => i.UserId), "users");
                var place = await Game.RankAsync("reader-3", new PlaceQuery { Board = "reads", Neighbours = 1 });
                Check.Equal(place.Rank + " " + place.Neighbours.Count, "4 3", "rank");
                Check.Equal((await Game.UsersAsync(new[] { "reader-0", "nobody" }, "reads")).NotFound, new[] { "nobody" }, "not found");
                Check.Equal(Failure(Game.ScoreAsync("nobody")).Code, "not_found", "nobody");
            });
            Wait(ReadMine);
        }

        private static async Task ReadMine()
        {
            var mine = new ScoreboardClient(Daemon.Url, Daemon.Token("reader-0"));
            Check.Equal((await mine.MeAsync(new PlaceQuery { Board = "reads" })).Score, 100, "score");
            var why = await mine.ExplainRankAsync("me", "reads");
            Check.Equal(new[] { why.Rank, why.Sources.Submitted, why.Below.Difference }, new long[] { 1, 100, 1 }, "why");
            var reached = why.ReachedAt.AddMilliseconds(1);
            var history = await mine.RankHistoryAsync("me", new HistoryQuery { Board = "reads", From = reached, To = reached, Step = "1s" });
            Check.Equal(history.Points.Select(p => p.Score), new[] { 100 }, "history");
            var timeline = await Game.TimelineAsync(new TimelineQuery { Board = "reads", From = why.ReachedAt, To = why.ReachedAt });
            Check.Equal(timeline.Frames.Single().Entries[0].UserId, "reader-0", "timeline");
            var entries = mine.StatementEntries("reader-0");
            Check.That(await entries.MoveNextAsync() && entries.Current.NewScore == 100 && !await entries.MoveNextAsync(), "statement");
            await mine.PutProfileAsync("reader-0", "Zo\u00eb");
            Check.Equal((await mine.ProfileAsync("reader-0")).DisplayName, "Zo\u00eb", "profile");
        }

        [Test]
        public static void FriendsAndPrivacy()
        {
            Wait(async () =>
            {
                await Game.SubmitBatchAsync(new[] { "ann", "ben", "cat" }.Select(u => new Increment { UserId = u, Delta = 5 }).ToArray());
                var ann = new ScoreboardClient(Daemon.Url, Daemon.Token("ann"));
                var ben = new ScoreboardClient(Daemon.Url, Daemon.Token("ben"));
                Check.Equal((await ann.AskFriendAsync("ben")).State, "requested", "ann asks");
                Check.Equal((await ben.FriendsAsync("received")).Friends.Single().UserId, "ann", "received");
                Check.Equal((await ben.AskFriendAsync("ann")).State, "mutual", "ben asks");
                Check.Equal((await Game.ImportFriendsAsync(new[] { new FriendPair { UserId = "ann", FriendId = "cat" } })).Added, 1, "imported");
                Check.Equal((await ann.FriendsAsync()).Friends.Select(f => f.UserId), new[] { "ben", "cat" }, "friends");
                Check.Equal((await ann.FriendsTopAsync()).Entries.Count, 3, "the friends' board");
                Check.Equal((await ann.RemoveFriendAsync("cat")).State, "none", "removed");
                Check.Equal((await ann.PrivacyAsync("ann")).Visibility, "public", "privacy");
                Check.Equal((await ann.PutPrivacyAsync("ann", "friends")).Visibility, "friends", "privacy");
                Check.Equal(Failure(ben.PutPrivacyAsync("ann", "public")).Code, "forbidden", "another's");
            });
        }

        [Test]
        public static void RewardsAreClaimedOnce()
        {
            Wait(async () =>
            {
                const string end = "2099-01-01T00:00:00Z";
                Daemon.Sbctl("board", "create", "prizes", "--period", "season", "--season", "one", "--ends", end);
                Daemon.Sbctl("board", "rewards", "set", "prizes", "--band", "rank:1=[500,{}]");
                await Game.SubmitAsync(new Increment { UserId = "rae", Delta = 5, Board = "prizes" });
                Daemon.Sbctl("board", "roll", "prizes", "--season", "two", "--ends", end, "--reason", "test", "--yes");
                var rae = new ScoreboardClient(Daemon.Url, Daemon.Token("rae"));
                Daemon.Until("a reward", () => rae.RewardsAsync("claimable").GetAwaiter().GetResult().Rewards.Count == 1);
                var won = (await rae.RewardsAsync()).Rewards.Single();
                Check.Equal(won.Reward, "[500,{}]", "the reward");
                Check.Equal(won.Board, "prizes:one", "the period");
                Check.Equal(won.ClaimedAt, null, "not claimed");
                var receipt = await rae.ClaimAsync(won.Id);
                Check.Equal(receipt.State, "claimed", "state");
                Check.Equal((await Game.ClaimAsync(won.Id, "rae")).ClaimedAt, receipt.ClaimedAt, "a repeat by a server");
                Check.Equal((await Game.RewardsAsync("claimed", limit: 1, userId: "rae")).Rewards.Single().Id, won.Id, "listed");
                Check.Equal((await rae.RewardsAsync(before: won.Id)).Rewards.Count, 0, "the next page");
                Check.Equal(Failure(rae.ClaimAsync(won.Id + 1)).Code, "not_found", "another id");
                Check.Equal(Failure(rae.ClaimAsync(won.Id, "sam")).Code, "forbidden", "another user");
            });
        }

        [Test]
        public static void LeaguesAreRead()
        {
            Wait(async () =>
            {
                Daemon.Sbctl("board", "create", "ladder", "--period", "weekly", "--divisions", "3", "--cohort-min", "2",
                    "--promote", "1", "--relegate", "0");
                await Game.SubmitAsync(new Increment { UserId = "lia", Delta = 9, Board = "ladder" });
                await Game.SubmitAsync(new Increment { UserId = "moe", Delta = 4, Board = "ladder" });
                var lia = new ScoreboardClient(Daemon.Url, Daemon.Token("lia"));
                LeaguePlace place = null;
                Daemon.Until("both", () => (place = lia.LeagueAsync("ladder", 1).GetAwaiter().GetResult()).Neighbours.Count == 2);
                Check.Equal(place.State + " " + place.Division + " " + place.Rank + " " + place.Zone, "placed 1 1 promotion", "place");
                Check.Equal(place.Neighbours.Select(n => n.UserId), new[] { "lia", "moe" }, "neighbours");
                Check.Equal((await Game.LeagueAsync("ladder", userId: "moe")).Rank, 2, "another user, by a server");
                Check.Equal(Failure(lia.LeagueAsync("ladder", userId: "moe")).Code, "forbidden", "another user");
                var cohort = await lia.CohortAsync("ladder", place.Cohort, limit: 1);
                Check.Equal(cohort.Entries.Single().UserId, "lia", "the cohort");
                var rest = await lia.CohortAsync("ladder", place.Cohort, cohort.NextAfter);
                Check.Equal(rest.Entries.Single().UserId, "moe", "the rest of it");
                Check.Equal((await lia.LeagueHistoryAsync("ladder")).Outcomes.Count, 0, "before the end");
            });
        }

        [Test]
        public static void TournamentsAreJoined()
        {
            Wait(async () =>
            {
                Daemon.Sbctl("board", "create", "open", "--period", "season", "--season", "one", "--starts",
                    "2098-01-01T00:00:00Z", "--ends", "2099-01-01T00:00:00Z", "--join", "required", "--max-players", "1");
                var tia = new ScoreboardClient(Daemon.Url, Daemon.Token("tia"));
                var state = await tia.JoinBoardAsync("open");
                Check.Equal(state.Board + " " + state.Players + " " + state.Joined, "open:one 1 True", "joined");
                Check.Equal(Failure(Game.JoinBoardAsync("open", "uma")).Code, "tournament_full", "another user");
                Check.Equal((await tia.LeaveBoardAsync("open:one")).Joined, false, "left");
                Check.Equal((await Game.JoinBoardAsync("open", "uma")).UserId, "uma", "after that");
                Check.Equal((await tia.ParticipationAsync("open")).Players, 1, "players");
            });
        }

        /// <summary>The set-up of a game without a server: tokens, action tokens, and no key.</summary>
        [Test]
        public static void PlayersSubmitWithActionTokens()
        {
            Daemon.Sbctl("board", "create", "actions", "--require", "action-token", "--action-min", "1s");
            Daemon.Sbctl("settings", "set", "auth.signature", "optional", "--reason", "test", "--yes");
            try
            {
                Wait(async () =>
                {
                    var player = new ScoreboardClient(new Options
                    {
                        Server = Daemon.Url, Token = Daemon.Token("pia"), Platform = { ForPlayers = true },
                    });
                    var plain = new Increment { UserId = "pia", Delta = 5, Board = "actions" };
                    Check.Equal(Failure(player.SubmitAsync(plain)).Code, "rule_violated", "without a token");
                    var action = await player.StartActionAsync(new ActionRequest { UserId = "pia", Board = "actions" });
                    await Task.Delay(1100);
                    plain.ActionToken = action.ActionToken;
                    Check.Equal((await player.SubmitAsync(plain)).NewScore, 5, "score");
                    Check.Equal(Failure(player.SubmitAsync(plain)).Code, "token_used", "again");
                });
            }
            finally
            {
                Daemon.Sbctl("settings", "set", "auth.signature", "required", "--reason", "test", "--yes");
            }
        }

        [Test]
        public static void ATokenIsRenewedBeforeItExpires()
        {
            Wait(async () =>
            {
                var fetched = 0;
                var token = new RenewingToken(cancel => Task.FromResult(new IssuedToken
                {
                    Token = Daemon.Token("renewed", "--ttl", fetched++ == 0 ? "31s" : "15m"),
                    ExpiresAt = DateTimeOffset.UtcNow.AddSeconds(fetched == 1 ? 31 : 900),
                }));
                var client = new ScoreboardClient(new Options { Server = Daemon.Url, TokenSource = token.GetAsync });
                await Task.WhenAll(client.TopAsync(), client.TopAsync(), client.TopAsync());
                Check.Equal(fetched, 1, "fetched");
                await Task.Delay(1100);
                await client.TopAsync();
                Check.Equal(fetched, 2, "fetched");
            });
        }

        [Test]
        public static void WatchesOverWebSocket()
        {
            Follow("WebSocket", new Platform());
        }

        [Test]
        public static void WatchesOverEventStream()
        {
            Follow("EventStream", new Platform { Socket = null });
        }

        /// <summary>Streams stay open, and calls go on beside them: some runtimes open two connections to a server.</summary>
        [Test]
        public static void StreamsLeaveRoomForCalls()
        {
            Wait(async () =>
            {
                var options = Daemon.Options();
                options.Attempts = 1;
                options.Platform.Socket = null;
                var client = new ScoreboardClient(options);
                var watches = Enumerable.Range(0, 4).Select(n => client.Watch()).ToList();
                foreach (var watch in watches)
                {
                    Check.That(await watch.MoveNextAsync(), "a state");
                    Check.Equal(watch.Current.Connection.ToString(), "EventStream", "connection");
                }
                await client.TopAsync();
                watches.ForEach(w => w.Dispose());
            });
        }

        [Test]
        public static void FallsBackToEventsThenToPolls()
        {
            Wait(async () =>
            {
                await Game.SubmitAsync(new Increment { UserId = "fallback", Delta = 3 });
                var options = Daemon.Options();
                options.Platform.Socket = new Blocked();
                var state = await StateAsync(options, "global", s => s.Top.Any(e => e.UserId == "fallback"));
                Check.Equal(state.Connection.ToString(), "EventStream", "connection");
                options.Platform.Http = new Blocked();
                state = await StateAsync(options, "global", s => s.Top.Any(e => e.UserId == "fallback"));
                Check.Equal(state.Connection.ToString(), "Polling", "connection");
                Check.That(state.Error.Message.Contains("blocked"), state.Error.Message);
            });
        }

        [Test]
        public static void ARejectedWatchFails()
        {
            foreach (var socket in new ISocketTransport[] { new ClientSocketTransport(), null })
            {
                var platform = new Platform { Socket = socket };
                var wrong = new Options { Server = Daemon.Url, Token = "wrong", Platform = platform };
                Check.Equal(Failure(StateAsync(wrong, "global", s => false)).Code, "unauthorized", "token");
                var options = Daemon.Options();
                options.Platform = platform;
                Check.Equal(Failure(StateAsync(options, "no-such-board", s => false)).Code, "not_found", "board");
            }
        }

        /// <summary>Every response is lost once; what was sent counts once.</summary>
        [Test]
        public static void LostResponsesCountOnce()
        {
            using (var proxy = new Proxy(Daemon.Port))
            {
                Wait(async () =>
                {
                    var client = new ScoreboardClient(Daemon.Options(proxy.Url));
                    for (var n = 1; n <= 5; n++)
                    {
                        proxy.Lose(2);
                        var r = await client.SubmitAsync(new Increment { UserId = "lost", Delta = 1 });
                        Check.Equal(r.NewScore, n, "score");
                    }
                });
            }
        }

        /// <summary>A clock that is wrong by an hour: increments wait in the queue until it is right.</summary>
        [Test]
        public static void AWrongClockLosesNothing()
        {
            foreach (var hours in new[] { -1, 1 }) WithAWrongClock(hours);
        }

        private static void WithAWrongClock(int hours)
        {
            var clock = new Skewed { By = TimeSpan.FromHours(hours) };
            var user = "clock" + hours;
            var options = Daemon.Options();
            options.Platform.Clock = clock;
            using (var store = new FileStore(Path.Combine(Daemon.Folder, user)))
            using (var cancel = new CancellationTokenSource(TimeSpan.FromSeconds(60)))
            {
                var codes = new List<string>();
                var queue = new OfflineQueue(new QueueOptions
                {
                    Store = store, Sender = new ScoreboardSender(new ScoreboardClient(options)), Platform = options.Platform,
                    OnSent = (i, r) => cancel.Cancel(),
                    OnWaiting = e =>
                    {
                        codes.Add(e.Code);
                        clock.By = TimeSpan.Zero;
                    },
                });
                Wait(async () =>
                {
                    await queue.AddAsync(new Increment { UserId = user, Delta = 7 });
                    await queue.RunAsync(cancel.Token);
                    Check.Equal(codes, new[] { "invalid_signature" }, "codes");
                    Check.Equal((await Game.ScoreAsync(user, new PlaceQuery { MinVersion = 1 })).Score, 7, "score");
                });
            }
        }

        /// <summary>
        /// The process of the queue is killed before and after each step of storing, sending and deleting three increments.
        /// Started again, it loses none and counts none twice, and the order is kept.
        /// </summary>
        [Test]
        public static void AQueueIsKilledAtEachStep()
        {
            var step = 1;
            for (var killed = true; killed; step++)
            {
                var user = "killed-" + step;
                var path = Path.Combine(Daemon.Folder, user);
                killed = Child(path, user, step) != 0;
                Check.Equal(Child(path, user, 0), 0, "the second run");
                Wait(async () =>
                {
                    var deltas = new List<long>();
                    var entries = Game.StatementEntries(user);
                    while (await entries.MoveNextAsync()) deltas.Insert(0, entries.Current.Delta);
                    Check.Equal(deltas, new[] { 1, 2, 3 }, "what counted, killed at step " + step);
                });
            }
            Check.That(step > 20, "steps: " + step);
        }

        private static int Child(string path, string user, int step)
        {
            var program = typeof(DaemonTests).Assembly.Location;
            using (var child = Daemon.Begin("mono", "--debug \"" + program + "\" --child \"" + path + "\" " + user + " " + step))
            {
                var errors = child.StandardError.ReadToEndAsync();
                child.StandardOutput.ReadToEnd();
                child.WaitForExit();
                Check.That(child.ExitCode == 0 || child.ExitCode == 137, child.ExitCode + ": " + errors.Result);
                return child.ExitCode;
            }
        }

        private static void Follow(string connection, Platform platform)
        {
            var board = "watch-" + connection.ToLowerInvariant();
            Daemon.Sbctl("board", "create", board);
            var submitted = 0;
            var connections = new HashSet<string>();
            Wait(async () =>
            {
                var options = new Options { Server = Daemon.Url, Token = Daemon.Token("alice"), Platform = platform };
                var state = await StateAsync(options, board, s =>
                {
                    if (s.Connection != Connection.Disconnected) connections.Add(s.Connection.ToString());
                    if (s.Top.Count == submitted && submitted < 5)
                    {
                        var user = submitted == 4 ? "alice" : "u" + submitted;
                        Calls.Forget(Game.SubmitAsync(new Increment { UserId = user, Delta = 10 + submitted++, Board = board }));
                    }
                    return s.Top.Count == 5 && s.Me != null;
                });
                Check.Equal(state.Top.Select(e => e.Rank), new[] { 1, 2, 3, 4, 5 }, "ranks");
                Check.Equal(state.Top[0].UserId + " " + state.Top[0].Score, "alice 14", "first");
                Check.Equal(state.Me.Score + " " + state.Me.Rank, "14 1", "me");
                Check.Equal(connections, new[] { connection }, "connections");
            });
        }

        /// <summary>Reads states until one is as wanted.</summary>
        private static async Task<WatchState> StateAsync(Options options, string board, Func<WatchState, bool> wanted)
        {
            using (var cancel = new CancellationTokenSource(TimeSpan.FromSeconds(60)))
            using (var watch = new ScoreboardClient(options).Watch(new WatchQuery { Board = board, Limit = 100 }, cancel.Token))
            {
                while (await watch.MoveNextAsync())
                {
                    if (wanted(watch.Current)) return watch.Current.Copy();
                }
                throw new TestFailure("the last state was " + watch.Current.Connection + " " + watch.Current.Error);
            }
        }

        /// <summary>Makes a program of the first C# code of a page.</summary>
        private static string Compile(string page, string name)
        {
            var text = File.ReadAllText(Path.Combine(Vector.Root, page));
            var code = Regex.Match(text, "^```csharp\n(.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline);
            Check.That(code.Success, "no code in " + page);
            var lines = code.Groups[1].Value.Split('\n');
            var source = Path.Combine(Daemon.Folder, name + ".cs");
            File.WriteAllText(source, "using System;\n" + string.Join("\n", lines.Where(l => l.StartsWith("using ", StringComparison.Ordinal)))
                + "\nclass Program { static void Main() { Run().GetAwaiter().GetResult(); }\n"
                + "static async System.Threading.Tasks.Task Run() {\n"
                + string.Join("\n", lines.Where(l => !l.StartsWith("using ", StringComparison.Ordinal))) + "\n} }\n");
            var built = Environment.GetEnvironmentVariable("SCOREBOARD_BUILT");
            var program = Path.Combine(built, name);
            Daemon.Run("mcs", "-langversion:7.2 -out:" + program + " -r:" + Path.Combine(built, "Scoreboard.Client.dll") + " " + source);
            return program;
        }

        private static void Wait(Func<Task> work)
        {
            work().GetAwaiter().GetResult();
        }

        private static ScoreboardException Failure<T>(Task<T> call)
        {
            return Check.Throws<ScoreboardException>(() => call.GetAwaiter().GetResult());
        }

        private static Dictionary<string, string> Map(string name, string value)
        {
            return new Dictionary<string, string> { { name, value } };
        }

        private sealed class Skewed : IClock
        {
            public TimeSpan By;

            public DateTimeOffset Now
            {
                get { return DateTimeOffset.UtcNow + By; }
            }

            public Task Delay(TimeSpan time, CancellationToken cancel)
            {
                return Task.Delay(time, cancel);
            }
        }

        /// <summary>A network that blocks streams.</summary>
        private sealed class Blocked : ISocketTransport, IApiTransport
        {
            private readonly HttpClientTransport others = new HttpClientTransport();

            public Task<ISocket> ConnectAsync(string url, CancellationToken cancel)
            {
                throw new IOException("blocked");
            }

            public Task<IApiResponse> SendAsync(ApiRequest request, CancellationToken cancel)
            {
                if (request.Url.Contains("/realtime/leaderboard")) throw new IOException("blocked");
                return others.SendAsync(request, cancel);
            }
        }
    }
}
