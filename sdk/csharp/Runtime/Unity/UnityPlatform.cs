using Scoreboard.Client;

namespace Scoreboard.Unity
{
    /// <summary>
    /// What a client uses in Unity: UnityWebRequest, the main thread, and WebSockets where there are any. Call the client on
    /// the main thread; all that follows an await is there, too. In a player's build it refuses the secret of a key.
    /// </summary>
    public static class UnityPlatform
    {
        /// <summary>Makes the platform, on the main thread.</summary>
        public static Platform Create()
        {
            return new Platform
            {
                Http = new UnityWebRequestTransport(),
                Clock = UnityClock.Instance,
                StaysOnContext = true,
#if UNITY_SERVER
                ForPlayers = false,
#else
                ForPlayers = true,
#endif
#if UNITY_WEBGL && !UNITY_EDITOR
                Socket = null, // .NET has none there
                UserAgent = "", // a page cannot set it
#else
                UserAgent = "scoreboard-unity/1.0.0",
#endif
            };
        }
    }
}
