"""Decodes JSON values to the dataclasses of _types. Unknown fields are ignored: later servers may add some."""

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

T = TypeVar("T")

_FRACTION = re.compile(r"\.(\d+)")


class ShapeError(ValueError):
    """A response is JSON, but not what the API answers."""


def decode(cls: type[T], value: Any) -> T:
    """Build a dataclass from a JSON object.

    Raises:
        ShapeError: a field is missing or has another type.
    """
    if not isinstance(value, dict):
        raise ShapeError(f"expected an object for {cls.__name__}")
    fields = {}
    for name, required, convert in _fields(cls):  # type: ignore[arg-type]  # a class is hashable
        if value.get(name) is not None or (name in value and required):
            try:
                fields[name] = convert(value[name])
            except (ValueError, TypeError) as error:
                raise ShapeError(f"{cls.__name__}.{name}: {error}") from error
        elif required:
            raise ShapeError(f"{cls.__name__} lacks {name}")
    return cls(**fields)


def time_of(text: Any) -> datetime:
    """Parse a time of RFC 3339. Digits beyond microseconds are cut off."""
    if not isinstance(text, str):
        raise ValueError(f"expected a time, got {text!r}")
    # Python 3.10 knows neither Z nor a fraction of other than 3 or 6 digits.
    text = _FRACTION.sub(lambda m: "." + m[1][:6].ljust(6, "0"), text.replace("Z", "+00:00"))
    return datetime.fromisoformat(text)


@functools.cache
def _fields(cls: Any) -> list[tuple[str, bool, Callable[[Any], Any]]]:
    hints = typing.get_type_hints(cls)
    return [
        (
            f.name,
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
            _converter(hints[f.name]),
        )
        for f in dataclasses.fields(cls)
    ]


def _converter(hint: Any) -> Callable[[Any], Any]:
    if typing.get_origin(hint) is types.UnionType:  # X | None
        (inner,) = [a for a in typing.get_args(hint) if a is not types.NoneType]
        convert = _converter(inner)
        return lambda value: None if value is None else convert(value)
    if typing.get_origin(hint) is list:
        item = _converter(typing.get_args(hint)[0])
        return lambda value: [item(each) for each in _list(value)]
    if typing.get_origin(hint) is dict:
        return lambda value: _scalar(dict, value)
    if dataclasses.is_dataclass(hint):
        return lambda value: decode(typing.cast(type, hint), value)
    if hint is datetime:
        return time_of
    if hint is Any:
        return lambda value: value
    return lambda value: _scalar(hint, value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {value!r}")
    return value


def _scalar(kind: type, value: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:  # also rejects a bool for an int
        raise ValueError(f"expected {kind.__name__}, got {value!r}")
    return value
