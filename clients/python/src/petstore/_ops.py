"""The operations: what each call sends, and what it returns."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeVar

from ._core import IO, Core, Op, Task, idempotency_key as checked_key, next_cursor
from ._errors import PetstoreError
from ._types import (
    ExplainedRequest, FailedRequest, Key, Order, Pet, Plan, Usage, UsageMonth, Webhook, WebhookDelivery,
    WebhookReplayed,
)
from ._values import (
    UNSET, KeyScope, KeyStatus, NewPet, OrderStatus, Page, PetStatus, Response, Unset, camel, decode, format_time,
)

T = TypeVar("T")
HOUR = timedelta(hours=1)
CLOCKS = 60.0  # by how many seconds the clock of the service may be behind ours


def list_pets(
    *, status: PetStatus | None = None, category_id: int | None = None, ids: Iterable[int] | None = None,
    name: str | None = None, limit: int | None = None, cursor: str | None = None,
) -> Op[Page[Pet]]:
    """Lists your animals by ID. name is the beginning of a name; ids are at most 100."""
    joined = None if ids is None else ",".join(str(i) for i in ids)
    query = _query(status=status, category_id=category_id, ids=joined, name=name, limit=limit, cursor=cursor)
    return Op("GET", "pets", _page(Pet), query=query, repeatable=True)


def create_pet(
    name: str, category_id: int, status: PetStatus | None = None, *, idempotency_key: str | None = None
) -> Op[Pet]:
    """Adds an animal. With the same idempotency key it is added once in 24 hours."""
    return new_pet(NewPet(name, category_id, status), checked_key(idempotency_key))


def new_pet(pet: NewPet, key: str) -> Op[Pet]:
    body = _body(name=pet.name, category_id=pet.category_id, status=UNSET if pet.status is None else pet.status)
    return Op("POST", "pets", _item(Pet), body=body, headers={"Idempotency-Key": key}, repeatable=True)


def update_pet(
    pet_id: int, *, name: str | Unset = UNSET, category_id: int | Unset = UNSET, status: PetStatus | Unset = UNSET,
    if_match: str | None = None,
) -> Op[Pet]:
    """Changes an animal. if_match is the ETag that it must still have.

    After APIConnectionError or outcome_unknown the change may have been made: read it again.
    """
    body = _body(name=name, category_id=category_id, status=status)
    return Op("PATCH", f"pets/{pet_id:d}", _item(Pet), body=body, headers=_if_match(if_match))


def list_orders(
    *, status: OrderStatus | None = None, limit: int | None = None, cursor: str | None = None
) -> Op[Page[Order]]:
    """Lists your orders by ID."""
    query = _query(status=status, limit=limit, cursor=cursor)
    return Op("GET", "store/orders", _page(Order), query=query, repeatable=True)


def create_order(pet_id: int, quantity: int | None = None, *, idempotency_key: str | None = None) -> Op[Order]:
    """Orders an available animal, which becomes pending."""
    body = _body(pet_id=pet_id, quantity=UNSET if quantity is None else quantity)
    headers = {"Idempotency-Key": checked_key(idempotency_key)}
    return Op("POST", "store/orders", _item(Order), body=body, headers=headers, repeatable=True)


def get_order(order_id: int) -> Op[Order]:
    """Gets an order."""
    return Op("GET", f"store/orders/{order_id:d}", _item(Order), repeatable=True)


def update_order(order_id: int, *, status: OrderStatus, if_match: str | None = None) -> Op[Order]:
    """Changes the status of an order, and with it that of its animal."""
    body = _body(status=status)
    return Op("PATCH", f"store/orders/{order_id:d}", _item(Order), body=body, headers=_if_match(if_match))


def get_usage() -> Op[Usage]:
    """Gets the state of your limits and this month's usage. It is not counted."""
    return Op("GET", "usage", _item(Usage), metered=False, repeatable=True)


def report_usage(month: date | str) -> Op[UsageMonth]:
    """Gets what is billed for a UTC month, by day and key. A month is any of its days, or "2026-11"."""
    query = {"month": month if isinstance(month, str) else f"{month:%Y-%m}", "by": "key"}

    def read(body: Any, response: Response) -> UsageMonth:
        return replace(_item(Usage)(body, response).month, response=response)

    return Op("GET", "usage", read, query=query, repeatable=True)


def list_plans() -> Op[tuple[Plan, ...]]:
    """Lists the plans that are sold, the smallest first."""
    return Op("GET", "plans", lambda body, re: _page(Plan)(body, re).items, metered=False, repeatable=True)


def list_keys(
    *, status: KeyStatus | None = None, limit: int | None = None, cursor: str | None = None
) -> Op[Page[Key]]:
    """Lists your keys, the newest first. It needs the scope manage."""
    query = _query(status=status, limit=limit, cursor=cursor)
    return Op("GET", "keys", _page(Key), query=query, metered=False, repeatable=True)


def get_key(key_id: str = "self") -> Op[Key]:
    """Gets a key. "self" is the client's own, in any scope."""
    return Op("GET", f"keys/{_segment(key_id)}", _item(Key), metered=False, repeatable=True)


def create_key(
    name: str, *, scope: KeyScope | Unset = UNSET, expires_at: datetime | Unset = UNSET,
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
            made = (k for k in _page(Key)(keys, response).items if k.created_at.timestamp() > started - CLOCKS)
            return next((k.id for k in made if k.name == name), None)

        return Op("GET", "keys", read, query={"limit": "20"}, metered=False, repeatable=True)

    return replace(_key_op("POST", "keys", body, {"Idempotency-Key": checked_key(idempotency_key)}), find=find)


def update_key(
    key_id: str, *, name: str | None | Unset = UNSET, scope: KeyScope | Unset = UNSET,
    expires_at: datetime | None | Unset = UNSET, per_minute: int | None | Unset = UNSET,
    allowed_addresses: Sequence[str] | None | Unset = UNSET, confirm_lockout: bool | Unset = UNSET,
    if_match: str | None = None,
) -> Op[Key]:
    """Changes a key. None removes a value."""
    body = _body(
        name=name, scope=scope, expires_at=expires_at, per_minute=per_minute, allowed_addresses=allowed_addresses,
        confirm_lockout=confirm_lockout,
    )
    return _key_op("PATCH", f"keys/{_segment(key_id)}", body, _if_match(if_match))


def rotate_key(
    key_id: str, *, grace_period: timedelta | None = None, expires_at: datetime | None | Unset = UNSET,
    idempotency_key: str | None = None,
) -> Op[Key]:
    """Issues a replacement of a key. The old one stays valid for the grace period, 24 hours by default.

    Without expires_at the new key ends when the old one would have; None is never.
    """
    grace = UNSET if grace_period is None else int(grace_period.total_seconds())
    body = _body(grace_period=grace, expires_at=expires_at)
    path = f"keys/{_segment(key_id)}/rotate"
    op = _key_op("POST", path, body, {"Idempotency-Key": checked_key(idempotency_key)})

    def find(_: float) -> Op[str | None]:
        def read(key: Any, response: Response) -> str | None:
            return _item(Key)(key, response).replaced_by

        return Op("GET", get_key(key_id).path, read, metered=False, repeatable=True)

    return replace(op, find=find)


def revoke_key(
    key_id: str = "self", *, reason: str | None = None, replacements: bool = False, idempotency_key: str | None = None
) -> Op[Key]:
    """Ends a key for ever, with replacements also those that it has made by rotating itself."""
    op = _key_op(
        "POST", f"keys/{_segment(key_id)}/revoke", _body(reason=UNSET if reason is None else reason),
        {"Idempotency-Key": checked_key(idempotency_key)},
    )
    return replace(op, query={"replacements": "true"}) if replacements else op


def list_webhooks() -> Op[tuple[Webhook, ...]]:
    """Lists all webhooks, the newest first. It needs the scope manage, as all that follow."""
    return Op("GET", "webhooks", lambda body, re: _page(Webhook)(body, re).items, metered=False, repeatable=True)


def get_webhook(webhook_id: int) -> Op[Webhook]:
    """Gets a webhook."""
    return Op("GET", f"webhooks/{webhook_id:d}", _item(Webhook), metered=False, repeatable=True)


def create_webhook(
    url: str, *, events: Sequence[str] | Unset = UNSET, description: str | Unset = UNSET,
    idempotency_key: str | None = None,
) -> Op[Webhook]:
    """Adds a webhook, with its secret in secret of the result, this once.

    If the response is lost, the webhook may be there: rotate its secret.
    """
    body = _body(url=url, events=events, description=description)
    headers = {"Idempotency-Key": checked_key(idempotency_key)}
    return Op("POST", "webhooks", _item(Webhook), body=body, headers=headers, metered=False)


def update_webhook(
    webhook_id: int, *, url: str | Unset = UNSET, events: Sequence[str] | Unset = UNSET,
    description: str | None | Unset = UNSET, status: Literal["enabled", "disabled"] | Unset = UNSET,
    if_match: str | None = None,
) -> Op[Webhook]:
    """Changes a webhook. A description of None removes it."""
    body = _body(url=url, events=events, description=description, status=status)
    path, headers = f"webhooks/{webhook_id:d}", _if_match(if_match)
    return Op("PATCH", path, _item(Webhook), body=body, headers=headers, metered=False)


def delete_webhook(webhook_id: int) -> Op[None]:
    """Removes a webhook with what waits for it."""
    return Op("DELETE", f"webhooks/{webhook_id:d}", lambda body, response: None, metered=False)


def rotate_webhook(webhook_id: int, *, grace_period: timedelta | None = None) -> Op[Webhook]:
    """Makes another secret. Earlier ones sign too for the grace period, 24 hours by default."""
    grace = UNSET if grace_period is None else int(grace_period.total_seconds())
    return _webhook_op(f"webhooks/{webhook_id:d}/rotate", _item(Webhook), _body(grace_period=grace))


def test_webhook(webhook_id: int) -> Op[WebhookDelivery]:
    """Sends a ping, and returns its delivery."""
    return _webhook_op(f"webhooks/{webhook_id:d}/test", _item(WebhookDelivery))


def list_webhook_deliveries(
    webhook_id: int, *, limit: int | None = None, cursor: str | None = None
) -> Op[Page[WebhookDelivery]]:
    """Lists what was sent to a webhook, the newest first."""
    path, query = f"webhooks/{webhook_id:d}/deliveries", _query(limit=limit, cursor=cursor)
    return Op("GET", path, _page(WebhookDelivery), query=query, metered=False, repeatable=True)


def retry_webhook_delivery(webhook_id: int, delivery_id: int) -> Op[WebhookDelivery]:
    """Sends the event of a delivery now."""
    return _webhook_op(f"webhooks/{webhook_id:d}/deliveries/{delivery_id:d}/retry", _item(WebhookDelivery))


def replay_webhook(
    webhook_id: int, *, since: datetime | Unset = UNSET, until: datetime | Unset = UNSET,
    types: Sequence[str] | Unset = UNSET, all: bool | Unset = UNSET,
) -> Op[WebhookReplayed]:
    """Sends events once more, and says how many: by default those of 30 days that were not delivered."""
    body = _body(since=since, until=until, types=types, all=all)
    return _webhook_op(f"webhooks/{webhook_id:d}/replay", _item(WebhookReplayed), body)


def list_requests(
    *, since: datetime | None = None, until: datetime | None = None, key_id: str | None = None,
    status: int | None = None, code: str | None = None, limit: int | None = None, cursor: str | None = None,
) -> Op[Page[FailedRequest]]:
    """Lists your requests that failed in the last day, the newest first. It is not counted."""
    query = _query(since=since, until=until, key=key_id, status=status, code=code, limit=limit, cursor=cursor)
    return Op("GET", "requests", _page(FailedRequest), query=query, metered=False, repeatable=True)


def get_request(request_id: str) -> Op[ExplainedRequest]:
    """Explains a failed request, by the request_id of its error."""
    path = f"requests/{_segment(request_id)}"
    return Op("GET", path, _item(ExplainedRequest), metered=False, repeatable=True)


def rotate_self(
    save: Callable[[str], Awaitable[object] | object], *, grace_period: timedelta | None = None,
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
            own = await core.call(io, get_key())
            if own.scope != "manage":
                raise ValueError(f"grace_period and expires_at need a key with the scope manage, not {own.scope}")
        issued = await core.call(io, rotate_key("self", grace_period=grace_period, expires_at=expires_at))
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


def _key_op(method: Literal["POST", "PATCH"], path: str, body: Any, headers: Mapping[str, str]) -> Op[Key]:
    return Op(method, path, _item(Key), body=body, headers=headers, metered=False)


def _webhook_op(path: str, read: Callable[[Any, Response], T], body: Any = None) -> Op[T]:
    return Op("POST", path, read, body=body, headers={"Idempotency-Key": checked_key(None)}, metered=False)


def _page(kind: type[T]) -> Callable[[Any, Response], Page[T]]:
    return lambda body, re: Page(decode(tuple[kind, ...], body), next_cursor(re.headers), re)  # type: ignore[valid-type]


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
