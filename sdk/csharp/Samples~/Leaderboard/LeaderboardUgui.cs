using Scoreboard.Client;
using UnityEngine;
using UnityEngine.UI;

namespace Scoreboard.Samples
{
    /// <summary>The screen for UGUI: add it to a panel of a Canvas. It makes its lines itself.</summary>
    public sealed class LeaderboardUgui : LeaderboardScreen
    {
        [SerializeField] private Font font = null;
        [SerializeField] private int size = 24;
        [SerializeField] private Color mine = Color.yellow;
        private Text[] lines = new Text[0];
        private Text status;

        protected override void Show(WatchState state)
        {
            Prepare();
            for (var n = 0; n < lines.Length; n++)
            {
                lines[n].text = n < state.Top.Count ? LineOf(state.Top[n]) : "";
                var own = n < state.Top.Count && state.Me != null && state.Me.UserId == state.Top[n].UserId;
                lines[n].color = own ? mine : Color.white;
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
            var layout = gameObject.AddComponent<VerticalLayoutGroup>();
            layout.childForceExpandHeight = false;
            lines = new Text[10];
            for (var n = 0; n < lines.Length; n++) lines[n] = NewLine("Line " + (n + 1));
            status = NewLine("Status");
        }

        private Text NewLine(string name)
        {
            var line = new GameObject(name, typeof(RectTransform)).AddComponent<Text>();
            line.transform.SetParent(transform, false);
            line.font = font;
            line.fontSize = size;
            return line;
        }
    }
}
