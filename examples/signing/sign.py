"""Both signature schemes of scoreboard, with the standard library."""

import hashlib
import hmac

SECRET = "sk_test_0123456789abcdef"  # as it was shown; this one is only for tests


def sign(text):
    return hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()


def sign_fields(user_id, delta, event_id, timestamp, boards=(), action=""):
    """The value of "signature" in the body."""
    text = f"{user_id}|{delta}|{event_id}|{timestamp}"
    if boards or action:
        text += "|" + ",".join(boards)
    if action:
        text += "|" + action
    return sign(text)


def sign_headers(method, target, key_id, seconds, body):
    """The value of X-Scoreboard-Signature. The body is bytes, as it is sent."""
    digest = hashlib.sha256(body).hexdigest()
    return "v1=" + sign(f"{method}\n{target}\n{key_id}\n{seconds}\n{digest}")


# the test vectors, in their order
EVENT, TIME = "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", "2026-11-21T12:00:00Z"
print(sign_fields("alice", 5, EVENT, TIME))
print(sign_fields("alice", 5, EVENT, TIME, ["global", "daily"]))
print(sign_fields("alice", 5, EVENT, TIME, ["weekly"]))
print(sign_fields("alice", 5, EVENT, TIME, action="kill"))
print(sign_fields("alice", 5, EVENT, TIME, ["weekly"], "kill"))
print(sign_fields("eu:bob@example.com", -3, "match-8841:round.2", "2026-11-21T13:00:00.250+01:00"))
print(sign_headers("POST", "/v1/scores/increments", "k1", 1795262400, b'{"items":[]}'))
BODY = b'{"user_id":"alice","delta":5,"event_id":"match-8841","timestamp":"2026-11-21T12:00:00Z"}'
print(sign_headers("POST", "/v1/scores/increment", "k1", 1795262400, BODY))
BODY = '{"display_name":"Zoë"}'.encode()
print(sign_headers("PUT", "/v1/users/alice/profile?reason=new%20name", "k1", 1795262400, BODY))
print(sign_headers("GET", "/v1/events/match-8841?user_id=alice", "k1", 1795262400, b""))
