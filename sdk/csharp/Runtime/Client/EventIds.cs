using System;
using System.Globalization;

namespace Scoreboard.Client
{
    /// <summary>Makes event ids.</summary>
    public static class EventIds
    {
        /// <summary>
        /// Returns a new event id: a UUID of version 7, which sorts by time and so keeps the server's indexes compact.
        /// </summary>
        public static string New()
        {
            return At(DateTimeOffset.UtcNow);
        }

        internal static string At(DateTimeOffset now)
        {
            // A UUID of version 4 has its random digits and its variant at the same places.
            var random = Guid.NewGuid().ToString("D").Substring(15);
            var time = now.ToUnixTimeMilliseconds().ToString("x12", CultureInfo.InvariantCulture);
            return time.Substring(0, 8) + "-" + time.Substring(8) + "-7" + random;
        }
    }
}
