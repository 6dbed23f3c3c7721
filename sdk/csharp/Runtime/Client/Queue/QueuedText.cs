using System.Collections.Generic;

namespace Scoreboard.Client
{
    /// <summary>The text of an increment in a store: the fields that are kept, in a fixed order, without a signature.</summary>
    internal static class QueuedText
    {
        internal static string Of(Increment i)
        {
            var w = new JsonWriter();
            Write(w, i);
            return w.ToString();
        }

        internal static void Write(JsonWriter w, Increment i)
        {
            w.Open('{').Field("user_id", i.UserId).Name("delta").Value(i.Delta).Field("event_id", i.EventId);
            w.Field("board", i.Board).Field("action", i.Action).Field("action_token", i.ActionToken);
            w.Field("attestation", i.Attestation);
            i.WriteAttributes(w);
            w.Field("if_period", i.IfPeriod);
            i.WriteMetadata(w);
            i.WriteSubscore(w);
            w.Close('}');
        }

        internal static Increment Read(JsonReader r)
        {
            var i = new Increment();
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("user_id")) i.UserId = r.Text();
                else if (r.Is("delta")) i.Delta = r.Long();
                else if (r.Is("event_id")) i.EventId = r.Text();
                else if (r.Is("board")) i.Board = r.Text();
                else if (r.Is("action")) i.Action = r.Text();
                else if (r.Is("action_token")) i.ActionToken = r.Text();
                else if (r.Is("attestation")) i.Attestation = r.Text();
                else if (r.Is("attributes")) i.Attributes = ReadAttributes(r);
                else if (r.Is("if_period")) i.IfPeriod = r.Text();
                else if (r.Is("metadata")) i.Metadata = r.Json();
                else if (r.Is("subscore")) i.Subscore = r.Long();
                else r.Skip();
            }
            return i;
        }

        private static Dictionary<string, string> ReadAttributes(JsonReader r)
        {
            var attributes = new Dictionary<string, string>();
            r.BeginObject();
            while (r.NextField())
            {
                var name = r.FieldName();
                attributes[name] = r.Text();
            }
            return attributes;
        }
    }
}
