using System;
using System.Collections.Generic;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Scoreboard.Client
{
    /// <summary>Both signature schemes; the client signs by itself. For a server: a secret never goes into a game.</summary>
    public static class Signing
    {
        /// <summary>The HMAC-SHA256 of a text, in hex. The secret is used as it was shown.</summary>
        public static string Sign(string secret, string text)
        {
            using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
            {
                return Hex(hmac.ComputeHash(Encoding.UTF8.GetBytes(text)));
            }
        }

        /// <summary>What the signature in the body of an increment signs. boards is its board, or its boards.</summary>
        public static string FieldText(
            string userId, long delta, string eventId, string timestamp, IReadOnlyList<string> boards, string action)
        {
            var text = new StringBuilder();
            text.Append(userId).Append('|').Append(delta.ToString(CultureInfo.InvariantCulture));
            text.Append('|').Append(eventId).Append('|').Append(timestamp);
            var named = boards != null && boards.Count > 0;
            if (named || !string.IsNullOrEmpty(action)) text.Append('|');
            if (named) text.Append(string.Join(",", boards));
            if (!string.IsNullOrEmpty(action)) text.Append('|').Append(action);
            return text.ToString();
        }

        /// <summary>
        /// What the signature in the headers of a request signs. The target is the path and query as the server gets them: a
        /// prefix that a proxy removes is not in it.
        /// </summary>
        public static string HeaderText(string method, string target, string keyId, string timestamp, byte[] body)
        {
            using (var sha = SHA256.Create())
            {
                return string.Join("\n", method, target, keyId, timestamp, Hex(sha.ComputeHash(body)));
            }
        }

        private static string Hex(byte[] bytes)
        {
            var digits = new StringBuilder(2 * bytes.Length);
            foreach (var b in bytes) digits.Append(b.ToString("x2", CultureInfo.InvariantCulture));
            return digits.ToString();
        }
    }
}
