using System;
using System.Linq;
using System.Threading.Tasks;
using Godot;
using Scoreboard.Client;
using Scoreboard.Client.Tests;

namespace Scoreboard.Godot.Tests
{
    /// <summary>The parts for Godot, on a stand-in for the engine: not on Godot.</summary>
    public static class GodotTests
    {
        [Test]
        public static void AKeyIsRefused()
        {
            var options = DaemonTests.Daemon.Options();
            options.Platform = GodotPlatform.Create();
            Check.Throws<ArgumentException>(() => new ScoreboardClient(options));
        }

        [Test]
        public static void TheSampleShowsABoard()
        {
            DaemonTests.Daemon.Sbctl("board", "create", "godot");
            DaemonTests.Daemon.Sbctl("score", "submit", "--user", "gil", "--delta", "42", "--board", "godot");
            Shows("godot", DaemonTests.Daemon.Token("gil"), "gil  42");
            Shows("godot", "wrong", "Get a new token");
        }

        private static void Shows(string name, string token, string wanted)
        {
            UnityEngine.Engine.Run(async () => // any main loop
            {
                var board = new ScoreboardBoard { Name = "Board", Server = DaemonTests.Daemon.Url, Board = name, Token = token };
                var screen = new Leaderboard();
                screen.AddChild(board);
                board._Ready();
                screen._Ready();
                for (var n = 0; !screen.Children.OfType<Label>().Any(l => l.Text.Contains(wanted)); n++)
                {
                    Check.That(n < 6000, "it is not shown");
                    await Task.Delay(10);
                }
                board._ExitTree();
                return true;
            });
        }
    }
}
