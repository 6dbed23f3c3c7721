"""The vectors of sdk/conformance, for the clients of both kinds."""

import dataclasses
import inspect
import json
import pickle
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
import virtual

from scoreboard import AsyncScoreboard, Increment, RateLimitedError, Scoreboard, ScoreboardError
from scoreboard._decode import time_of
from scoreboard.signing import Key, field_text, header_text

VECTORS = Path(__file__).parents[2] / "conformance"


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


def cases(name: str) -> Any:
    all_of = read(name)["cases"]
    assert all_of
    return pytest.mark.parametrize("case", all_of, ids=[c["name"] for c in all_of])


kinds = pytest.mark.parametrize("kind", ["sync", "async"])


def known(case: dict[str, Any], *names: str) -> None:
    """Fails on a field that the runner would not check."""
    assert set(case) <= set(names), set(case) - set(names)


@pytest.mark.parametrize("v", read("signatures.json")["fields"], ids=lambda v: v["name"])
def test_fields_are_signed(v: dict[str, Any]) -> None:
    known(v, "name", "secret", "key_id", "increment", "text", "signature")
    i = v["increment"]
    boards = i.get("boards") or ([i["board"]] if i.get("board") else [])
    text = field_text(i["user_id"], i["delta"], i["event_id"], i["timestamp"], boards, i.get("action", ""))
    assert text == v["text"]
    assert Key(v["key_id"], v["secret"]).sign(text) == v["signature"]


@pytest.mark.parametrize("v", read("signatures.json")["headers"], ids=lambda v: v["name"])
def test_requests_are_signed(v: dict[str, Any]) -> None:
    known(v, "name", "secret", "key_id", "method", "target", "timestamp", "body", "text", "signature")
    text = header_text(v["method"], v["target"], v["key_id"], v["timestamp"], v["body"].encode())
    assert text == v["text"]
    assert "v1=" + Key(v["key_id"], v["secret"]).sign(text) == v["signature"]


class Script:
    """A server that answers with the given responses, in order."""

    def __init__(self, clock: virtual.Clock, responses: list[dict[str, Any]]) -> None:
        self.clock = clock
        self.responses = responses
        self.requests: list[httpx.Request] = []
        self.times: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.times.append(self.clock.elapsed)
        answer = self.responses[len(self.requests) - 1]
        known(answer, "lost", "status", "headers", "body", "text")
        if answer.get("lost"):
            raise httpx.ReadError("connection lost", request=request)
        text = answer.get("text", "")
        if "body" in answer:
            text = json.dumps(answer["body"]).replace("$event_id", str(self.body(-1).get("event_id")))
        return httpx.Response(answer["status"], headers=answer.get("headers"), text=text)

    def body(self, n: int) -> dict[str, Any]:
        content = self.requests[n].content
        return json.loads(content) if content else {}  # type: ignore[no-any-return]


def arguments(call: dict[str, Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """The method of a call and its arguments."""
    ((name, value),) = call.items()
    if name == "batch":
        return "submit_batch", [[Increment(**each) for each in value]], {}
    value = dict(value)
    if name == "receipt":
        return "receipt", [value.pop("event_id")], value
    if name == "action":
        return "start_action", [], value
    if name in ("score", "rank"):
        return name, [value.pop("user_id")], value
    if name == "users":
        return "users", [value.pop("user_ids")], value
    return name, [], value


def perform(
    kind: str, clock: virtual.Clock, script: Script, method: str, args: Any, kwargs: Any, **options: Any
) -> Any:
    transport = httpx.MockTransport(script)
    if kind == "sync":
        client = virtual.sync_client(clock, transport, **options)
        out = getattr(client, method)(*args, **kwargs)
        return list(out) if inspect.isgenerator(out) else out

    async def main() -> Any:
        async with virtual.async_client(clock, transport, **options) as client:
            out = getattr(client, method)(*args, **kwargs)
            return [each async for each in out] if inspect.isasyncgen(out) else await out

    return virtual.run(clock, main())


def check_error(want: dict[str, Any], error: ScoreboardError) -> None:
    for name, value in want.items():
        got = round(error.retry_after * 1000) if name == "retry_after_ms" else getattr(error, name)
        assert got == value, name


@kinds
@cases("errors.json")
def test_errors(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "now", "response", "error")
    clock = virtual.Clock()
    if "now" in case:
        assert time_of(case["now"]).timestamp() == clock.now()
    answer = case["response"]
    script = Script(clock, [{**answer, "text": answer["body"]} | {"body": None}])
    del script.responses[0]["body"]
    with pytest.raises(ScoreboardError) as caught:
        perform(kind, clock, script, "top", [], {}, attempts=1)
    check_error(case["error"], caught.value)
    assert len(script.requests) == 1


def plain(value: Any) -> Any:
    """A result as JSON."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def result_of(value: Any) -> Any:
    if not isinstance(value, list):
        return plain(value)
    rows = []
    for each in value:
        if each.error is not None:
            rows.append({"code": each.error.code, "field": each.error.field, "event_id": each.error.event_id})
        else:
            rows.append(plain(each.receipt))
    return {"results": rows}


def contains(got: Any, want: Any) -> bool:
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and contains(got[k], v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(contains, got, want))
    return type(got) is type(want) and bool(got == want)


@kinds
@cases("retries.json")
def test_retries(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "call", "attempts", "responses", "expect")
    expect = case["expect"]
    known(expect, "requests", "waits", "result", "error")
    clock = virtual.Clock()
    script = Script(clock, case["responses"])
    method, args, kwargs = arguments(case["call"])
    error = result = None
    try:
        result = perform(kind, clock, script, method, args, kwargs, attempts=case["attempts"])
    except ScoreboardError as failed:
        error = failed
    assert len(script.requests) == expect["requests"] == len(expect["waits"]) + 1
    for n, bounds in enumerate(expect["waits"]):
        waited = (script.times[n + 1] - script.times[n]) * 1000
        assert bounds["min_ms"] - 0.001 <= waited <= bounds["max_ms"] + 0.001
    ids = {script.body(n).get("event_id") for n in range(len(script.requests))}
    assert len(ids) == 1
    assert ids != {None} or "submit" not in case["call"]
    if "error" in expect:
        assert error is not None
        check_error(expect["error"], error)
    else:
        assert error is None
        assert contains(result_of(result), expect["result"])


@kinds
@cases("queued.json")
def test_queued(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "call", "responses", "expect")
    expect = case["expect"]
    known(expect, "requests", "receipts", "error")
    clock = virtual.Clock()
    script = Script(clock, case["responses"])
    method, args, kwargs = arguments(case["call"])
    error = result = None
    try:
        result = perform(kind, clock, script, method, args, kwargs, attempts=1)
    except ScoreboardError as failed:
        error = failed
    assert [f"{r.method} {r.url.raw_path.decode()}" for r in script.requests] == expect["requests"]
    if "error" in expect:
        assert error is not None
        check_error(expect["error"], error)
        return
    assert error is None
    receipts = result if isinstance(result, list) else [result, *result.matched]  # type: ignore[attr-defined]
    assert [r.board for r in receipts] == expect["receipts"]


@kinds
@cases("receipts.json")
def test_receipts(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "body", "event")
    clock = virtual.Clock()
    script = Script(clock, [{"status": 200, "body": case["body"]}])
    event = perform(kind, clock, script, "receipt", ["match-7"], {})
    assert case["event"] == {
        "id": event.id,
        "status": event.status,
        "boards": [r.board for r in event.receipts],
        "code": event.error.code if event.error else "",
        "message": event.error.message if event.error else "",
    }


@kinds
@cases("cursors.json")
def test_cursors(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "query", "pages", "requests", "users")
    clock = virtual.Clock()
    script = Script(clock, [{"status": 200, "body": page} for page in case["pages"]])
    query = {"board": case["query"]["board"], "page_size": case["query"]["limit"]}
    rows = perform(kind, clock, script, "entries", [], query)
    assert [row.user_id for row in rows] == case["users"]
    assert [query_of(r) for r in script.requests] == case["requests"]


def query_of(request: httpx.Request) -> dict[str, str]:
    pairs = parse_qsl(request.url.query.decode(), keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@kinds
@cases("requests.json")
def test_requests(case: dict[str, Any], kind: str) -> None:
    known(case, "name", "prefix", "call", "method", "path", "query", "body", "signed")
    prefix = case.get("prefix", "")
    clock = virtual.Clock()
    script = Script(clock, [{"status": 500}])
    method, args, kwargs = arguments(case["call"])
    signed = case.get("signed", {})
    key = {"key_id": signed.get("key_id"), "key_secret": signed.get("secret")}
    with pytest.raises(ScoreboardError):
        perform(kind, clock, script, method, args, kwargs, attempts=1, prefix=prefix, **key)
    (request,) = script.requests
    target = request.url.raw_path.decode()
    assert target.startswith(prefix + "/v1/")
    target = target.removeprefix(prefix)
    path = target.partition("?")[0]
    assert [unquote(part) for part in path.removeprefix("/").split("/")] == case["path"]
    assert request.method == case["method"]
    assert query_of(request) == case["query"]
    body = json.loads(request.content) if request.content else None
    if signed:
        check_signature(signed, request, target, body)
    for increment in body.get("items", [body]) if "scores" in case["path"] else []:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", increment["timestamp"])
        assert time_of(increment["timestamp"]) == datetime.fromtimestamp(clock.now(), timezone.utc)
        increment["timestamp"] = "$timestamp"
    assert body == case.get("body")


def check_signature(signed: dict[str, str], request: httpx.Request, target: str, body: dict[str, Any]) -> None:
    """Checks the signature of a request, and removes it from the body."""
    known(signed, "key_id", "secret", "scheme")
    key = Key(signed["key_id"], signed["secret"])
    if signed["scheme"] == "fields":
        assert "X-Scoreboard-Signature" not in request.headers
        boards = body.get("boards") or ([body["board"]] if "board" in body else [])
        text = field_text(
            body["user_id"], body["delta"], body["event_id"], body["timestamp"], boards, body.get("action", "")
        )
        assert (body.pop("key_id"), body.pop("signature")) == (key.id, key.sign(text))
        return
    timestamp = request.headers["X-Scoreboard-Timestamp"]
    text = header_text(request.method, target, key.id, timestamp, request.content)
    assert request.headers["X-Scoreboard-Key"] == key.id
    assert request.headers["X-Scoreboard-Signature"] == "v1=" + key.sign(text)


def test_increments_are_values() -> None:
    """An increment can be a member of a set, and does not change with the mapping that it was made of."""
    attributes = {"region": "eu", "platform": "pc"}
    first = Increment("alice", 5, "match-7", attributes=attributes)
    assert first == Increment("alice", 5, "match-7", attributes={"platform": "pc", "region": "eu"})
    attributes["region"] = "us"
    other = Increment("alice", 5, "match-7", attributes=attributes)
    assert len({first, other, dataclasses.replace(first)}) == 2
    assert json.dumps(first.body()["attributes"]) == '{"platform": "pc", "region": "eu"}'


def test_both_clients_have_the_same_methods() -> None:
    """What one client can do, the other can, with the same arguments."""

    def methods(cls: type) -> dict[str, list[tuple[str, Any]]]:
        return {
            name: [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
            for name, f in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_") or name == "__init__"
        }

    assert methods(Scoreboard) == methods(AsyncScoreboard)


@kinds
@pytest.mark.parametrize(("user", "path"), [("..", "%2E%2E"), (".", "%2E"), ("a/b?c#d e", "a%2Fb%3Fc%23d%20e")])
def test_ids_stay_one_segment(user: str, path: str, kind: str) -> None:
    clock = virtual.Clock()
    script = Script(clock, [{"status": 500}])
    with pytest.raises(ScoreboardError):
        perform(kind, clock, script, "score", [user], {}, attempts=1)
    assert script.requests[0].url.raw_path.decode() == f"/v1/users/{path}/score?k=0"


@pytest.mark.parametrize(
    ("text", "microseconds"), [("00Z", 0), ("00.5Z", 500000), ("00.123456789Z", 123456), ("00.25+01:00", 250000)]
)
def test_times(text: str, microseconds: int) -> None:
    """Python 3.10 parses none but the first by itself."""
    assert time_of("2026-11-21T12:00:" + text).microsecond == microseconds


@kinds
def test_calls_have_a_deadline(kind: str) -> None:
    """timeout limits all tries together; the wait before another one is not begun if it would pass it."""
    clock = virtual.Clock()
    script = Script(clock, [{"status": 503, "headers": {"Retry-After": "4"}}] * 9)
    with pytest.raises(ScoreboardError) as late:
        perform(kind, clock, script, "top", [], {"timeout": 10})
    assert late.value.attempts == 3
    assert clock.elapsed < 10


def test_errors_pass_between_processes() -> None:
    clock = virtual.Clock()
    script = Script(clock, [{"status": 429, "headers": {"Retry-After": "31"}, "body": {"error_code": "rate_limited"}}])
    with pytest.raises(RateLimitedError) as limited:
        perform("sync", clock, script, "top", [], {})
    copy = pickle.loads(pickle.dumps(limited.value))
    assert type(copy) is RateLimitedError
    assert (copy.retry_after, str(copy)) == (31, str(limited.value))


def test_secrets_are_not_shown() -> None:
    with Scoreboard("http://127.0.0.1:1", token="secret-token", key_id="k1", key_secret="secret-key") as sb:
        assert "secret-" not in repr(sb._config)


@pytest.mark.parametrize(
    ("server", "options"),
    [
        ("example.com", {}),
        ("ftp://example.com", {}),
        ("http://", {}),
        ("http://user:pass@example.com", {}),
        ("http://example.com", {"key_id": "k1"}),
        ("http://example.com", {"signing": "both"}),
        ("http://example.com", {"attempts": 0}),
        ("http://example.com", {"try_timeout": 0}),
    ],
)
def test_settings_are_checked(server: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|requires"):
        Scoreboard(server, **options)
