"""The errors of calls: one class for each error code of the API, all of them a ScoreboardError."""

from collections.abc import Callable
from typing import Any

_TEMPORARY = {"rate_limited", "overloaded", "unavailable", "internal"}

# The same in every SDK: sdk/conformance/errors.json has them.
_NEXT_STEPS = {
    "invalid_request": "Correct the request; sent again unchanged, it fails again.",
    "unauthorized": "Get a new token.",
    "invalid_signature": "Check the clock, the key id and the secret.",
    "forbidden": "Use the user's own token, or one with a wider scope.",
    "not_found": "Check the id and the name of the board.",
    "method_not_allowed": "Send a request that /openapi.json describes.",
    "unsupported_media_type": "Send a request that /openapi.json describes.",
    "event_conflict": "Use a new event id; this one belongs to another increment.",
    "board_closed": "Write to an open board; this one accepts no more scores.",
    "token_used": "Get a new token; this one was used.",
    "attempts_used": "Wait for the next period; all attempts of this one are used.",
    "period_ended": "Read the board; the increment was for a period that is not the current one.",
    "not_joined": "Join the period first; the board counts only those who have.",
    "join_closed": "Join the next period; this one takes no players in or out any more.",
    "tournament_full": "Join another period, or try again before the start; a player may leave.",
    "conflict": "Read the current state, then decide again.",
    "not_settled": "Wait as long as the server asks, then read it again.",
    "gone": "Do not send it again; what it names no longer exists.",
    "payload_too_large": "Send less in one request.",
    "delta_out_of_range": "Send a delta within the limits.",
    "score_out_of_range": "Keep the score within the board's limits.",
    "rule_violated": "Follow the board's rules, such as starting an action first.",
    "rate_limited": "Wait as long as the server asks, then send it again with the same event id.",
}


class ScoreboardError(Exception):
    """Why a call failed: an error response of the server or, with status 0, a failure without a response (the code is
    unavailable, the cause in __cause__).

    Attributes:
        op: The operation, such as "submit an increment".
        status: HTTP status; 0 without a response.
        code: The API's error code. Codes that this version does not know are kept.
        message: What is wrong, for people.
        field: The invalid field of the request, if any.
        reason: Which rule rejected the request, if code alone does not say.
        event_id: Event id of the increment; safe to send again.
        request_id: Finds the request in the server's logs.
        retry_after: Seconds after which the server asks for the next try; 0 if it does not.
        would_rank: In a not_found: the rank of the score in question; 0 without one.
        next_reset: In an attempts_used: when the next period begins, in RFC 3339; "" if none is planned.
        attempts: Number of tries.
    """

    def __init__(
        self,
        message: str = "",
        *,
        op: str = "",
        status: int = 0,
        code: str = "unavailable",
        field: str = "",
        reason: str = "",
        event_id: str = "",
        request_id: str = "",
        retry_after: float = 0,
        would_rank: int = 0,
        next_reset: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.status = status
        self.code = code
        self.field = field
        self.reason = reason
        self.event_id = event_id
        self.request_id = request_id
        self.retry_after = retry_after
        self.would_rank = would_rank
        self.next_reset = next_reset
        self.attempts = attempts

    def __str__(self) -> str:
        text = f"{self.op}: " if self.op else ""
        text += self.message or self.code
        if self.status and self.message:
            text += f" ({self.code})"
        if self.attempts > 1:
            text += f", after {self.attempts} tries"
        return text

    def __reduce__(self) -> tuple[Callable[..., "ScoreboardError"], tuple[type, dict[str, Any]]]:
        return _rebuild, (type(self), dict(self.__dict__))  # so that it passes between processes

    @property
    def temporary(self) -> bool:
        """Whether the same call may succeed later: the server was overloaded, failing or unreachable."""
        return self.code in _TEMPORARY or self.status >= 500

    @property
    def next_step(self) -> str:
        """What to do about the error, for people; empty for a permanent error whose code is unknown."""
        step = _NEXT_STEPS.get(self.code, "")
        if not step and self.temporary:
            step = "Send it again later, with the same event id."
        return step


def _rebuild(cls: type[ScoreboardError], attributes: dict[str, Any]) -> ScoreboardError:
    error = cls(attributes["message"])
    error.__dict__.update(attributes)
    return error


class InvalidRequestError(ScoreboardError):
    """400: the request is malformed; field names what is wrong."""


class UnauthorizedError(ScoreboardError):
    """401: the token is missing, invalid or expired."""


class InvalidSignatureError(ScoreboardError):
    """401: the signature is missing, wrong or too old, or the key is unknown."""


class ForbiddenError(ScoreboardError):
    """403: the token or the key may not do this, or the user is banned."""


class NotFoundError(ScoreboardError):
    """404: no such board, user, score or event."""


class EventConflictError(ScoreboardError):
    """409: the event id was used for another increment."""


class BoardClosedError(ScoreboardError):
    """409: the board is frozen or has ended."""


class TokenUsedError(ScoreboardError):
    """409: the action token or ticket was used."""


class AttemptsUsedError(ScoreboardError):
    """409: all attempts of the period are used; next_reset says when the next one begins."""


class PeriodEndedError(ScoreboardError):
    """409: the period that the increment was for is not the current one."""


class NotJoinedError(ScoreboardError):
    """The user has not joined the period of a board that requires it."""


class JoinClosedError(ScoreboardError):
    """The period takes no players in or out any more."""


class TournamentFullError(ScoreboardError):
    """The period has its maximum of players."""


class ConflictError(ScoreboardError):
    """409: the state has changed since it was read."""


class NotSettledError(ScoreboardError):
    """409: the standings at this moment can still change."""


class GoneError(ScoreboardError):
    """410: it no longer exists."""


class PayloadTooLargeError(ScoreboardError):
    """413: the request is too large."""


class DeltaOutOfRangeError(ScoreboardError):
    """422: the delta is outside a limit; reason says which."""


class ScoreOutOfRangeError(ScoreboardError):
    """422: the score would leave the limits."""


class RuleViolatedError(ScoreboardError):
    """422: a rule of the board or the action was not followed."""


class RateLimitedError(ScoreboardError):
    """429: over a limit; retry_after says how long to wait."""


class OverloadedError(ScoreboardError):
    """503: the server has too much to do."""


class UnavailableError(ScoreboardError):
    """503, or no response: the server, its backends or the network do not work."""


class InternalError(ScoreboardError):
    """500: the server failed."""


_CLASSES: dict[str, type[ScoreboardError]] = {
    "invalid_request": InvalidRequestError,
    "unauthorized": UnauthorizedError,
    "invalid_signature": InvalidSignatureError,
    "forbidden": ForbiddenError,
    "not_found": NotFoundError,
    "event_conflict": EventConflictError,
    "board_closed": BoardClosedError,
    "token_used": TokenUsedError,
    "attempts_used": AttemptsUsedError,
    "period_ended": PeriodEndedError,
    "not_joined": NotJoinedError,
    "join_closed": JoinClosedError,
    "tournament_full": TournamentFullError,
    "conflict": ConflictError,
    "not_settled": NotSettledError,
    "gone": GoneError,
    "payload_too_large": PayloadTooLargeError,
    "delta_out_of_range": DeltaOutOfRangeError,
    "score_out_of_range": ScoreOutOfRangeError,
    "rule_violated": RuleViolatedError,
    "rate_limited": RateLimitedError,
    "overloaded": OverloadedError,
    "unavailable": UnavailableError,
    "internal": InternalError,
}


def error_of(code: str, message: str, **attributes: Any) -> ScoreboardError:
    """The error of a code, in its class. A code that this version does not know is a plain ScoreboardError."""
    return _CLASSES.get(code, ScoreboardError)(message, code=code, **attributes)


def unavailable(message: str, cause: BaseException | None = None, **attributes: Any) -> ScoreboardError:
    """The error of a call without a usable response."""
    error = error_of("unavailable", message, **attributes)
    error.__cause__ = cause
    return error
