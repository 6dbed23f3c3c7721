using System;
using System.Threading;
using System.Threading.Tasks;
using Godot;
using Scoreboard.Client;

namespace Scoreboard.Godot
{
    /// <summary>
    /// A node that follows a board: it calls Changed with each state, and Failed once if the server rejects the player.
    /// </summary>
    [GlobalClass]
    public partial class ScoreboardBoard : Node
    {
        private readonly CancellationTokenSource left = new CancellationTokenSource();

        /// <summary>The state has changed. It is valid until the next one.</summary>
        public event Action<WatchState> Changed;

        /// <summary>The server rejects the player's token, its scope or the board.</summary>
        public event Action<ScoreboardException> Failed;

        /// <summary>Address of the server.</summary>
        [Export]
        public string Server { get; set; } = "http://127.0.0.1:8080";

        /// <summary>The player's token.</summary>
        [Export]
        public string Token { get; set; } = "";

        /// <summary>The board.</summary>
        [Export]
        public string Board { get; set; } = "global";

        /// <summary>The client, for submits and reads.</summary>
        public ScoreboardClient Client { get; private set; }

        /// <inheritdoc/>
        public override async void _Ready()
        {
            Client = new ScoreboardClient(new Options
            {
                Server = Server, Token = Token, Platform = GodotPlatform.Create(),
            });
            await Task.Yield(); // until the parent, which is ready after its children, listens
            try
            {
                var watch = Client.Watch(new WatchQuery { Board = Board, Limit = 10 }, left.Token);
                while (await watch.MoveNextAsync()) Changed?.Invoke(watch.Current);
            }
            catch (ScoreboardException e)
            {
                Failed?.Invoke(e);
            }
        }

        /// <inheritdoc/>
        public override void _ExitTree()
        {
            left.Cancel();
        }
    }
}
