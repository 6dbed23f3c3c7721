using System;
using System.Collections.Generic;
using System.Text;

namespace Scoreboard.Client
{
    /// <summary>One event to count.</summary>
    public sealed class Increment
    {
        /// <summary>The user whose score moves.</summary>
        public string UserId { get; set; }

        /// <summary>Points to add; on best and latest boards the submitted score.</summary>
        public long Delta { get; set; }

        /// <summary>
        /// An event id counts once for each user, however often it is sent: 1 to 128 of A-Z a-z 0-9 . _ : @ -. Use the id
        /// of what is counted, such as a match; otherwise the client generates one.
        /// </summary>
        public string EventId { get; set; }

        /// <summary>The board; global by default.</summary>
        public string Board { get; set; }

        /// <summary>What the user did, for boards with rules about it.</summary>
        public string Action { get; set; }

        /// <summary>From StartActionAsync, for boards that require one; it is valid for one event.</summary>
        public string ActionToken { get; set; }

        /// <summary>Signed by an authoritative game server.</summary>
        public string Attestation { get; set; }

        /// <summary>
        /// What rules of boards compare, such as region and platform: up to 8 names, each with a value of 1 to 64 of
        /// A-Z a-z 0-9 . _ : @ -. Only without a board. They are signed in the headers.
        /// </summary>
        public IReadOnlyDictionary<string, string> Attributes { get; set; }

        /// <summary>
        /// Counts only while this is the current period of the board, such as weekly:2026-w47; otherwise the code is
        /// period_ended. It is signed in the headers.
        /// </summary>
        public string IfPeriod { get; set; }

        /// <summary>
        /// What the submission says about itself, such as the character that was played: the text of a JSON object of at
        /// most 1 KiB, for boards that keep metadata. It is signed in the headers.
        /// </summary>
        public string Metadata { get; set; }

        /// <summary>
        /// What decides among equal scores, on boards that have subscores; none counts as 0. It is signed in the headers.
        /// </summary>
        public long? Subscore { get; set; }

        /// <summary>Whether it has what the signature in the body does not cover.</summary>
        internal bool SignedInHeaders
        {
            get
            {
                return HasAttributes || !string.IsNullOrEmpty(IfPeriod) || !string.IsNullOrEmpty(Metadata) ||
                    Subscore != null;
            }
        }

        private bool HasAttributes
        {
            get { return Attributes != null && Attributes.Count > 0; }
        }

        /// <summary>A copy, with an event id.</summary>
        internal Increment WithEventId(DateTimeOffset now)
        {
            var copy = (Increment)MemberwiseClone();
            if (string.IsNullOrEmpty(copy.EventId)) copy.EventId = EventIds.At(now);
            return copy;
        }

        /// <summary>
        /// Writes the increment as the API takes it, with the current time; signed in its body if a key is given. That does
        /// not cover attributes, the period, metadata and a subscore: with them, the headers are signed.
        /// </summary>
        internal void Write(JsonWriter w, IReadOnlyList<string> boards, DateTimeOffset now, Settings key)
        {
            var timestamp = Rfc3339.Seconds(now);
            w.Open('{').Name("user_id").Value(UserId ?? "").Name("delta").Value(Delta).Name("event_id").Value(EventId);
            w.Field("timestamp", timestamp).Field("board", Board).Field("boards", boards).Field("action", Action);
            w.Field("action_token", ActionToken).Field("attestation", Attestation);
            WriteAttributes(w);
            w.Field("if_period", IfPeriod);
            WriteMetadata(w);
            WriteSubscore(w);
            if (key != null && key.KeyId != "" && !SignedInHeaders)
            {
                var signed = string.IsNullOrEmpty(Board) ? boards : new[] { Board };
                var text = Signing.FieldText(UserId, Delta, EventId, timestamp, signed, Action);
                w.Field("key_id", key.KeyId).Field("signature", Signing.Sign(key.KeySecret, text));
            }
            w.Close('}');
        }

        /// <summary>Writes the metadata, if there is any.</summary>
        /// <exception cref="FormatException">It is not a JSON object.</exception>
        internal void WriteMetadata(JsonWriter w)
        {
            if (string.IsNullOrEmpty(Metadata)) return;
            var bytes = Encoding.UTF8.GetBytes(Metadata);
            var r = new JsonReader(bytes, bytes.Length);
            if (!r.AtObject()) throw new FormatException("Metadata must be a JSON object");
            r.Skip();
            r.End();
            w.Name("metadata").Json(Metadata);
        }

        /// <summary>Writes the subscore, if there is one.</summary>
        internal void WriteSubscore(JsonWriter w)
        {
            if (Subscore != null) w.Name("subscore").Value(Subscore.Value);
        }

        /// <summary>Writes the attributes in the order of their names, if there are any.</summary>
        internal void WriteAttributes(JsonWriter w)
        {
            if (!HasAttributes) return;
            var names = new List<string>(Attributes.Keys);
            names.Sort(string.CompareOrdinal);
            w.Name("attributes").Open('{');
            foreach (var name in names) w.Name(name).Value(Attributes[name]);
            w.Close('}');
        }
    }
}
