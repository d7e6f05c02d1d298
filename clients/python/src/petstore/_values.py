"""The values that are not in the OpenAPI document, and how JSON is read and written."""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime, timezone
from typing import Any, Generic, Literal, TypeVar

import httpx

T = TypeVar("T")

PetStatus = Literal["available", "pending", "sold"]
OrderStatus = Literal["placed", "approved", "delivered", "cancelled"]
KeyScope = Literal["read", "write", "manage"]
KeyStatus = Literal["active", "banned", "expired", "revoked"]


class Unset:
    """The type of UNSET."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
"""Leaves a value as it is, where None removes it."""


class Secret:
    """A key that prints itself redacted."""

    __slots__ = ("reveal",)
    reveal: Callable[[], str]

    def __init__(self, text: str) -> None:
        # A function, so that nothing that prints attributes shows the key.
        self.reveal = lambda: text

    def __repr__(self) -> str:
        return "[redacted]"

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("a key is not pickled: use reveal()")


@dataclass(frozen=True)
class Rate:
    """The state of the limit with the fewest requests remaining. None: the response does not say."""

    limit: int | None
    remaining: int | None
    reset: datetime | None


@dataclass(frozen=True)
class Response:
    """A response without its body."""

    status: int
    headers: httpx.Headers = field(repr=False)
    request_id: str | None
    etag: str | None
    """Identifies the content, for if_match."""
    rate: Rate
    replayed: bool
    """Whether it repeats the response to an earlier request with the same idempotency key."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """The base of all that the API returns."""

    extra: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False, repr=False)
    """The members that this version of the package does not know."""
    response: Response | None = field(default=None, compare=False, repr=False)
    """The response, unless the item is a part of one."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    items: tuple[T, ...]
    next_cursor: str | None
    """The cursor of the next page, None on the last page."""
    response: Response = field(compare=False, repr=False)


@dataclass(frozen=True)
class NewPet:
    """An animal to add. Its status is available by default."""

    name: str
    category_id: int
    status: PetStatus | None = None


def decode(kind: Any, value: Any, at: str = "$", **more: Any) -> Any:
    """Reads a value of JSON as a type. Raises ValueError, which names the member."""
    if isinstance(kind, types.UnionType):
        return None if value is None else decode(typing.get_args(kind)[0], value, at)
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        return tuple(decode(element, v, f"{at}[{i}]") for i, v in enumerate(_check(list[Any], list, value, at)))
    if kind is datetime:
        return parse_time(_check(kind, str, value, at), at)
    if kind is Secret:
        return Secret(_check(kind, str, value, at))
    if kind is float:
        return float(_check(kind, (int, float), value, at))
    if kind in (int, str):
        return _check(kind, kind, value, at)
    members = dict(_check(kind, dict, value, at))
    known: dict[str, Any] = {}
    for name, member, member_kind, required in _members(kind):
        if member in members:
            known[name] = decode(member_kind, members.pop(member), f"{at}.{member}")
        elif required:
            raise ValueError(f"{at}.{member} is missing")
    return kind(**known, extra=members, **more)


def _check(kind: Any, wanted: Any, value: Any, at: str) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise ValueError(f"{at} is {type(value).__name__}, want {getattr(kind, '__name__', kind)}")
    return value


@functools.cache
def _members(kind: Any) -> list[tuple[str, str, Any, bool]]:
    hints = typing.get_type_hints(kind)
    return [
        (f.name, camel(f.name), hints[f.name], f.default is MISSING and f.default_factory is MISSING)
        for f in fields(kind)
        if f.name not in ("extra", "response")
    ]


def camel(name: str) -> str:
    """Returns a name as JSON has it: category_id is categoryId, from_ is from."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def parse_time(text: str, at: str) -> datetime:
    """Reads a time of RFC 3339."""
    parts = re.fullmatch(r"(.*)T([\d:]{8})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text.upper())
    try:
        day, time, fraction, zone = parts.groups() if parts else ("", "", None, "")
        # fromisoformat of Python 3.10 takes no Z, and 3 or 6 digits of a second only.
        return datetime.fromisoformat(f"{day}T{time}.{(fraction or '').ljust(6, '0')[:6]}{zone.replace('Z', '+00:00')}")
    except ValueError:
        raise ValueError(f"{at} is not a time") from None


def format_time(when: datetime, name: str) -> str:
    """Writes a time as RFC 3339. A time without a zone may mean any."""
    if when.tzinfo is None:
        raise ValueError(f"{name} must have a time zone, as datetime.now(timezone.utc) has")
    return when.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
