using System;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using Scoreboard.Client;
using Scoreboard.Client.Tests;
using Scoreboard.Samples;
using Scoreboard.Unity;
using UnityEngine;
using UnityEngine.UI;
using UnityEngine.UIElements;

namespace Scoreboard.Unity.Tests
{
    /// <summary>The parts for Unity, on a stand-in for the engine: not on Unity.</summary>
    public static class UnityTests
    {
        [Test]
        public static void ABuildForPlayersRefusesAKey()
        {
            // The client, compiled with Unity's symbol.
            var built = System.IO.Path.Combine(Environment.GetEnvironmentVariable("SCOREBOARD_BUILT"), "Scoreboard.Client.Player.dll");
            var type = Assembly.LoadFrom(built).GetType("Scoreboard.Client.Platform");
            Check.Equal(type.GetProperty("ForPlayers").GetValue(Activator.CreateInstance(type)), true, "ForPlayers");
            Check.Equal(new Platform().ForPlayers, false, "ForPlayers of a server");
        }

        [Test]
        public static void SubmitsAndReads()
        {
            Engine.Run(async () =>
            {
                var options = DaemonTests.Daemon.Options();
                options.Platform = UnityPlatform.Create();
                Check.Throws<ArgumentException>(() => new ScoreboardClient(options));
                options.AllowKeyInClient = true;
                var client = new ScoreboardClient(options);
                Check.Equal((await client.SubmitAsync(new Increment { UserId = "unity", Delta = 3 })).NewScore, 3, "score");
                Check.Equal((await client.ScoreAsync("unity", new PlaceQuery { MinVersion = 1 })).Score, 3, "score");
                var error = await FailureAsync(client.ScoreAsync("nobody"));
                Check.Equal(new object[] { error.Status, error.Code, error.RequestId != "" }, new object[] { 404, "not_found", true }, "an error");
                Check.Equal(SynchronizationContext.Current == Engine.Main, true, "on the main thread");
                var strayed = await Task.Run(() => client.TopAsync().ContinueWith(t => t.Exception.InnerException.Message));
                Check.That(strayed.Contains("main thread"), strayed);
                return true;
            });
        }

        [Test]
        public static void FollowsABoard()
        {
            foreach (var socket in new ISocketTransport[] { new ClientSocketTransport(), null })
            {
                Engine.Run(async () =>
                {
                    var platform = UnityPlatform.Create();
                    platform.Socket = socket;
                    var options = DaemonTests.Daemon.Options();
                    options.Platform = platform;
                    options.AllowKeyInClient = true;
                    var client = new ScoreboardClient(options);
                    var user = socket == null ? "unity-sse" : "unity-ws";
                    using (var cancel = new CancellationTokenSource(60000))
                    using (var watch = client.Watch(new WatchQuery { Limit = 100 }, cancel.Token))
                    {
                        Check.That(await watch.MoveNextAsync(), "a state");
                        await client.SubmitAsync(new Increment { UserId = user, Delta = 3 });
                        while (watch.Current.Top.All(e => e.UserId != user)) Check.That(await watch.MoveNextAsync(), "a state");
                        Check.Equal(watch.Current.Connection.ToString(), socket == null ? "EventStream" : "WebSocket", "connection");
                        Check.Equal(SynchronizationContext.Current == Engine.Main, true, "on the main thread");
                    }
                    return true;
                });
            }
        }

        [Test]
        public static void ASilentServerIsBounded()
        {
            var silent = new TcpListener(IPAddress.Loopback, 0);
            silent.Start();
            try
            {
                Engine.Run(async () =>
                {
                    var client = new ScoreboardClient(new Options
                    {
                        Server = "http://127.0.0.1:" + ((IPEndPoint)silent.LocalEndpoint).Port, Attempts = 1,
                        Timeout = TimeSpan.FromMilliseconds(200), Platform = UnityPlatform.Create(),
                    });
                    var error = await FailureAsync(client.TopAsync());
                    Check.That(error.Message.Contains("no response within 200 ms"), error.Message);
                    using (var cancel = new CancellationTokenSource())
                    {
                        var call = client.TopAsync(default(TopQuery), cancel.Token);
                        cancel.Cancel();
                        try
                        {
                            await call;
                            throw new TestFailure("it was not cancelled");
                        }
                        catch (CallCanceledException)
                        {
                        }
                    }
                    return true;
                });
            }
            finally
            {
                silent.Stop();
            }
        }

        [Test]
        public static void TheSampleScreensShowABoard()
        {
            DaemonTests.Daemon.Sbctl("board", "create", "screens");
            DaemonTests.Daemon.Sbctl("score", "submit", "--user", "sam", "--delta", "42", "--board", "screens");
            Engine.Run(async () =>
            {
                var ugui = new GameObject("ugui").AddComponent<LeaderboardUgui>();
                var document = new GameObject("toolkit").AddComponent<UIDocument>();
                document.rootVisualElement.Add(new VisualElement { name = "rows" });
                document.rootVisualElement.Add(new Label { name = "status" });
                var toolkit = document.gameObject.AddComponent<LeaderboardToolkit>();
                await ShowAsync(ugui, () => Field<Text[]>(ugui, "lines").Any(l => (l.text ?? "").Contains("sam  42")));
                await ShowAsync(toolkit, () => Field<Label[]>(toolkit, "lines").Any(l => l != null && (l.text ?? "").Contains("sam  42")));
                var rejected = document.gameObject.AddComponent<LeaderboardToolkit>();
                Set(rejected, "token", "wrong");
                await ShowAsync(rejected, () => Field<Label>(rejected, "status")?.text?.Contains("Get a new token") == true);
                return true;
            });
        }

        /// <summary>Starts a screen, waits for what it shows, and ends it.</summary>
        private static async Task ShowAsync(LeaderboardScreen screen, Func<bool> shown)
        {
            Set(screen, "server", DaemonTests.Daemon.Url);
            Set(screen, "board", "screens");
            if (Field<string>(screen, "token") == "") Set(screen, "token", DaemonTests.Daemon.Token("sam"));
            Method(screen, "Start");
            for (var n = 0; !shown(); n++)
            {
                Check.That(n < 6000, screen.GetType().Name + " does not show it: " + Shown(screen));
                await UnityClock.Instance.Delay(TimeSpan.FromMilliseconds(10), CancellationToken.None);
            }
            Method(screen, "OnDestroy");
        }

        private static string Shown(LeaderboardScreen screen)
        {
            var toolkit = screen as LeaderboardToolkit;
            var status = toolkit != null ? Field<Label>(toolkit, "status")?.text : Field<Text>(screen, "status")?.text;
            return status ?? "nothing";
        }

        private static FieldInfo FieldOf(object target, string name)
        {
            for (var type = target.GetType();; type = type.BaseType)
            {
                var field = type.GetField(name, BindingFlags.Instance | BindingFlags.NonPublic);
                if (field != null) return field;
            }
        }

        private static T Field<T>(object target, string name)
        {
            return (T)FieldOf(target, name).GetValue(target);
        }

        private static void Set(object target, string name, object value)
        {
            FieldOf(target, name).SetValue(target, value);
        }

        private static void Method(object target, string name)
        {
            typeof(LeaderboardScreen).GetMethod(name, BindingFlags.Instance | BindingFlags.NonPublic).Invoke(target, null);
        }

        private static async Task<ScoreboardException> FailureAsync<T>(Task<T> call)
        {
            try
            {
                await call;
            }
            catch (ScoreboardException e)
            {
                return e;
            }
            throw new TestFailure("no error");
        }
    }
}
