using System;

namespace Scoreboard.Client
{
    /// <summary>
    /// Random waits between tries. Full jitter keeps clients that failed together from retrying together.
    /// </summary>
    internal sealed class Jitter
    {
        private static readonly TimeSpan Base = TimeSpan.FromMilliseconds(200);
        private static readonly TimeSpan Limit = TimeSpan.FromSeconds(5);

        private readonly Random random = new Random(Guid.NewGuid().GetHashCode());

        /// <summary>A random time below 200 ms·2ⁿ and 5 s.</summary>
        internal TimeSpan Next(int n)
        {
            return Next(n, Base, Limit);
        }

        /// <summary>A random time below first·2ⁿ and limit.</summary>
        internal TimeSpan Next(int n, TimeSpan first, TimeSpan limit)
        {
            var bound = Math.Min(first.Ticks * (double)(1L << Math.Min(n, 30)), limit.Ticks);
            return TimeSpan.FromTicks((long)(Share() * bound));
        }

        /// <summary>A random number below 1.</summary>
        internal double Share()
        {
            lock (random) return random.NextDouble();
        }
    }
}
