using System;
using System.Threading;
using Scoreboard.Client;
using Scoreboard.Unity;
using UnityEngine;

namespace Scoreboard.Samples
{
    /// <summary>
    /// Follows a board and shows it. The token is the player's: your own server, or your identity provider, gives it to the
    /// game after the player has signed in.
    /// </summary>
    public abstract class LeaderboardScreen : MonoBehaviour
    {
        [SerializeField] private string server = "http://127.0.0.1:8080";
        [SerializeField] private string token = "";
        [SerializeField] private string board = "global";
        private readonly CancellationTokenSource closed = new CancellationTokenSource();

        /// <summary>Shows the state. It is valid until the next one.</summary>
        protected abstract void Show(WatchState state);

        /// <summary>Shows why there is nothing to follow.</summary>
        protected abstract void ShowError(string text);

        /// <summary>A row, as a line of text.</summary>
        protected static string LineOf(Entry entry)
        {
            return entry.Rank + ".  " + (entry.DisplayName != "" ? entry.DisplayName : entry.UserId) + "  " + entry.Score +
                (entry.Subscore != null ? "  (" + entry.Subscore + ")" : "");
        }

        private async void Start()
        {
            try
            {
                var client = new ScoreboardClient(new Options
                {
                    Server = server, Token = token, Platform = UnityPlatform.Create(),
                });
                var watch = client.Watch(new WatchQuery { Board = board, Limit = 10 }, closed.Token);
                while (await watch.MoveNextAsync()) Show(watch.Current);
            }
            catch (ScoreboardException e)
            {
                ShowError(e.Message + "\n" + e.NextStep);
            }
            catch (ArgumentException e)
            {
                ShowError(e.Message);
            }
        }

        private void OnDestroy()
        {
            closed.Cancel();
        }
    }
}
