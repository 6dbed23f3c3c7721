using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Scoreboard.Client
{
    /// <summary>
    /// Reads one JSON text from UTF-8, front to back, into the caller's types: without reflection, which IL2CPP strips, and
    /// without a tree. With a cache of strings, reading a message like the one before allocates nothing.
    /// </summary>
    internal sealed class JsonReader
    {
        private const int MaxDepth = 64;
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        private readonly StringCache strings;
        private byte[] data;
        private int at;
        private int end;
        private bool first; // whether the next field or item is the first of its object or array
        private int depth;
        private byte[] text = new byte[256]; // of the latest string
        private int textLength;
        private byte[] field = new byte[64]; // the latest name
        private int fieldLength;

        internal JsonReader(byte[] data, int length)
            : this(null)
        {
            Reset(data, length);
        }

        internal JsonReader(StringCache strings)
        {
            this.strings = strings;
        }

        internal void Reset(byte[] data, int length)
        {
            this.data = data;
            at = 0;
            end = length;
            first = false;
            depth = 0;
        }

        /// <summary>Whether the next value is an object.</summary>
        internal bool AtObject()
        {
            return Peek() == '{';
        }

        internal void BeginObject()
        {
            Enter('{');
        }

        internal void BeginArray()
        {
            Enter('[');
        }

        /// <summary>Reads the name of the next field; false at the end of the object.</summary>
        internal bool NextField()
        {
            if (!Next('}')) return false;
            ReadString();
            if (field.Length < textLength) field = new byte[text.Length];
            Buffer.BlockCopy(text, 0, field, 0, textLength);
            fieldLength = textLength;
            Expect(':');
            return true;
        }

        /// <summary>Whether there is another item; false at the end of the array.</summary>
        internal bool NextItem()
        {
            return Next(']');
        }

        /// <summary>Whether the latest field has a name, which is ASCII.</summary>
        internal bool Is(string name)
        {
            if (name.Length != fieldLength) return false;
            for (var n = 0; n < fieldLength; n++)
            {
                if (field[n] != name[n]) return false;
            }
            return true;
        }

        /// <summary>The name of the latest field, where names are data.</summary>
        internal string FieldName()
        {
            return Utf8.GetString(field, 0, fieldLength);
        }

        /// <summary>Reads a null, if the next value is one.</summary>
        internal bool Null()
        {
            if (Peek() != 'n') return false;
            Word("null");
            return true;
        }

        /// <summary>Reads a string; "" for null.</summary>
        internal string Text()
        {
            if (Null()) return "";
            ReadString();
            return strings != null ? strings.Get(text, textLength) : Utf8.GetString(text, 0, textLength);
        }

        internal bool Bool()
        {
            if (Null()) return false;
            if (Peek() == 't')
            {
                Word("true");
                return true;
            }
            Word("false");
            return false;
        }

        /// <summary>Reads an integer; 0 for null.</summary>
        internal long Long()
        {
            if (Null()) return 0;
            var start = at;
            var negative = data[at] == '-';
            if (negative) at++;
            var from = at;
            long value = 0;
            for (; at < end && data[at] >= '0' && data[at] <= '9'; at++) value = checked(value * 10 + (data[at] - '0'));
            if (at == from) throw Invalid("a number");
            if (at < end && (data[at] == '.' || data[at] == 'e' || data[at] == 'E'))
            {
                at = start;
                var exact = Double();
                if (exact != Math.Floor(exact) || Math.Abs(exact) > 9007199254740991) throw Invalid("an integer");
                return (long)exact;
            }
            return negative ? -value : value;
        }

        internal double Double()
        {
            if (Null()) return 0;
            var start = at;
            while (at < end && "+-.eE0123456789".IndexOf((char)data[at]) >= 0) at++;
            double value;
            var number = Encoding.ASCII.GetString(data, start, at - start);
            if (double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out value)) return value;
            throw Invalid("a number");
        }

        /// <summary>Reads a time in RFC 3339; the default value for null.</summary>
        internal DateTimeOffset Time()
        {
            if (Null()) return default(DateTimeOffset);
            ReadString();
            DateTimeOffset time;
            if (Rfc3339.TryParse(text, textLength, out time)) return time;
            throw Invalid("a time");
        }

        internal IReadOnlyList<T> List<T>(Func<JsonReader, T> item)
        {
            var list = new List<T>();
            if (Null()) return list;
            BeginArray();
            while (NextItem()) list.Add(item(this));
            return list;
        }

        internal IReadOnlyList<string> Strings()
        {
            return List(ReadText);
        }

        /// <summary>Reads a value of any kind as its JSON text; "" for null.</summary>
        internal string Json()
        {
            if (Null()) return "";
            var from = at;
            Skip();
            return Utf8.GetString(data, from, at - from);
        }

        /// <summary>Reads a value of any kind, and forgets it.</summary>
        internal void Skip()
        {
            switch (Peek())
            {
                case '{':
                    BeginObject();
                    while (NextField()) Skip();
                    break;
                case '[':
                    BeginArray();
                    while (NextItem()) Skip();
                    break;
                case '"':
                    ReadString();
                    break;
                case 't':
                case 'f':
                    Bool();
                    break;
                case 'n':
                    Null();
                    break;
                default:
                    Double();
                    break;
            }
        }

        /// <summary>Fails if anything follows the value.</summary>
        internal void End()
        {
            SkipSpace();
            if (at < end) throw Invalid("the end");
        }

        private static string ReadText(JsonReader r)
        {
            return r.Text();
        }

        private void Enter(char bracket)
        {
            if (++depth > MaxDepth) throw new FormatException("JSON nested too deeply");
            Expect(bracket);
            first = true;
        }

        private bool Next(char close)
        {
            if (Peek() == close)
            {
                at++;
                depth--;
                first = false;
                return false;
            }
            if (!first) Expect(',');
            first = false;
            return true;
        }

        private int Peek()
        {
            SkipSpace();
            if (at >= end) throw Invalid("more");
            return data[at];
        }

        private void SkipSpace()
        {
            while (at < end && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t')) at++;
        }

        private void Expect(char c)
        {
            if (Peek() != c) throw Invalid("'" + c + "'");
            at++;
        }

        private void Word(string word)
        {
            for (var n = 0; n < word.Length; n++, at++)
            {
                if (at >= end || data[at] != word[n]) throw Invalid(word);
            }
        }

        /// <summary>Reads a string into text, as UTF-8.</summary>
        private void ReadString()
        {
            Expect('"');
            textLength = 0;
            for (;;)
            {
                if (at >= end) throw Invalid("the end of a string");
                var b = data[at++];
                if (b == '"') return;
                if (b < 0x20) throw Invalid("a string without control characters");
                if (b == '\\') Escape();
                else Append(b);
            }
        }

        private void Escape()
        {
            if (at >= end) throw Invalid("an escape");
            var c = (char)data[at++];
            switch (c)
            {
                case 'b': Append(8); break;
                case 'f': Append(12); break;
                case 'n': Append(10); break;
                case 'r': Append(13); break;
                case 't': Append(9); break;
                case '"':
                case '\\':
                case '/': Append((byte)c); break;
                case 'u': Unicode(); break;
                default: throw Invalid("an escape");
            }
        }

        private void Unicode()
        {
            var c = Hex();
            if (c >= 0xd800 && c < 0xdc00 && at + 1 < end && data[at] == '\\' && data[at + 1] == 'u')
            {
                at += 2;
                var low = Hex();
                if (low < 0xdc00 || low > 0xdfff) throw Invalid("a pair of surrogates");
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            }
            if (c >= 0xd800 && c < 0xe000) c = 0xfffd; // half of a pair
            if (c < 0x80)
            {
                Append((byte)c);
                return;
            }
            if (c < 0x800)
            {
                Append((byte)(0xc0 | c >> 6));
            }
            else
            {
                if (c < 0x10000)
                {
                    Append((byte)(0xe0 | c >> 12));
                }
                else
                {
                    Append((byte)(0xf0 | c >> 18));
                    Append((byte)(0x80 | c >> 12 & 0x3f));
                }
                Append((byte)(0x80 | c >> 6 & 0x3f));
            }
            Append((byte)(0x80 | c & 0x3f));
        }

        private int Hex()
        {
            var value = 0;
            for (var n = 0; n < 4; n++, at++)
            {
                var digit = at < end ? "0123456789abcdef".IndexOf(char.ToLowerInvariant((char)data[at])) : -1;
                if (digit < 0) throw Invalid("four hexadecimal digits");
                value = value * 16 + digit;
            }
            return value;
        }

        private void Append(byte b)
        {
            if (textLength == text.Length) Array.Resize(ref text, 2 * text.Length);
            text[textLength++] = b;
        }

        private FormatException Invalid(string wanted)
        {
            return new FormatException("invalid JSON at byte " + at + ": expected " + wanted);
        }
    }
}
