using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>
    /// A client of one server. It may be used by several threads, has no global state and nothing to close: a
    /// CancellationToken ends a call, and disposing of a watch ends it. Every call fails with a ScoreboardException, or with
    /// a CallCanceledException if its caller has cancelled it.
    /// </summary>
    public sealed partial class ScoreboardClient
    {
        /// <summary>The maximum number of increments in a batch.</summary>
        public const int MaxBatch = 500;

        private readonly Calls calls;
        private readonly bool stay;

        /// <summary>A client with the SBCTL_ variables of the environment.</summary>
        public ScoreboardClient()
            : this(new Options())
        {
        }

        /// <summary>A client with options.</summary>
        public ScoreboardClient(Options options)
        {
            calls = new Calls(new Settings(options));
            stay = calls.Settings.Stay;
        }

        /// <summary>A client of a server with a token.</summary>
        public ScoreboardClient(string server, string token)
            : this(new Options { Server = server, Token = token })
        {
        }

        internal bool Stay
        {
            get { return stay; }
        }

        private Task<T> GetAsync<T>(string path, Query query, Func<JsonReader, T> read, CancellationToken cancel)
        {
            return calls.SendAsync(new Call { Path = path, Query = query }, read, cancel);
        }

        private Task<T> SendAsync<T>(
            string method, string path, string body, Func<JsonReader, T> read, CancellationToken cancel)
        {
            var call = new Call { Method = method, Path = path };
            if (body != null) call.Body = () => body;
            return calls.SendAsync(call, read, cancel);
        }
    }
}
