using System;
using System.Diagnostics.CodeAnalysis;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>
    /// What a client uses of the machine that it runs on. The default is .NET's own; a game engine brings another
    /// (UnityPlatform, GodotPlatform).
    /// </summary>
    public sealed class Platform
    {
#if (UNITY_5_3_OR_NEWER && !UNITY_SERVER) || GODOT
        private const bool BuiltForPlayers = true;
#else
        private const bool BuiltForPlayers = false;
#endif

        /// <summary>Sends requests; HttpClient by default.</summary>
        public IApiTransport Http { get; set; } = new HttpClientTransport();

        /// <summary>Opens WebSockets; null for none, as on WebGL. A watch then uses the event stream.</summary>
        [MaybeNull]
        public ISocketTransport Socket { get; set; } = new ClientSocketTransport();

        /// <summary>The clock.</summary>
        public IClock Clock { get; set; } = new SystemClock();

        /// <summary>
        /// Whether the client continues where it was called, such as on the main thread of a game. Otherwise it continues
        /// on the thread pool, as libraries do.
        /// </summary>
        public bool StaysOnContext { get; set; }

        /// <summary>
        /// Whether this program is in the hands of players, who can read all that is in it. It then refuses the secret of
        /// a signing key.
        /// </summary>
        public bool ForPlayers { get; set; } = BuiltForPlayers;

        /// <summary>Recorded in the server's audit trail. It is not sent if it is empty.</summary>
        public string UserAgent { get; set; } = "scoreboard-csharp/1.0.0";
    }

    /// <summary>The clock of a client.</summary>
    public interface IClock
    {
        /// <summary>The current time.</summary>
        DateTimeOffset Now { get; }

        /// <summary>Ends after a time, or as cancelled.</summary>
        Task Delay(TimeSpan time, CancellationToken cancel);
    }

    internal sealed class SystemClock : IClock
    {
        public DateTimeOffset Now
        {
            get { return DateTimeOffset.UtcNow; }
        }

        public Task Delay(TimeSpan time, CancellationToken cancel)
        {
            return Task.Delay(time, cancel);
        }
    }
}
