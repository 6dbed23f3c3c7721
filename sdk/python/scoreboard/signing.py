"""Both signature schemes (docs/signing.md): over the fields of an increment, and over a whole request."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Key:
    """A signing key. The secret is used exactly as it was shown, as UTF-8; it is not in the repr."""

    id: str
    secret: str = field(repr=False)

    def sign(self, text: str) -> str:
        """The HMAC-SHA256 of a text, in hex."""
        return hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def field_text(
    user_id: str, delta: int, event_id: str, timestamp: str, boards: Sequence[str] = (), action: str = ""
) -> str:
    """The text that the scheme for the body signs. Each field is as in the body; boards has the one of `board`, too."""
    text = f"{user_id}|{delta}|{event_id}|{timestamp}"
    if boards or action:
        text += "|" + ",".join(boards)
    if action:
        text += "|" + action
    return text


def header_text(method: str, target: str, key_id: str, timestamp: str, body: bytes) -> str:
    """The text that the scheme for the headers signs: target is path and query as sent, timestamp Unix seconds."""
    return f"{method}\n{target}\n{key_id}\n{timestamp}\n{hashlib.sha256(body).hexdigest()}"
