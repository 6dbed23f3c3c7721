using System;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>The whole body of a response.</summary>
    internal struct Body
    {
        /// <summary>The maximum size of a response. 500 receipts are far smaller.</summary>
        private const int MaxResponse = 4 << 20;

        internal byte[] Bytes;
        internal int Length;

        /// <summary>Reads a body, and fails if it is too large.</summary>
        internal static async Task<Body> ReadAsync(IApiResponse response, bool stay, CancellationToken cancel)
        {
            var bytes = new byte[4096];
            var length = 0;
            for (;;)
            {
                var count = await response.ReadAsync(bytes, length, bytes.Length - length, cancel).ConfigureAwait(stay);
                if (count == 0) return new Body { Bytes = bytes, Length = length };
                length += count;
                if (length > MaxResponse) throw Errors.Connection("a response of over " + MaxResponse + " bytes");
                if (length == bytes.Length) Array.Resize(ref bytes, 2 * length);
            }
        }
    }
}
