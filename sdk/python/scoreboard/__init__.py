"""The Python SDK of scoreboard: submit signed score increments, read leaderboards and follow one live.

from scoreboard import Scoreboard

sb = Scoreboard("https://scores.example.com", token=..., key_id=..., key_secret=...)
receipt = sb.submit(user_id="alice", delta=5, event_id="match-8841")
print(receipt.new_score, receipt.replayed)
"""

from scoreboard._board import Connection, Move, State
from scoreboard._operations import MAX_BATCH, BatchResult, Event, Increment, new_event_id
from scoreboard._store import Rejected
from scoreboard._types import (
    Action,
    Entry,
    JoinTicket,
    List,
    ListEntry,
    Place,
    Profile,
    RankExplanation,
    RankHistory,
    Receipt,
    Reward,
    Rewards,
    Statement,
    StatementEntry,
    Timeline,
    TimelineFrame,
    Top,
)
from scoreboard._version import __version__
from scoreboard.aio import AsyncScoreboard
from scoreboard.client import Scoreboard
from scoreboard.errors import (
    AttemptsUsedError,
    BoardClosedError,
    ConflictError,
    DeltaOutOfRangeError,
    EventConflictError,
    ForbiddenError,
    GoneError,
    InternalError,
    InvalidRequestError,
    InvalidSignatureError,
    NotFoundError,
    NotSettledError,
    OverloadedError,
    PayloadTooLargeError,
    PeriodEndedError,
    RateLimitedError,
    RuleViolatedError,
    ScoreboardError,
    ScoreOutOfRangeError,
    TokenUsedError,
    UnauthorizedError,
    UnavailableError,
)
from scoreboard.export import to_dataframe, to_records
from scoreboard.offline import AsyncOfflineQueue, Flushed, OfflineQueue
from scoreboard.tokens import AsyncRenewingToken, RenewingToken

__all__ = [
    "MAX_BATCH",
    "Action",
    "AsyncOfflineQueue",
    "AsyncRenewingToken",
    "AsyncScoreboard",
    "AttemptsUsedError",
    "BatchResult",
    "BoardClosedError",
    "ConflictError",
    "Connection",
    "DeltaOutOfRangeError",
    "Entry",
    "Event",
    "EventConflictError",
    "Flushed",
    "ForbiddenError",
    "GoneError",
    "Increment",
    "InternalError",
    "InvalidRequestError",
    "InvalidSignatureError",
    "JoinTicket",
    "List",
    "ListEntry",
    "Move",
    "NotFoundError",
    "NotSettledError",
    "OfflineQueue",
    "OverloadedError",
    "PayloadTooLargeError",
    "PeriodEndedError",
    "Place",
    "Profile",
    "RankExplanation",
    "RankHistory",
    "RateLimitedError",
    "Receipt",
    "Rejected",
    "RenewingToken",
    "Reward",
    "Rewards",
    "RuleViolatedError",
    "ScoreOutOfRangeError",
    "Scoreboard",
    "ScoreboardError",
    "State",
    "Statement",
    "StatementEntry",
    "Timeline",
    "TimelineFrame",
    "TokenUsedError",
    "Top",
    "UnauthorizedError",
    "UnavailableError",
    "__version__",
    "new_event_id",
    "to_dataframe",
    "to_records",
]
