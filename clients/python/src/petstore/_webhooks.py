"""Verification of webhooks (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ._values import parse_time

SHORTEST = 24  # bytes of a secret


class WebhookError(ValueError):
    """The request is not one of ours, is too old, or the secrets are wrong. Answer it with 400."""


@dataclass(frozen=True)
class WebhookEvent:
    """An event. Expect types that you do not know."""

    id: str
    """The same in each delivery of the event."""
    type: str
    timestamp: datetime | None
    data: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


def verify_webhook(
    secrets: str | Iterable[str], headers: Mapping[str, str], raw_body: bytes, *, tolerance: float = 300.0,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies a request, and returns its event. Raises WebhookError.

    raw_body is the body as it came: JSON that was read and written again is something else. Several
    secrets may hold at a time, while one is rotated. tolerance is in seconds, in both directions.
    """
    keys = [_secret(text) for text in ([secrets] if isinstance(secrets, str) else secrets)]
    given = {name.lower(): value for name, value in headers.items()}
    id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not id or not re.fullmatch("[0-9]{1,12}", timestamp):
        raise WebhookError("webhook-id or webhook-timestamp is missing or malformed")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookError("webhook-timestamp is too old, or too far ahead")
    signed = f"{id}.{timestamp}.".encode() + raw_body
    wanted = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    signatures = [s[3:].encode() for s in given.get("webhook-signature", "").split(" ") if s.startswith("v1,")]
    # Every pair is compared, and each in constant time.
    if not sum(hmac.compare_digest(w, s) for w in wanted for s in signatures):
        raise WebhookError("no signature fits")
    try:
        members: dict[str, Any] = json.loads(raw_body)
        if type(members) is not dict:
            raise ValueError("the body is no object")
        kind, at, data = members.pop("type", ""), members.pop("timestamp", None), members.pop("data", {})
        return WebhookEvent(id, str(kind), None if at is None else parse_time(str(at), "timestamp"), data, members)
    except (ValueError, RecursionError) as error:
        raise WebhookError(f"the body can't be read: {error}") from None


def _secret(text: str) -> bytes:
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise WebhookError("a secret is not base64") from None
    if len(key) < SHORTEST:
        raise WebhookError(f"a secret is shorter than {SHORTEST} bytes")
    return key
