using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Scoreboard.Client
{
    /// <summary>Writes one JSON text.</summary>
    internal sealed class JsonWriter
    {
        private readonly StringBuilder text = new StringBuilder(256);
        private bool first = true;

        internal JsonWriter Open(char bracket)
        {
            Separate();
            text.Append(bracket);
            first = true;
            return this;
        }

        internal JsonWriter Close(char bracket)
        {
            text.Append(bracket);
            first = false;
            return this;
        }

        internal JsonWriter Name(string name)
        {
            Separate();
            Quote(name);
            text.Append(':');
            first = true; // its value needs no comma
            return this;
        }

        internal JsonWriter Value(string value)
        {
            Separate();
            Quote(value);
            return this;
        }

        /// <summary>Writes a value that is JSON already.</summary>
        internal JsonWriter Json(string value)
        {
            Separate();
            text.Append(value);
            return this;
        }

        internal JsonWriter Value(long value)
        {
            Separate();
            text.Append(value.ToString(CultureInfo.InvariantCulture));
            return this;
        }

        /// <summary>Writes a field, unless it is empty.</summary>
        internal JsonWriter Field(string name, string value)
        {
            return string.IsNullOrEmpty(value) ? this : Name(name).Value(value);
        }

        internal JsonWriter Field(string name, long? value)
        {
            return value == null ? this : Name(name).Value(value.Value);
        }

        /// <summary>Writes a list, unless there is none.</summary>
        internal JsonWriter Field(string name, IEnumerable<string> values)
        {
            if (values == null) return this;
            Name(name).Open('[');
            foreach (var value in values) Value(value);
            return Close(']');
        }

        public override string ToString()
        {
            return text.ToString();
        }

        private void Separate()
        {
            if (!first) text.Append(',');
            first = false;
        }

        private void Quote(string value)
        {
            text.Append('"');
            foreach (var c in value)
            {
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                else if (c < ' ') text.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                else text.Append(c);
            }
            text.Append('"');
        }
    }
}
