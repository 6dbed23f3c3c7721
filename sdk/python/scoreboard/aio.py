"""The client for asyncio."""

import asyncio
import inspect
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx

from scoreboard import _call, _operations
from scoreboard._board import State
from scoreboard._call import Call
from scoreboard._config import MAX_RESPONSE, Config, configure
from scoreboard._operations import MAX_PAGE, BatchResult, Event, Increment
from scoreboard._types import (
    Action,
    Cohort,
    Entry,
    JoinTicket,
    LeagueHistory,
    LeaguePlace,
    List,
    Participation,
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
    Top,
)
from scoreboard._version import USER_AGENT
from scoreboard._watch import Latest, Watcher
from scoreboard.errors import ScoreboardError, unavailable

T = TypeVar("T")


def from_config(config: Config) -> "AsyncScoreboard":
    """A client with the settings of another one."""
    client = AsyncScoreboard.__new__(AsyncScoreboard)
    client._start(config)
    return client


class AsyncScoreboard:
    """Scoreboard for asyncio: the same methods, as coroutines. Cancelling one ends its request; token may be a
    coroutine function (see AsyncRenewingToken)."""

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        key_id: str | None = None,
        key_secret: str | None = None,
        signing: Literal["fields", "headers"] = "fields",
        attempts: int = 5,
        try_timeout: float = 10,
        user_agent: str = USER_AGENT,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._config = configure(
            server,
            token=token,
            key_id=key_id,
            key_secret=key_secret,
            signing=signing,
            attempts=attempts,
            timeout=try_timeout,
            user_agent=user_agent,
            ssl_context=ssl_context,
        )
        self._start(self._config)

    def _start(self, config: Config) -> None:
        self._config = config
        self._http = httpx.AsyncClient(**config.http_options())
        self._watches: set[asyncio.Future[None]] = set()

    async def close(self) -> None:
        """End the watches and close connections."""
        for running in self._watches:
            running.cancel()
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncScoreboard":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Writes

    async def submit(
        self,
        *,
        user_id: str,
        delta: int,
        event_id: str = "",
        board: str = "",
        action: str = "",
        action_token: str = "",
        attestation: str = "",
        attributes: Mapping[str, str] | None = None,
        if_period: str = "",
        metadata: Mapping[str, Any] | None = None,
        subscore: int | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """Count an increment and return its receipt.

        Without an event id one is generated. Give it that of what happened (a match, a purchase), if that has one: a
        repeat then counts once, even from another process. If the call fails, the increment may or may not have been
        counted; the error's event_id is the id with which it can be sent again.

        If the server queues the increment, submit waits for its outcome, for 30 seconds at most. Then it raises an
        UnavailableError with the status 202: the increment is accepted, and receipt returns its outcome later.

        Without a board, the increment also counts on the boards whose rules match its action and attributes; matched
        are their receipts.
        """
        increment = Increment(
            user_id,
            delta,
            event_id,
            board,
            (),
            action,
            action_token,
            attestation,
            attributes or {},
            if_period,
            metadata,
            subscore,
        )
        return _operations.receipt_of(await self._counted(increment, timeout))

    async def submit_boards(
        self,
        *,
        user_id: str,
        delta: int,
        boards: Sequence[str],
        event_id: str = "",
        action: str = "",
        action_token: str = "",
        attestation: str = "",
        if_period: str = "",
        metadata: Mapping[str, Any] | None = None,
        subscore: int | None = None,
        timeout: float | None = None,
    ) -> list[Receipt]:
        """Count one increment on up to 10 boards, all or none, and return their receipts in the order of boards. A
        queued increment is waited for as in submit."""
        increment = Increment(
            user_id,
            delta,
            event_id,
            "",
            tuple(boards),
            action,
            action_token,
            attestation,
            {},
            if_period,
            metadata,
            subscore,
        )
        return _operations.in_order(await self._counted(increment, timeout), increment.boards)

    async def submit_async(self, increment: Increment, *, timeout: float | None = None) -> Event:
        """Hand in an increment to be counted later. The event is pending, or done if the server counted it at once;
        wait_for_event waits for the outcome."""
        return await self._do(_operations.submit(self._config, increment, respond_async=True), timeout)

    async def wait_for_event(self, event_id: str, *, user_id: str = "", timeout: float = 30) -> Event:
        """Wait until an event is done or rejected. user_id is needed for other users than the token's.

        An event that the server does not know, or does not know yet, raises NotFoundError when the time is over; one
        that is still pending then raises UnavailableError.
        """
        end = self._config.monotonic() + timeout
        for pause in _operations.pauses():
            left = max(end - self._config.monotonic(), 0.001)
            try:
                event = await self._do(_operations.receipt(event_id, user_id), left)
                error = _operations.still_pending(event)
            except ScoreboardError as failed:
                error = failed
                if failed.status != 404 and not failed.temporary:
                    raise
            if error is None:
                return event
            if self._config.monotonic() + pause >= end:
                raise error
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def submit_batch(self, increments: Iterable[Increment], *, timeout: float | None = None) -> list[BatchResult]:
        """Count up to 500 increments in one request, which needs the scope score:update, and return a result for
        each, in order. An error means that the outcome of all is unknown; they can be sent again."""
        return await self._do(_operations.submit_batch(list(increments)), timeout)

    async def receipt(self, event_id: str, *, user_id: str = "", timeout: float | None = None) -> Event:
        """Look up an event by its id; of another user than the token's, it needs the scope score:update."""
        return await self._do(_operations.receipt(event_id, user_id), timeout)

    async def start_action(
        self,
        *,
        user_id: str,
        board: str = "",
        boards: Sequence[str] = (),
        action: str = "",
        action_id: str = "",
        min_duration: str = "",
        ttl: str = "",
        min_delta: int | None = None,
        max_delta: int | None = None,
        timeout: float | None = None,
    ) -> Action:
        """Start an action of a user. The increment that ends it carries its action_token, has the same board and
        action, and is sent after min_duration (such as "30s") and before expires_at."""
        fields = {
            "board": board,
            "boards": boards,
            "action": action,
            "action_id": action_id,
            "min_duration": min_duration,
            "ttl": ttl,
            "min_delta": min_delta,
            "max_delta": max_delta,
        }
        return await self._do(_operations.start_action(user_id, fields), timeout)

    # Reads

    async def top(
        self,
        *,
        board: str = "",
        limit: int = 0,
        cursor: str = "",
        tier: str = "",
        min_version: int = 0,
        timeout: float | None = None,
    ) -> Top:
        """Read the top of a board (global without one), or with a cursor the next page: up to 100 rows, 10 without a
        limit. With a tier only the users in that tier of the board. min_version waits up to a second for that version
        of the board."""
        return await self._do(_operations.top(board, limit, cursor, tier, min_version), timeout)

    async def entries(
        self, *, board: str = "", page_size: int = MAX_PAGE, timeout: float | None = None
    ) -> AsyncIterator[Entry]:
        """Iterate over all rows of a board, best first, a page at a time. While others move, users whose standing is
        unchanged are neither skipped nor repeated. timeout is that of a page."""
        cursor = ""
        while True:
            page = await self.top(board=board, limit=page_size, cursor=cursor, timeout=timeout)
            for entry in page.entries:
                yield entry
            cursor = page.next_cursor or ""
            if not cursor:
                return

    async def me(
        self,
        *,
        board: str = "",
        neighbours: int = 0,
        min_version: int = 0,
        score: int | None = None,
        subscore: int | None = None,
        timeout: float | None = None,
    ) -> Place:
        """Read the standing of the token's user, with rows above and below. score, on a board with subscores with a
        subscore, is ranked if the user is not on the board: the NotFoundError then has its rank in would_rank."""
        return await self._do(_operations.me(board, neighbours, min_version, score, subscore), timeout)

    async def score(
        self, user_id: str, *, board: str = "", min_version: int = 0, timeout: float | None = None
    ) -> Place:
        """Read a user's score and rank. min_version is the version of the user's receipt that must be included."""
        return await self._do(_operations.score(user_id, board, min_version), timeout)

    async def rank(
        self,
        user_id: str,
        *,
        board: str = "",
        neighbours: int = 0,
        min_version: int = 0,
        score: int | None = None,
        subscore: int | None = None,
        timeout: float | None = None,
    ) -> Place:
        """Read a user's rank, with rows above and below. score and subscore are as in me."""
        return await self._do(_operations.rank(user_id, board, neighbours, min_version, score, subscore), timeout)

    async def users(self, user_ids: Iterable[str], *, board: str = "", timeout: float | None = None) -> List:
        """Read the standings of up to 100 users, such as a player's friends, best first."""
        return await self._do(_operations.users(user_ids, board), timeout)

    async def statement(
        self,
        user_id: str,
        *,
        board: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: str = "",
        limit: int = 0,
        timeout: float | None = None,
    ) -> Statement:
        """Read a page of a user's ledger, newest first: the token's own, or with the scope score:operate any user's.
        until is exclusive; both times have a time zone."""
        return await self._do(_operations.statement(user_id, board, since, until, cursor, limit), timeout)

    async def statement_entries(
        self,
        user_id: str,
        *,
        board: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[StatementEntry]:
        """Iterate over a user's ledger, newest first, a page at a time. timeout is that of a page."""
        cursor = ""
        while True:
            page = await self.statement(user_id, board=board, since=since, until=until, cursor=cursor, timeout=timeout)
            for entry in page.entries:
                yield entry
            cursor = page.next_cursor or ""
            if not cursor:
                return

    async def rank_history(
        self,
        user_id: str,
        *,
        board: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        step: str = "",
        as_now: bool = False,
        timeout: float | None = None,
    ) -> RankHistory:
        """Read a user's score and rank over time, of at most 1,000 points: hourly for a day by default. step is a
        duration such as "1h"; both times have a time zone. The user "me" is the token's user."""
        return await self._do(_operations.rank_history(user_id, board, since, until, step, as_now), timeout)

    async def timeline(
        self,
        *,
        board: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        step: str = "",
        limit: int = 0,
        as_now: bool = False,
        timeout: float | None = None,
    ) -> Timeline:
        """Read the top of a board at regular times of the past, where it changed: the period or the last day by
        default. For the next part, if there is one, send its board, next_from as since, ends_at as until, and the
        same step."""
        return await self._do(_operations.timeline(board, since, until, step, limit, as_now), timeout)

    async def explain_rank(self, user_id: str, *, board: str = "", timeout: float | None = None) -> RankExplanation:
        """Read what a user's rank follows from: the token's own user's ("me"), or with the scope score:operate
        any user's."""
        return await self._do(_operations.explain_rank(user_id, board), timeout)

    async def profile(self, user_id: str, *, timeout: float | None = None) -> Profile:
        """Read a user's profile: the token's own, or with the scope score:operate any user's."""
        return await self._do(_operations.profile(user_id), timeout)

    async def put_profile(
        self, user_id: str, *, display_name: str = "", avatar_url: str = "", timeout: float | None = None
    ) -> Profile:
        """Set a user's profile; an empty field removes the value."""
        return await self._do(_operations.put_profile(user_id, display_name, avatar_url), timeout)

    async def join_board(self, board: str, user_id: str = "", *, timeout: float | None = None) -> Participation:
        """Join a period of a board that requires it, for the token's user or with the scope score:update for any user.

        The name of a board means its next period that can be joined. A repeat changes nothing.

        Raises:
            TournamentFullError: The period has its maximum of players.
            JoinClosedError: It has begun and its board allows no late joins, or no period is planned.
        """
        return await self._do(_operations.participation("join", "POST", board, user_id), timeout)

    async def leave_board(self, board: str, user_id: str = "", *, timeout: float | None = None) -> Participation:
        """Leave a period that has not begun. The name of a board means the next one."""
        return await self._do(_operations.participation("leave", "DELETE", board, user_id), timeout)

    async def participation(self, board: str, user_id: str = "", *, timeout: float | None = None) -> Participation:
        """Read how many have joined a period, and whether the user has."""
        return await self._do(_operations.participation("read who has joined", "GET", board, user_id), timeout)

    async def rewards(
        self, user_id: str = "me", *, state: str = "", before: int = 0, limit: int = 0, timeout: float | None = None
    ) -> Rewards:
        """Read a page of the rewards of the token's user, newest first, or with the scope score:update of any user.

        Args:
            user_id: The user; "me" is the token's.
            state: Only those in this state: claimable, claimed, revoked or expired.
            before: The next_before of the previous page.
            limit: The maximum number of rewards; the server's default if 0.
            timeout: Seconds, if other than the client's.
        """
        return await self._do(_operations.rewards(user_id, state, before, limit), timeout)

    async def claim(self, reward_id: int, user_id: str = "me", *, timeout: float | None = None) -> Reward:
        """Claim a reward of the token's user, or with the scope score:update of any user.

        A repeat returns the same, so give out the reward once for each id.
        """
        return await self._do(_operations.claim(reward_id, user_id), timeout)

    async def league(self, board: str, user_id: str = "me", *, k: int = 0, timeout: float | None = None) -> LeaguePlace:
        """Read the place of the token's user in a league, or with the scope score:update that of any user.

        Args:
            board: The league, for its current period, or a period.
            user_id: The user; "me" is the token's.
            k: How many players above and below the user to read.
            timeout: Seconds, if other than the client's.
        """
        return await self._do(_operations.league(board, user_id, k), timeout)

    async def cohort(
        self, board: str, cohort_id: int, *, after: int = 0, limit: int = 0, timeout: float | None = None
    ) -> Cohort:
        """Read the standings of a cohort, best first, with ranks in the cohort.

        Args:
            board: The league, for its current period, or a period.
            cohort_id: The cohort of a LeaguePlace.
            after: The next_after of the previous page.
            limit: The maximum number of players; all if 0.
            timeout: Seconds, if other than the client's.
        """
        return await self._do(_operations.cohort(board, cohort_id, after, limit), timeout)

    async def league_history(
        self, user_id: str = "me", *, league: str = "", before: int = 0, limit: int = 0, timeout: float | None = None
    ) -> LeagueHistory:
        """Read a page of what the ends of periods have decided about the token's user, newest first.

        With the scope score:update, about any user.

        Args:
            user_id: The user; "me" is the token's.
            league: Only periods of this league.
            before: The next_before of the previous page.
            limit: The maximum number of outcomes; the server's default if 0.
            timeout: Seconds, if other than the client's.
        """
        return await self._do(_operations.league_history(user_id, league, before, limit), timeout)

    async def realtime_token(self, *, board: str = "", timeout: float | None = None) -> JoinTicket:
        """Create a ticket with which a web page joins the stream of a board. watch does not need one."""
        return await self._do(_operations.realtime_token(board), timeout)

    async def watch(
        self, *, board: str = "", limit: int = 0, streams: Sequence[Literal["ws", "sse"]] = ("ws", "sse")
    ) -> AsyncGenerator[State, None]:
        """Follow a board: iterate over its latest state, until you stop or the client is closed.

        The watch connects by WebSocket, else by server-sent events, and polls while neither works; it reconnects by
        itself. A slow reader skips states. It raises an error only if the server rejects this client permanently: its
        token, its scope, or an unknown board. limit is 10 or 100 rows. streams leaves out what a network blocks.
        Close it with contextlib.aclosing, or end the task, to disconnect at once.
        """
        latest = Latest()
        watcher = Watcher(
            self._config,
            self._http,
            lambda: token_of(self._config),
            self._once,
            board,
            limit,
            tuple(streams),
            latest.put,
        )
        running = asyncio.ensure_future(watcher.run())
        self._watches.add(running)
        try:
            async for state in latest.states(running):
                yield state
        except asyncio.CancelledError:
            if not running.cancelled():
                raise  # this task was cancelled, not the watch
        finally:
            self._watches.discard(running)
            running.cancel()
            await asyncio.wait({running})

    # Tries

    async def _once(self, call: Call[T]) -> T:
        try:
            return await self._try(call, None)
        except _call.FAILURES as failed:
            raise _call.finish(call, failed, 1) from failed

    async def _counted(self, increment: Increment, timeout: float | None) -> list[Receipt]:
        end = None if timeout is None else self._config.monotonic() + timeout
        event = await self._do(_operations.submit(self._config, increment), timeout)
        if event.status == "pending":  # the server queues when it is overloaded (ingest.overflow)
            left = 30 if end is None else min(max(end - self._config.monotonic(), 0.001), 30)
            try:
                event = await self.wait_for_event(increment.event_id, user_id=increment.user_id, timeout=left)
            except ScoreboardError as error:
                raise _operations.not_counted(error, increment.event_id) from error
        return _operations.receipts_of(event)

    async def _do(self, call: Call[T], timeout: float | None) -> T:
        end = None if timeout is None else self._config.monotonic() + timeout
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._try(call, end)
            except _call.FAILURES as failed:
                error = _call.finish(call, failed, attempt)
            wait = _call.wait_before_retry(self._config, error, attempt)
            if wait is None or (end is not None and self._config.monotonic() + wait >= end):
                raise error
            await asyncio.sleep(wait)

    async def _try(self, call: Call[T], end: float | None) -> T:
        limit = self._config.try_timeout
        if end is not None:
            limit = max(min(limit, end - self._config.monotonic()), 0.001)
        request = _call.build(self._config, call, await token_of(self._config), limit)
        try:
            response, body = await within(limit, self._exchange(request))
        except asyncio.TimeoutError as error:
            raise unavailable(f"no complete response within {limit:.3g} s", error) from error
        return _call.read(self._config, call, response, body)

    async def _exchange(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        response = await self._http.send(request, stream=True)
        try:
            return response, await read_body(response)
        finally:
            await response.aclose()


async def within(seconds: float, work: Awaitable[T]) -> T:
    """The result of work, or asyncio.TimeoutError. asyncio.wait_for swallows a cancellation that comes in the moment in
    which the work ends (until Python 3.12)."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def read_body(response: httpx.Response) -> bytes:
    """The body of a response, within the bound."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MAX_RESPONSE:
            raise unavailable(f"a response of over {MAX_RESPONSE} bytes")
    return body


async def token_of(config: Config) -> str | None:
    """The bearer token of a try."""
    token: Any = config.token
    if not callable(token):
        return token  # type: ignore[no-any-return]
    try:
        value = token()
        return str(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        raise unavailable(f"renew the token: {error}", error) from error
