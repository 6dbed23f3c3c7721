using System;
using System.Collections.Generic;
using System.Globalization;

namespace Scoreboard.Client
{
    /// <summary>Makes the errors of a client.</summary>
    internal static class Errors
    {
        private static readonly Dictionary<int, string> Codes = new Dictionary<int, string>
        {
            { 401, "unauthorized" }, { 403, "forbidden" }, { 404, "not_found" }, { 429, "rate_limited" },
            { 502, "unavailable" }, { 503, "unavailable" }, { 504, "unavailable" },
        };

        private static readonly Dictionary<string, int> Statuses = new Dictionary<string, int>
        {
            { "unauthorized", 401 }, { "token_used", 401 }, { "forbidden", 403 }, { "not_found", 404 },
            { "rate_limited", 429 }, { "unavailable", 503 }, { "overloaded", 503 },
        };

        /// <summary>A failure without a response.</summary>
        internal static ScoreboardException Connection(string message, Exception cause = null)
        {
            return new ScoreboardException("unavailable", message, 0, cause);
        }

        /// <summary>Makes a failed connection of any error that is not one of the client's.</summary>
        internal static ScoreboardException Wrap(string what, Exception error)
        {
            return error as ScoreboardException ?? Connection(what + ": " + error.Message, error);
        }

        internal static ScoreboardException NoReceipt(string eventId)
        {
            var error = Connection("the server's response contains no receipt");
            error.EventId = eventId;
            return error;
        }

        internal static ScoreboardException Pending(string eventId, Exception cause = null)
        {
            const string message = "the increment is accepted, but not counted yet";
            return new ScoreboardException("unavailable", message, 202, cause) { EventId = eventId };
        }

        /// <summary>The error of a code that arrived without a status.</summary>
        internal static ScoreboardException OfCode(string code, string message)
        {
            int status;
            if (!Statuses.TryGetValue(code, out status)) status = 400;
            return new ScoreboardException(code, message, status);
        }

        /// <summary>Decodes an error response. If it is not the API's, only its status counts.</summary>
        internal static ScoreboardException OfResponse(IApiResponse response, Body body, DateTimeOffset now)
        {
            var status = response.Status == 0 ? 302 : response.Status;
            var error = Parse(body, status);
            if (error == null)
            {
                string code;
                if (!Codes.TryGetValue(status, out code)) code = status < 500 ? "invalid_request" : "internal";
                error = new ScoreboardException(code, "unexpected response " + status + ", not from this API", status);
            }
            if (error.RequestId == "") error.RequestId = response.Header("X-Request-Id");
            error.RetryAfter = RetryAfter(response.Header("Retry-After"), now);
            return error;
        }

        /// <summary>The error in a body, or null if it is not of the API.</summary>
        private static ScoreboardException Parse(Body body, int status)
        {
            try
            {
                var r = new JsonReader(body.Bytes, body.Length);
                return r.AtObject() ? Read(r, status) : null;
            }
            catch (Exception e) when (e is FormatException || e is OverflowException || e is ArgumentException)
            {
                return null;
            }
        }

        /// <summary>Reads an error of the API; null for an object that is none.</summary>
        internal static ScoreboardException Read(JsonReader r, int status)
        {
            string code = "", message = "", field = "", reason = "", eventId = "", requestId = "", nextReset = "";
            long wouldRank = 0;
            r.BeginObject();
            while (r.NextField())
            {
                if (r.Is("error_code")) code = r.Text();
                else if (r.Is("message")) message = r.Text();
                else if (r.Is("field")) field = r.Text();
                else if (r.Is("reason")) reason = r.Text();
                else if (r.Is("event_id")) eventId = r.Text();
                else if (r.Is("request_id")) requestId = r.Text();
                else if (r.Is("would_rank")) wouldRank = r.Long();
                else if (r.Is("next_reset")) nextReset = r.Text();
                else r.Skip();
            }
            if (code == "") return null;
            return new ScoreboardException(code, message == "" ? code : message, status)
            {
                Field = field, Reason = reason, EventId = eventId, RequestId = requestId, WouldRank = wouldRank,
                NextReset = nextReset,
            };
        }

        /// <summary>The longest wait that a server can ask for. A timer of more than 24 days would fail.</summary>
        private static readonly TimeSpan LongestRetryAfter = TimeSpan.FromDays(1);

        /// <summary>Parses both forms of the header; zero if it is neither.</summary>
        private static TimeSpan RetryAfter(string header, DateTimeOffset now)
        {
            long seconds;
            DateTimeOffset time;
            var wait = TimeSpan.Zero;
            if (long.TryParse(header, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out seconds))
            {
                wait = TimeSpan.FromSeconds(Math.Min(seconds, 1000000000));
            }
            else if (DateTimeOffset.TryParseExact(
                header, "r", CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out time))
            {
                wait = time - now;
            }
            if (wait > LongestRetryAfter) return LongestRetryAfter;
            return wait > TimeSpan.Zero ? wait : TimeSpan.Zero;
        }
    }
}
