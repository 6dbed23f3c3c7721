"""One call of the API without I/O: build the request of a try, read its response, decide about another try."""

import datetime
import email.utils
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import httpx

from scoreboard._config import Config
from scoreboard._decode import ShapeError
from scoreboard.errors import ScoreboardError, error_of, unavailable
from scoreboard.signing import header_text

T = TypeVar("T")

_SECONDS = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_LONGEST_RETRY_AFTER = 24 * 3600  # seconds; a queue would wait for years


# What a try may fail with. Anything else is a mistake in a program, which a retry would hide.
FAILURES = (ScoreboardError, ShapeError, httpx.HTTPError, OSError)


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request of the API. Each try builds a new one, with the time and the signature of that try."""

    op: str
    method: str
    path: str  # escaped, below the server's address
    parse: Callable[[Any], T]  # of the response's JSON
    query: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[datetime.datetime], Mapping[str, Any]] | None = None
    sign_headers: bool = False
    respond_async: bool = False
    event_id: str = ""


def address(config: Config, path: str, query: Mapping[str, str]) -> httpx.URL:
    """The URL of a path below the server's address, which may have a path itself."""
    return config.base.copy_with(raw_path=config.base.raw_path.rstrip(b"/") + target_of(path, query).encode())


def target_of(path: str, query: Mapping[str, str]) -> str:
    """Path and query as they reach the server: without the path of its address, which a proxy removes."""
    return path + "?" + urlencode(query) if query else path


def headers(config: Config, token: str | None) -> dict[str, str]:
    """The headers of all requests, including those of streams."""
    out = {"User-Agent": config.user_agent}
    if token:
        out["Authorization"] = "Bearer " + token
    return out


def build(config: Config, call: Call[T], token: str | None, timeout: float) -> httpx.Request:
    """The request of one try."""
    now = datetime.datetime.fromtimestamp(int(config.now()), datetime.timezone.utc)
    url = address(config, call.path, call.query)
    sent = headers(config, token)
    sent["Accept"] = "application/json"
    content = b""
    if call.body is not None:
        content = json.dumps(call.body(now), separators=(",", ":")).encode()
        sent["Content-Type"] = "application/json"
    if call.respond_async:
        sent["Prefer"] = "respond-async"
    if call.sign_headers and config.key is not None:
        seconds = str(int(now.timestamp()))
        text = header_text(call.method, target_of(call.path, call.query), config.key.id, seconds, content)
        sent["X-Scoreboard-Key"] = config.key.id
        sent["X-Scoreboard-Timestamp"] = seconds
        sent["X-Scoreboard-Signature"] = "v1=" + config.key.sign(text)
    extensions = {"timeout": httpx.Timeout(timeout).as_dict()}
    return httpx.Request(call.method, url, headers=sent, content=content, extensions=extensions)


def read(config: Config, call: Call[T], response: httpx.Response, body: bytes) -> T:
    """The result of a response, or its error raised."""
    if not 200 <= response.status_code <= 299:
        raise response_error(response, body, config.now())
    try:
        value = json.loads(body)
    except ValueError as error:  # also of bytes that are not UTF-8
        raise unavailable(f"decode the response: {error}", error) from error
    return call.parse(value)


def finish(call: Call[T], error: Exception, attempt: int) -> ScoreboardError:
    """The error of a call after a try, with what the call knows about it."""
    if isinstance(error, ShapeError):
        error = unavailable(f"unexpected response: {error}", error)
    elif not isinstance(error, ScoreboardError):
        error = unavailable(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, error)
    error.op, error.attempts = call.op, attempt
    error.event_id = error.event_id or call.event_id
    return error


def wait_before_retry(config: Config, error: ScoreboardError, attempt: int) -> float | None:
    """Seconds until the next try; None if there is none."""
    waits = config.waits
    if isinstance(error.__cause__, ShapeError):
        return None  # a server that answers something else will do so again
    if attempt >= config.attempts or not error.temporary or error.retry_after > waits.retry_after_max:
        return None
    return error.retry_after + config.jitter(attempt - 1, waits.retry_base, waits.retry_cap)


def response_error(response: httpx.Response, body: bytes, now: float) -> ScoreboardError:
    """The error of a response. If the body is not the API's, such as a proxy's page, only the status counts."""
    common: dict[str, Any] = {
        "status": response.status_code,
        "request_id": response.headers.get("X-Request-Id", ""),
        "retry_after": _retry_after(response.headers.get("Retry-After", ""), now),
    }
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    error = body_error(value, **common)
    if error is None:
        text = f"unexpected response {response.status_code} {response.reason_phrase}".rstrip()
        error = error_of(_code_of_status(response.status_code), f"{text}, not from this API", **common)
    return error


def body_error(value: Any, **common: Any) -> ScoreboardError | None:
    """The error of the API's error body; None if it is not one."""
    if not isinstance(value, dict):
        return None
    texts = {name: value.get(name, "") for name in ("error_code", "message", "field", "reason", "event_id")}
    if not all(isinstance(text, str) for text in texts.values()) or not texts["error_code"]:
        return None
    if isinstance(value.get("request_id"), str) and value["request_id"]:
        common["request_id"] = value["request_id"]
    if type(value.get("would_rank")) is int:
        common["would_rank"] = value["would_rank"]
    if isinstance(value.get("next_reset"), str):
        common["next_reset"] = value["next_reset"]
    return error_of(texts.pop("error_code"), texts.pop("message"), **texts, **common)


def status_of(code: str) -> int:
    """The HTTP status of a code that came without one."""
    return {
        "unauthorized": 401,
        "token_used": 401,
        "forbidden": 403,
        "not_found": 404,
        "rate_limited": 429,
        "unavailable": 503,
        "overloaded": 503,
    }.get(code, 400)


def _code_of_status(status: int) -> str:
    known = {401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "rate_limited"}
    if status in known:
        return known[status]
    if status in (502, 503, 504):
        return "unavailable"
    return "invalid_request" if status < 500 else "internal"


def _retry_after(text: str, now: float) -> float:
    """Seconds of both forms of the header, at most a day; 0 if it is absent or neither."""
    if _SECONDS.fullmatch(text):
        return min(max(int(text), 0), _LONGEST_RETRY_AFTER)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return 0
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.timezone.utc)
    return min(max(at.timestamp() - now, 0), _LONGEST_RETRY_AFTER)
