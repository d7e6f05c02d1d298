"""The operations by noun: what each call sends, and what it returns."""

from __future__ import annotations

import functools
import re
import urllib.parse
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from ._core import IO, Core, Op, Task, idempotency_key as checked_key, next_cursor
from ._errors import PetstoreError
from ._types import (
    ExplainedRequest, FailedRequest, Key, Order, Pet, Plan, Usage, UsageMonth, Webhook, WebhookDelivery,
    WebhookReplayed,
)
from ._values import (
    UNSET, KeyScope, KeyStatus, NewPet, OrderStatus, Page, PetStatus, Response, Unset, camel, decode, format_time,
)

if TYPE_CHECKING:
    from ._client import AsyncList, AsyncPetstore, List, Petstore

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")
HOUR = timedelta(hours=1)
CLOCKS = 60.0  # by how many seconds the clock of the service may be behind ours


class _Noun(Generic[C]):
    """The base of the nouns of both clients, such as orders."""

    def __init__(self, client: C) -> None:
        self._client = client


class _Method(Generic[P, T]):
    """Makes a method of both clients of one that returns what is to be done."""

    does = "_call"

    def __init__(self, function: Callable[Concatenate[Any, P], T]) -> None:
        self._function = function

    def _of(self, noun: Any) -> Any:
        bound = self._function.__get__(noun)

        @functools.wraps(bound)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return getattr(noun._client, self.does)(bound(*args, **kwargs))

        return method


class _Call(_Method[P, Task[T]]):
    @overload
    def __get__(self, noun: _Noun[Petstore], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, noun: _Noun[AsyncPetstore], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, noun: Any, owner: type) -> Any:
        return self._of(noun)


class _List(_Method[P, Op[Page[T]]]):
    does = "_list"

    @overload
    def __get__(self, noun: _Noun[Petstore], owner: type) -> Callable[P, List[T]]: ...
    @overload
    def __get__(self, noun: _Noun[AsyncPetstore], owner: type) -> Callable[P, AsyncList[T]]: ...
    def __get__(self, noun: Any, owner: type) -> Any:
        return self._of(noun)


class PetCalls(_Noun[C]):
    @_List
    def list(
        self, *, status: PetStatus | None = None, category_id: int | None = None, ids: Iterable[int] | None = None,
        name: str | None = None, limit: int | None = None, cursor: str | None = None,
    ) -> Op[Page[Pet]]:
        """Lists your animals by ID. name is the beginning of a name; ids are at most 100."""
        joined = None if ids is None else ",".join(str(i) for i in ids)
        query = _query(status=status, category_id=category_id, ids=joined, name=name, limit=limit, cursor=cursor)
        return Op("GET", "pets", _page(Pet), query=query)

    @_Call
    def create(
        self, name: str, category_id: int, status: PetStatus | None = None, *, idempotency_key: str | None = None
    ) -> Op[Pet]:
        """Adds an animal. With the same idempotency key it is added once in 24 hours."""
        return new_pet(NewPet(name, category_id, status), idempotency_key)

    @_Call
    def update(
        self, pet_id: int, *, name: str | Unset = UNSET, category_id: int | Unset = UNSET,
        status: PetStatus | Unset = UNSET, if_match: str | None = None,
    ) -> Op[Pet]:
        """Changes an animal. if_match is the ETag that it must still have.

        After APIConnectionError or outcome_unknown the change may have been made: read it again.
        """
        body = _body(name=name, category_id=category_id, status=status)
        return _patch(f"pets/{pet_id:d}", Pet, body, if_match)


class Orders(_Noun[C]):
    """Your orders."""

    @_List
    def list(
        self, *, status: OrderStatus | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Op[Page[Order]]:
        """Lists your orders by ID."""
        return Op("GET", "store/orders", _page(Order), query=_query(status=status, limit=limit, cursor=cursor))

    @_Call
    def create(self, pet_id: int, quantity: int | None = None, *, idempotency_key: str | None = None) -> Op[Order]:
        """Orders an available animal, which becomes pending."""
        body = _body(pet_id=pet_id, quantity=UNSET if quantity is None else quantity)
        return _post("store/orders", Order, body, idempotency_key)

    @_Call
    def get(self, order_id: int) -> Op[Order]:
        """Gets an order."""
        return Op("GET", f"store/orders/{order_id:d}", _item(Order))

    @_Call
    def update(self, order_id: int, *, status: OrderStatus, if_match: str | None = None) -> Op[Order]:
        """Changes the status of an order, and with it that of its animal."""
        return _patch(f"store/orders/{order_id:d}", Order, _body(status=status), if_match)


class UsageCalls(_Noun[C]):
    """Your limits and usage."""

    @_Call
    def get(self) -> Op[Usage]:
        """Gets the state of your limits and this month's usage. It is not counted."""
        return Op("GET", "usage", _item(Usage), metered=False)

    @_Call
    def report(self, month: date | str) -> Op[UsageMonth]:
        """Gets what was recorded in a UTC month, by day and key. A month is any of its days, or "2026-11"."""
        query = {"month": month if isinstance(month, str) else f"{month:%Y-%m}", "by": "key"}

        def read(body: Any, response: Response) -> UsageMonth:
            return replace(_item(Usage)(body, response).month, response=response)

        return Op("GET", "usage", read, query=query)


class Plans(_Noun[C]):
    """The plans that are sold."""

    @_Call
    def list(self) -> Op[tuple[Plan, ...]]:
        """Lists the plans that are sold, the smallest first."""
        return Op("GET", "plans", _items(Plan), metered=False)


class Keys(_Noun[C]):
    """Your API keys."""

    @_List
    def list(
        self, *, status: KeyStatus | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Op[Page[Key]]:
        """Lists your keys, the newest first. It needs the scope manage."""
        query = _query(status=status, limit=limit, cursor=cursor)
        return Op("GET", "keys", _page(Key), query=query, metered=False)

    @_Call
    def get(self, key_id: str = "self") -> Op[Key]:
        """Gets a key. "self" is the client's own, in any scope."""
        return Op("GET", f"keys/{_segment(key_id)}", _item(Key), metered=False)

    @_Call
    def create(
        self, name: str, *, scope: KeyScope | Unset = UNSET, expires_at: datetime | Unset = UNSET,
        per_minute: int | Unset = UNSET, allowed_addresses: Sequence[str] | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> Op[Key]:
        """Issues a key, which is in key of the result, this once. Its scope is write by default.

        If the response is lost, the error has the key_id of the key that was issued: rotate or revoke it.
        """
        body = _body(
            name=name, scope=scope, expires_at=expires_at, per_minute=per_minute, allowed_addresses=allowed_addresses
        )

        def find(started: float) -> Op[str | None]:
            def read(keys: Any, response: Response) -> str | None:
                made = (k for k in _items(Key)(keys, response) if k.created_at.timestamp() > started - CLOCKS)
                return next((k.id for k in made if k.name == name), None)

            return Op("GET", "keys", read, query={"limit": "20"}, metered=False)

        return replace(_post("keys", Key, body, idempotency_key, metered=False), find=find)

    @_Call
    def update(
        self, key_id: str, *, name: str | None | Unset = UNSET, scope: KeyScope | Unset = UNSET,
        expires_at: datetime | None | Unset = UNSET, per_minute: int | None | Unset = UNSET,
        allowed_addresses: Sequence[str] | None | Unset = UNSET, confirm_lockout: bool | Unset = UNSET,
        if_match: str | None = None,
    ) -> Op[Key]:
        """Changes a key. None removes a value."""
        body = _body(
            name=name, scope=scope, expires_at=expires_at, per_minute=per_minute, allowed_addresses=allowed_addresses,
            confirm_lockout=confirm_lockout,
        )
        return _patch(f"keys/{_segment(key_id)}", Key, body, if_match, metered=False)

    @_Call
    def rotate(
        self, key_id: str, *, grace_period: timedelta | None = None, expires_at: datetime | None | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> Op[Key]:
        """Issues a replacement of a key. The old one stays valid for the grace period, 24 hours by default.

        Without expires_at the new key ends when the old one would have; None is never.
        """
        return _rotation(key_id, grace_period, expires_at, idempotency_key)

    @_Call
    def rotate_self(
        self, save: Callable[[str], Awaitable[object] | object], *, grace_period: timedelta | None = None,
        expires_at: datetime | None | Unset = UNSET,
    ) -> Task[Key]:
        """Replaces the client's own key: save gets the new one, then the client goes on with it.

        If save raises an exception, the client keeps the old key. grace_period, an hour at least, and
        expires_at need the scope manage; otherwise the old key stays valid for 24 hours, and the new one
        expires when it would have.
        """
        if grace_period is not None and grace_period < HOUR:
            raise ValueError("grace_period must be an hour at least: until its end others may use the old key")

        async def task(core: Core, io: IO) -> Key:
            if grace_period is not None or expires_at is not UNSET:
                own = await core.call(io, Op("GET", "keys/self", _item(Key), metered=False))
                if own.scope != "manage":
                    raise ValueError(f"grace_period and expires_at need a key with the scope manage, not {own.scope}")
            issued = await core.call(io, _rotation("self", grace_period, expires_at, None))
            if issued.key is None:
                raise PetstoreError("the response has no key", key_id=issued.id)
            core.keys.insert(0, issued.key)  # to be redacted
            try:
                await io.invoke(save, issued.key.reveal())
            except Exception as cause:
                text = f"the new key was not stored, so the client keeps the old one: {type(cause).__name__}: {cause}"
                raise PetstoreError(core.redact(text), key_id=issued.id) from None
            core.keys.append(issued.key)
            return issued

        return task

    @_Call
    def revoke(
        self, key_id: str = "self", *, reason: str | None = None, replacements: bool = False,
        idempotency_key: str | None = None,
    ) -> Op[Key]:
        """Ends a key for ever, with replacements also those that it has made by rotating itself."""
        body = _body(reason=UNSET if reason is None else reason)
        op = _post(f"keys/{_segment(key_id)}/revoke", Key, body, idempotency_key, metered=False)
        return replace(op, query={"replacements": "true"}) if replacements else op


class Webhooks(_Noun[C]):
    """Where your events are sent."""

    @_Call
    def list(self) -> Op[tuple[Webhook, ...]]:
        """Lists all webhooks, the newest first. It needs the scope manage, as all of webhooks."""
        return Op("GET", "webhooks", _items(Webhook), metered=False)

    @_Call
    def get(self, webhook_id: int) -> Op[Webhook]:
        """Gets a webhook."""
        return Op("GET", f"webhooks/{webhook_id:d}", _item(Webhook), metered=False)

    @_Call
    def create(
        self, url: str, *, events: Sequence[str] | Unset = UNSET, description: str | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> Op[Webhook]:
        """Adds a webhook, with its secret in secret of the result, this once.

        If the response is lost, the webhook may be there: rotate its secret.
        """
        body = _body(url=url, events=events, description=description)
        return _post("webhooks", Webhook, body, idempotency_key, metered=False)

    @_Call
    def update(
        self, webhook_id: int, *, url: str | Unset = UNSET, events: Sequence[str] | Unset = UNSET,
        description: str | None | Unset = UNSET, status: Literal["enabled", "disabled"] | Unset = UNSET,
        if_match: str | None = None,
    ) -> Op[Webhook]:
        """Changes a webhook. A description of None removes it."""
        body = _body(url=url, events=events, description=description, status=status)
        return _patch(f"webhooks/{webhook_id:d}", Webhook, body, if_match, metered=False)

    @_Call
    def delete(self, webhook_id: int) -> Op[None]:
        """Removes a webhook with what waits for it."""
        return Op("DELETE", f"webhooks/{webhook_id:d}", lambda body, response: None, metered=False)

    @_Call
    def rotate(self, webhook_id: int, *, grace_period: timedelta | None = None) -> Op[Webhook]:
        """Makes another secret. Earlier ones sign too for the grace period, 24 hours by default."""
        body = _body(grace_period=_seconds(grace_period))
        return _post(f"webhooks/{webhook_id:d}/rotate", Webhook, body, metered=False)

    @_Call
    def test(self, webhook_id: int) -> Op[WebhookDelivery]:
        """Sends a ping, and returns its delivery."""
        return _post(f"webhooks/{webhook_id:d}/test", WebhookDelivery, metered=False)

    @_List
    def deliveries(
        self, webhook_id: int, *, limit: int | None = None, cursor: str | None = None
    ) -> Op[Page[WebhookDelivery]]:
        """Lists what was sent to a webhook, the newest first."""
        path, query = f"webhooks/{webhook_id:d}/deliveries", _query(limit=limit, cursor=cursor)
        return Op("GET", path, _page(WebhookDelivery), query=query, metered=False)

    @_Call
    def retry(self, webhook_id: int, delivery_id: int) -> Op[WebhookDelivery]:
        """Sends the event of a delivery now."""
        path = f"webhooks/{webhook_id:d}/deliveries/{delivery_id:d}/retry"
        return _post(path, WebhookDelivery, metered=False)

    @_Call
    def replay(
        self, webhook_id: int, *, since: datetime | Unset = UNSET, until: datetime | Unset = UNSET,
        types: Sequence[str] | Unset = UNSET, all: bool | Unset = UNSET,
    ) -> Op[WebhookReplayed]:
        """Sends events once more, and says how many: by default those of 30 days that were not delivered."""
        body = _body(since=since, until=until, types=types, all=all)
        return _post(f"webhooks/{webhook_id:d}/replay", WebhookReplayed, body, metered=False)


class Requests(_Noun[C]):
    """Your requests that failed."""

    @_List
    def list(
        self, *, since: datetime | None = None, until: datetime | None = None, key_id: str | None = None,
        status: int | None = None, code: str | None = None, limit: int | None = None, cursor: str | None = None,
    ) -> Op[Page[FailedRequest]]:
        """Lists your requests that failed in the last day, the newest first. It is not counted."""
        query = _query(since=since, until=until, key=key_id, status=status, code=code, limit=limit, cursor=cursor)
        return Op("GET", "requests", _page(FailedRequest), query=query, metered=False)

    @_Call
    def get(self, request_id: str) -> Op[ExplainedRequest]:
        """Explains a failed request, by the request_id of its error."""
        return Op("GET", f"requests/{_segment(request_id)}", _item(ExplainedRequest), metered=False)


def new_pet(pet: NewPet, key: str | None) -> Op[Pet]:
    body = _body(name=pet.name, category_id=pet.category_id, status=UNSET if pet.status is None else pet.status)
    return _post("pets", Pet, body, key)


def _rotation(
    key_id: str, grace_period: timedelta | None, expires_at: datetime | None | Unset, idempotency_key: str | None
) -> Op[Key]:
    path, body = f"keys/{_segment(key_id)}", _body(grace_period=_seconds(grace_period), expires_at=expires_at)

    def find(_: float) -> Op[str | None]:
        return Op("GET", path, lambda key, response: _item(Key)(key, response).replaced_by, metered=False)

    return replace(_post(f"{path}/rotate", Key, body, idempotency_key, metered=False), find=find)


def _post(path: str, kind: type[T], body: Any = None, key: str | None = None, *, metered: bool = True) -> Op[T]:
    return Op("POST", path, _item(kind), body=body, headers={"Idempotency-Key": checked_key(key)}, metered=metered)


def _patch(path: str, kind: type[T], body: Any, if_match: str | None, *, metered: bool = True) -> Op[T]:
    return Op("PATCH", path, _item(kind), body=body, headers=_if_match(if_match), metered=metered)


def _page(kind: type[T]) -> Callable[[Any, Response], Page[T]]:
    return lambda body, response: Page(_items(kind)(body, response), next_cursor(response.headers), response)


def _items(kind: type[T]) -> Callable[[Any, Response], tuple[T, ...]]:
    return lambda body, response: decode(tuple[kind, ...], body)  # type: ignore[valid-type]


def _item(kind: type[T]) -> Callable[[Any, Response], T]:
    return lambda body, response: decode(kind, body, response=response)


def _query(**parameters: object) -> dict[str, str]:
    """Leaves out what is None."""
    return {name: str(value) for name, value in _body(**parameters).items() if value is not None}


def _body(**members: object) -> dict[str, Any]:
    """Leaves out what is UNSET."""
    return {
        camel(name): format_time(value, name) if isinstance(value, datetime) else value
        for name, value in members.items()
        if value is not UNSET
    }


def _seconds(period: timedelta | None) -> int | Unset:
    return UNSET if period is None else int(period.total_seconds())


def _segment(text: str) -> str:
    if text in ("", ".", ".."):
        raise ValueError("an ID must not be empty")
    return urllib.parse.quote(text, safe="")


def _if_match(etag: str | None) -> dict[str, str]:
    """The weak form of an ETag, which compression makes, never matches."""
    if etag is None:
        return {}
    if not re.fullmatch(r'(W/)?"[!#-~]*"', etag):
        raise ValueError("an ETag must be in double quotes, as it was received")
    return {"If-Match": etag.removeprefix("W/")}
