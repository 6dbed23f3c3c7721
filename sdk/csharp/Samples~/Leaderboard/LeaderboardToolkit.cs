using Scoreboard.Client;
using UnityEngine;
using UnityEngine.UIElements;

namespace Scoreboard.Samples
{
    /// <summary>The screen for UI Toolkit: add it beside a UIDocument with Leaderboard.uxml.</summary>
    [RequireComponent(typeof(UIDocument))]
    public sealed class LeaderboardToolkit : LeaderboardScreen
    {
        private readonly Label[] lines = new Label[10];
        private Label status;

        protected override void Show(WatchState state)
        {
            Prepare();
            for (var n = 0; n < lines.Length; n++)
            {
                lines[n].text = n < state.Top.Count ? LineOf(state.Top[n]) : "";
                var own = n < state.Top.Count && state.Me != null && state.Me.UserId == state.Top[n].UserId;
                lines[n].EnableInClassList("leaderboard-mine", own);
            }
            status.text = state.Connection == Connection.Disconnected ? "offline" : state.Degraded;
        }

        protected override void ShowError(string text)
        {
            Prepare();
            status.text = text;
        }

        private void Prepare()
        {
            if (status != null) return;
            var root = GetComponent<UIDocument>().rootVisualElement;
            var rows = root.Q<VisualElement>("rows");
            for (var n = 0; n < lines.Length; n++)
            {
                lines[n] = new Label();
                lines[n].AddToClassList("leaderboard-row");
                rows.Add(lines[n]);
            }
            status = root.Q<Label>("status");
        }
    }
}
