using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Scoreboard.Client
{
    /// <summary>Sends increments with a client: one alone, several in a batch.</summary>
    public sealed class ScoreboardSender : ISender
    {
        private readonly ScoreboardClient client;

        /// <summary>Sends with a client.</summary>
        public ScoreboardSender(ScoreboardClient client)
        {
            this.client = client;
        }

        /// <inheritdoc/>
        public async Task<IReadOnlyList<BatchResult>> SendAsync(
            IReadOnlyList<Increment> increments, CancellationToken cancel)
        {
            if (increments.Count > 1) return await client.SubmitBatchAsync(increments, cancel).ConfigureAwait(client.Stay);
            var receipt = await client.SubmitAsync(increments[0], cancel).ConfigureAwait(client.Stay);
            return new[] { new BatchResult { Receipt = receipt } };
        }
    }
}
