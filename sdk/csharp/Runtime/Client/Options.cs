using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Returns the bearer token of a try. It is called for each, so it should cache, as RenewingToken does.</summary>
    public delegate Task<string> TokenSource(CancellationToken cancel);

    /// <summary>
    /// The options of a client. Without a server, the address and the credentials are those of the environment variables
    /// SBCTL_SERVER, SBCTL_TOKEN, SBCTL_KEY_ID and SBCTL_KEY_SECRET; with one, none of them is read.
    /// </summary>
    public sealed class Options
    {
        /// <summary>Address of the server, such as "https://scores.example.com".</summary>
        public string Server { get; set; }

        /// <summary>The bearer token.</summary>
        public string Token { get; set; }

        /// <summary>Returns the bearer token, instead of Token.</summary>
        public TokenSource TokenSource { get; set; }

        /// <summary>Id of the key that signs writes. A key belongs on a server, never in a game.</summary>
        public string KeyId { get; set; }

        /// <summary>The secret of the key, exactly as it was shown.</summary>
        public string KeySecret { get; set; }

        /// <summary>
        /// Allows a key in a program for players, such as a test on your own machine. Whoever has the program can then sign
        /// any score.
        /// </summary>
        public bool AllowKeyInClient { get; set; }

        /// <summary>Maximum number of tries of a call.</summary>
        public int Attempts { get; set; } = 5;

        /// <summary>Maximum time of one try. A CancellationToken limits the whole call.</summary>
        public TimeSpan Timeout { get; set; } = TimeSpan.FromSeconds(10);

        /// <summary>What the client uses of the machine.</summary>
        public Platform Platform { get; set; } = new Platform();
    }

    /// <summary>The options in effect.</summary>
    internal sealed class Settings
    {
        internal readonly string Server; // without a slash at its end
        internal readonly TokenSource Token; // null for none
        internal readonly string KeyId;
        internal readonly string KeySecret;
        internal readonly int Attempts;
        internal readonly TimeSpan Timeout;
        internal readonly Platform Platform;
        internal readonly bool Stay;

        internal Settings(Options options)
        {
            var given = options.Server == null ? OfEnvironment(options) : options;
            if (string.IsNullOrEmpty(given.Server)) throw new ArgumentException("no server: set Server, or SBCTL_SERVER");
            if (string.IsNullOrEmpty(given.KeyId) != string.IsNullOrEmpty(given.KeySecret))
            {
                throw new ArgumentException("a signing key requires both KeyId and KeySecret");
            }
            if (given.Attempts < 1 || given.Timeout <= TimeSpan.Zero)
            {
                throw new ArgumentException("Attempts and Timeout must be greater than 0");
            }
            if (given.Platform.ForPlayers && !string.IsNullOrEmpty(given.KeySecret) && !given.AllowKeyInClient)
            {
                throw new ArgumentException(
                    "a key secret in a program for players: everyone who has the program can sign any score. Sign on your "
                    + "own server, or let players submit with their tokens (docs/sdks.md); for a test, set AllowKeyInClient");
            }
            Server = BaseOf(given.Server);
            Token = given.TokenSource ?? Fixed(given.Token);
            KeyId = given.KeyId ?? "";
            KeySecret = given.KeySecret ?? "";
            Attempts = given.Attempts;
            Timeout = given.Timeout;
            Platform = given.Platform;
            Stay = given.Platform.StaysOnContext;
        }

        // All or none, so that credentials never go to another server than theirs.
        private static Options OfEnvironment(Options o)
        {
            return new Options
            {
                Server = Environment.GetEnvironmentVariable("SBCTL_SERVER"),
                Token = o.Token ?? Environment.GetEnvironmentVariable("SBCTL_TOKEN"),
                TokenSource = o.TokenSource,
                KeyId = o.KeyId ?? Environment.GetEnvironmentVariable("SBCTL_KEY_ID"),
                KeySecret = o.KeySecret ?? Environment.GetEnvironmentVariable("SBCTL_KEY_SECRET"),
                AllowKeyInClient = o.AllowKeyInClient,
                Attempts = o.Attempts,
                Timeout = o.Timeout,
                Platform = o.Platform,
            };
        }

        private static TokenSource Fixed(string token)
        {
            if (string.IsNullOrEmpty(token)) return null;
            var known = Task.FromResult(token);
            return _ => known;
        }

        private static string BaseOf(string server)
        {
            Uri uri;
            if (!Uri.TryCreate(server, UriKind.Absolute, out uri) || (uri.Scheme != "http" && uri.Scheme != "https")
                || uri.Host == "" || uri.UserInfo != "")
            {
                throw new ArgumentException("invalid server address \"" + server + "\": must be of the form https://host:port");
            }
            var address = uri.GetLeftPart(UriPartial.Authority) + uri.AbsolutePath;
            return address.EndsWith("/", StringComparison.Ordinal) ? address.Substring(0, address.Length - 1) : address;
        }
    }
}
