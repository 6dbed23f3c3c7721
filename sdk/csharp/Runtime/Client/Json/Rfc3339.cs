using System;
using System.Globalization;

namespace Scoreboard.Client
{
    /// <summary>Times of the API. Fractions beyond a tenth of a microsecond are cut off.</summary>
    internal static class Rfc3339
    {
        /// <summary>Writes a time in UTC, to the second.</summary>
        internal static string Seconds(DateTimeOffset time)
        {
            return time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);
        }

        /// <summary>Writes a time in UTC, exactly.</summary>
        internal static string Exact(DateTimeOffset time)
        {
            return time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss.FFFFFFF'Z'", CultureInfo.InvariantCulture);
        }

        internal static bool TryParse(byte[] text, int length, out DateTimeOffset time)
        {
            time = default(DateTimeOffset);
            int year, month, day, hour, minute, second, zoneHour = 0, zoneMinute = 0;
            if (length < 20 || !Digits(text, 0, 4, out year) || !Digits(text, 5, 2, out month)
                || !Digits(text, 8, 2, out day) || !Digits(text, 11, 2, out hour) || !Digits(text, 14, 2, out minute)
                || !Digits(text, 17, 2, out second) || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':')
            {
                return false;
            }
            var at = 19;
            long ticks = 0;
            if (text[at] == '.')
            {
                long unit = TimeSpan.TicksPerSecond;
                for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++) ticks += (unit /= 10) * (text[at] - '0');
            }
            if (at >= length) return false;
            var sign = text[at] == '-' ? -1 : 1;
            if (text[at] != 'Z' && text[at] != 'z')
            {
                if (at + 6 != length || !Digits(text, at + 1, 2, out zoneHour) || !Digits(text, at + 4, 2, out zoneMinute)) return false;
            }
            else if (at + 1 != length)
            {
                return false;
            }
            if (year < 1 || month < 1 || month > 12 || day < 1 || day > DateTime.DaysInMonth(year, month) || hour > 23
                || minute > 59 || second > 60 || zoneHour > 14 || zoneMinute > 59)
            {
                return false;
            }
            var leap = second == 60 ? 1 : 0;
            var zone = new TimeSpan(sign * zoneHour, sign * zoneMinute, 0);
            var utc = new DateTime(year, month, day, hour, minute, second - leap, DateTimeKind.Utc).AddSeconds(leap).AddTicks(ticks) - zone;
            time = new DateTimeOffset(utc);
            return true;
        }

        private static bool Digits(byte[] text, int at, int count, out int value)
        {
            value = 0;
            for (var n = at; n < at + count; n++)
            {
                if (text[n] < '0' || text[n] > '9') return false;
                value = value * 10 + (text[n] - '0');
            }
            return true;
        }
    }
}
