using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Scoreboard.Client.Tests
{
    /// <summary>
    /// JSON as trees, apart from the client's own reader: objects are Dictionaries, arrays Lists, integers longs.
    /// </summary>
    public static class Json
    {
        public static object Parse(string text)
        {
            var at = 0;
            var value = Value(text, ref at);
            Space(text, ref at);
            Check.That(at == text.Length, "unexpected data after JSON");
            return value;
        }

        /// <summary>Writes a tree with the fields of objects in the order of their names.</summary>
        public static string Write(object value)
        {
            if (value == null) return "null";
            if (value is bool) return (bool)value ? "true" : "false";
            if (value is string) return Quote((string)value);
            var fields = value as IDictionary<string, object>;
            if (fields != null)
            {
                var names = fields.Keys.OrderBy(n => n, StringComparer.Ordinal);
                return "{" + string.Join(",", names.Select(n => Quote(n) + ":" + Write(fields[n]))) + "}";
            }
            if (value is IEnumerable) return "[" + string.Join(",", ((IEnumerable)value).Cast<object>().Select(Write)) + "]";
            return Convert.ToString(value, CultureInfo.InvariantCulture);
        }

        private static string Quote(string value)
        {
            return "\"" + value.Replace("\\", "\\\\").Replace("\"", "\\\"").Replace("\n", "\\n") + "\"";
        }

        private static void Space(string text, ref int at)
        {
            while (at < text.Length && char.IsWhiteSpace(text[at])) at++;
        }

        private static object Value(string text, ref int at)
        {
            Space(text, ref at);
            switch (text[at])
            {
                case '{': return Object(text, ref at);
                case '[': return List(text, ref at);
                case '"': return String(text, ref at);
                case 't': at += 4; return true;
                case 'f': at += 5; return false;
                case 'n': at += 4; return null;
                default: return Number(text, ref at);
            }
        }

        private static object Object(string text, ref int at)
        {
            var fields = new Dictionary<string, object>();
            for (at++;;)
            {
                Space(text, ref at);
                if (text[at] == '}') { at++; return fields; }
                if (text[at] == ',') { at++; Space(text, ref at); }
                var name = String(text, ref at);
                Space(text, ref at);
                at++; // the colon
                fields.Add(name, Value(text, ref at));
            }
        }

        private static object List(string text, ref int at)
        {
            var items = new List<object>();
            for (at++;;)
            {
                Space(text, ref at);
                if (text[at] == ']') { at++; return items; }
                if (text[at] == ',') at++;
                items.Add(Value(text, ref at));
            }
        }

        private static object Number(string text, ref int at)
        {
            var start = at;
            while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0) at++;
            var number = text.Substring(start, at - start);
            long integer;
            if (long.TryParse(number, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out integer)) return integer;
            return double.Parse(number, CultureInfo.InvariantCulture);
        }

        private static string String(string text, ref int at)
        {
            var value = new StringBuilder();
            for (at++; text[at] != '"'; at++)
            {
                if (text[at] != '\\') { value.Append(text[at]); continue; }
                switch (text[++at])
                {
                    case 'n': value.Append('\n'); break;
                    case 't': value.Append('\t'); break;
                    case 'r': value.Append('\r'); break;
                    case 'b': value.Append('\b'); break;
                    case 'f': value.Append('\f'); break;
                    case 'u':
                        value.Append((char)int.Parse(text.Substring(at + 1, 4), NumberStyles.HexNumber));
                        at += 4;
                        break;
                    default: value.Append(text[at]); break;
                }
            }
            at++;
            return value.ToString();
        }
    }
}
