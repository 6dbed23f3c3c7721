using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;

namespace Scoreboard.Client
{
    /// <summary>What became of an event.</summary>
    public sealed class EventStatus
    {
        /// <summary>The event id.</summary>
        public string Id { get; internal set; } = "";

        /// <summary>pending, done or rejected.</summary>
        public string Status { get; internal set; } = "";

        /// <summary>If done: a receipt for each board, also of those that rules have added.</summary>
        public IReadOnlyList<Receipt> Receipts { get; internal set; } = new Receipt[0];

        /// <summary>If rejected: the code of the error.</summary>
        public string Code { get; internal set; } = "";

        /// <summary>If rejected: why.</summary>
        public string Message { get; internal set; } = "";

        /// <summary>Reads an event in any of the forms in which the API sends it.</summary>
        internal static EventStatus Read(JsonReader r)
        {
            var e = new EventStatus();
            var one = new Receipt();
            List<Receipt> several = null;
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("status")) e.Status = r.Text();
                else if (r.Is("error_code")) e.Code = r.Text();
                else if (r.Is("message")) e.Message = r.Text();
                else if (r.Is("receipts")) several = (List<Receipt>)r.List(Receipt.Read);
                else if (!one.ReadField(r)) r.Skip();
            }
            e.Id = one.ProcessedEventId;
            if (several == null && e.Status == "done")
            {
                several = new List<Receipt> { one };
                several.AddRange(one.Matched);
            }
            if (several == null) return e;
            e.Status = "done"; // the response for several boards has no status
            e.Receipts = several;
            return e;
        }
    }

    /// <summary>The outcome of one increment of a batch: a receipt or an error.</summary>
    public sealed class BatchResult
    {
        /// <summary>The receipt, or null.</summary>
        [MaybeNull]
        public Receipt Receipt { get; internal set; }

        /// <summary>The error, or null.</summary>
        [MaybeNull]
        public ScoreboardException Error { get; internal set; }

        internal static IReadOnlyList<BatchResult> ReadAll(JsonReader r)
        {
            IReadOnlyList<BatchResult> results = new BatchResult[0];
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("results")) results = r.List(Read);
                else r.Skip();
            }
            return results;
        }

        private static BatchResult Read(JsonReader r)
        {
            var result = new BatchResult();
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("receipt")) result.Receipt = r.Null() ? null : Receipt.Read(r);
                else if (r.Is("error")) result.Error = r.Null() ? null : Errors.Read(r, 200);
                else r.Skip();
            }
            return result;
        }
    }
}
