using Godot;
using Scoreboard.Client;
using Scoreboard.Godot;

/// <summary>
/// A live board. The token is the player's: your own server, or your identity provider, gives it to the game after the
/// player has signed in.
/// </summary>
public partial class Leaderboard : VBoxContainer
{
    private readonly Label[] lines = new Label[10];
    private Label status;

    public override void _Ready()
    {
        for (var n = 0; n < lines.Length; n++) AddChild(lines[n] = new Label());
        AddChild(status = new Label());
        var board = GetNode<ScoreboardBoard>("Board");
        board.Changed += Show;
        board.Failed += error => status.Text = error.Message + "\n" + error.NextStep;
    }

    private void Show(WatchState state)
    {
        for (var n = 0; n < lines.Length; n++) lines[n].Text = n < state.Top.Count ? LineOf(state.Top[n]) : "";
        status.Text = state.Connection == Connection.Disconnected ? "offline" : state.Degraded;
    }

    private static string LineOf(Entry entry)
    {
        return entry.Rank + ".  " + (entry.DisplayName != "" ? entry.DisplayName : entry.UserId) + "  " + entry.Score +
            (entry.Subscore != null ? "  (" + entry.Subscore + ")" : "");
    }
}
