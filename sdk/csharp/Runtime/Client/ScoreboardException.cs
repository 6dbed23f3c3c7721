using System;
using System.Collections.Generic;

namespace Scoreboard.Client
{
    /// <summary>
    /// Why a call failed: an error response of the server or, with the status 0, a failure without a response. Then the
    /// code is "unavailable", and InnerException is the cause.
    /// </summary>
    public sealed class ScoreboardException : Exception
    {
        private const string Undescribed = "Send a request that /openapi.json describes.";

        // The same in every client: sdk/conformance/errors.json has them.
        private static readonly Dictionary<string, string> NextSteps = new Dictionary<string, string>
        {
            { "invalid_request", "Correct the request; sent again unchanged, it fails again." },
            { "unauthorized", "Get a new token." },
            { "invalid_signature", "Check the clock, the key id and the secret." },
            { "forbidden", "Use the user's own token, or one with a wider scope." },
            { "not_found", "Check the id and the name of the board." },
            { "method_not_allowed", Undescribed },
            { "unsupported_media_type", Undescribed },
            { "event_conflict", "Use a new event id; this one belongs to another increment." },
            { "board_closed", "Write to an open board; this one accepts no more scores." },
            { "token_used", "Get a new token; this one was used." },
            { "attempts_used", "Wait for the next period; all attempts of this one are used." },
            { "period_ended", "Read the board; the increment was for a period that is not the current one." },
            { "not_joined", "Join the period first; the board counts only those who have." },
            { "join_closed", "Join the next period; this one takes no players in or out any more." },
            { "tournament_full", "Join another period, or try again before the start; a player may leave." },
            { "conflict", "Read the current state, then decide again." },
            { "not_settled", "Wait as long as the server asks, then read it again." },
            { "gone", "Do not send it again; what it names no longer exists." },
            { "payload_too_large", "Send less in one request." },
            { "delta_out_of_range", "Send a delta within the limits." },
            { "score_out_of_range", "Keep the score within the board's limits." },
            { "rule_violated", "Follow the board's rules, such as starting an action first." },
            { "rate_limited", "Wait as long as the server asks, then send it again with the same event id." },
        };

        /// <summary>An error of your own sender of an OfflineQueue, with the code of your server's response.</summary>
        public ScoreboardException(string code, string message, int status = 0, Exception cause = null)
            : base(message, cause)
        {
            Code = code ?? "";
            Status = status;
        }

        /// <summary>What is wrong, for programs. Later servers may send other codes.</summary>
        public string Code { get; }

        /// <summary>HTTP status; 0 without a response.</summary>
        public int Status { get; }

        /// <summary>The invalid field of the request, or "".</summary>
        public string Field { get; internal set; } = "";

        /// <summary>Which rule rejected the request, if the code alone does not say, or "".</summary>
        public string Reason { get; internal set; } = "";

        /// <summary>Event id of the increment, or "". It is safe to send it again.</summary>
        public string EventId { get; internal set; } = "";

        /// <summary>Finds the request in the server's logs.</summary>
        public string RequestId { get; internal set; } = "";

        /// <summary>How long the server asks to wait; zero if it does not.</summary>
        public TimeSpan RetryAfter { get; internal set; }

        /// <summary>In a not_found: the rank of the score in question; 0 if there is none.</summary>
        public long WouldRank { get; internal set; }

        /// <summary>In an attempts_used: when the next period begins, in RFC 3339; "" if none is planned.</summary>
        public string NextReset { get; internal set; } = "";

        /// <summary>Number of tries.</summary>
        public int Attempts { get; internal set; } = 1;

        /// <summary>Whether the same request may succeed later.</summary>
        public bool Temporary
        {
            get
            {
                return Code == "rate_limited" || Code == "overloaded" || Code == "unavailable" || Code == "internal"
                    || Status >= 500;
            }
        }

        /// <summary>What to do about the error, for people; "" for a permanent error with an unknown code.</summary>
        public string NextStep
        {
            get
            {
                string step;
                if (NextSteps.TryGetValue(Code, out step)) return step;
                return Temporary ? "Send it again later, with the same event id." : "";
            }
        }
    }

    /// <summary>
    /// The caller has cancelled a call. An increment may have been counted by then; it is safe to send it again with its
    /// event id.
    /// </summary>
    public sealed class CallCanceledException : OperationCanceledException
    {
        internal CallCanceledException(string eventId, System.Threading.CancellationToken cancel)
            : base("the call was cancelled", cancel)
        {
            EventId = eventId ?? "";
        }

        /// <summary>Event id of the increment, or "".</summary>
        public string EventId { get; }
    }
}
