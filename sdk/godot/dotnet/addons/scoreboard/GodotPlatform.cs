using Scoreboard.Client;

namespace Scoreboard.Godot
{
    /// <summary>
    /// What a client uses in Godot: .NET's own HTTP and WebSockets, and Godot's main thread. Call the client on the main
    /// thread; all that follows an await is there, too. It refuses the secret of a key.
    /// </summary>
    public static class GodotPlatform
    {
        /// <summary>Makes the platform.</summary>
        public static Platform Create()
        {
            return new Platform { StaysOnContext = true, ForPlayers = true, UserAgent = "scoreboard-godot/1.0.0" };
        }
    }
}
