using System;
using System.Text;

namespace Scoreboard.Client
{
    /// <summary>
    /// Keeps the latest strings by their UTF-8 text, so that user ids, names and addresses of pictures that come again with
    /// every message are made once. Its size is fixed: a string of the same slot replaces the one before.
    /// </summary>
    internal sealed class StringCache
    {
        private const int Slots = 1024; // a power of two; 100 rows have up to 300 strings
        private const int MaxLength = 256; // bytes
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        private readonly byte[][] keys = new byte[Slots][];
        private readonly string[] values = new string[Slots];

        internal string Get(byte[] text, int length)
        {
            if (length == 0) return "";
            if (length > MaxLength) return Utf8.GetString(text, 0, length);
            var slot = Hash(text, length) & (Slots - 1);
            if (!Same(keys[slot], text, length))
            {
                var key = new byte[length];
                Buffer.BlockCopy(text, 0, key, 0, length);
                values[slot] = Utf8.GetString(text, 0, length);
                keys[slot] = key;
            }
            return values[slot];
        }

        private static int Hash(byte[] text, int length)
        {
            unchecked
            {
                var hash = (int)2166136261; // FNV-1a
                for (var n = 0; n < length; n++) hash = (hash ^ text[n]) * 16777619;
                return hash ^ hash >> 15;
            }
        }

        private static bool Same(byte[] key, byte[] text, int length)
        {
            if (key == null || key.Length != length) return false;
            for (var n = 0; n < length; n++)
            {
                if (key[n] != text[n]) return false;
            }
            return true;
        }
    }
}
