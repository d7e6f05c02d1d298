"""What the API returns. Made by scripts/generate.py from the OpenAPI document: do not change it by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._values import Item, Secret


@dataclass(frozen=True, kw_only=True)
class ExplainedRequest(Item):
    """A request that failed, and why."""

    id: str
    """The `X-Request-Id` of the response."""

    time: datetime
    """When the request came, in UTC."""

    method: str
    """The method, or `other` if it is no usual one."""

    route: str | None = None
    """The path of the operation, with the names of its parameters; `null` if there is no such path."""

    status: int
    """The status of the response; 499 if you closed the connection before it."""

    code: str
    """The code of the error. See all codes."""

    duration_ms: float
    """How long our server worked on it, in milliseconds."""

    key_id: str
    """The ID of the key."""

    explanation: str
    """What the response was, and why, for people. The wording may change."""

    window: RefusingWindow | None = None
    """The window that refused the request; `null` if none did."""

    passes_at: datetime | None = None
    """From when your limits and bans admit such a request again, as far as is known now; it may be over. `null`
    if they did not refuse it: then waiting does not help."""

    refusals: Refusals | None = None
    """What larger plans would change; `null` if no limit of your plan refused the request."""


@dataclass(frozen=True, kw_only=True)
class FailedRequest(Item):
    """A request that failed."""

    id: str
    """The `X-Request-Id` of the response."""

    time: datetime
    """When the request came, in UTC."""

    method: str
    """The method, or `other` if it is no usual one."""

    route: str | None = None
    """The path of the operation, with the names of its parameters; `null` if there is no such path."""

    status: int
    """The status of the response; 499 if you closed the connection before it."""

    code: str
    """The code of the error. See all codes."""

    duration_ms: float
    """How long our server worked on it, in milliseconds."""

    key_id: str
    """The ID of the key."""


@dataclass(frozen=True, kw_only=True)
class Key(Item):
    """An API key."""

    id: str
    """The ID. It is no secret."""

    name: str
    """What the key is for. It may be empty."""

    environment: str
    """`live` keys work in production, `test` keys in staging. We may add values, announced 30 days before."""

    last4: str
    """The last four characters of the key."""

    scope: str
    """What the key may do, as in `KeyScope`. We may add values, announced 30 days before."""

    allowed_addresses: tuple[str, ...]
    """The addresses and blocks from which the key may be used; empty for any."""

    per_minute: int | None = None
    """The key's own limit of requests per minute; `null` for none."""

    status: str
    """Whether the key is good. We may add values, announced 30 days before."""

    created_at: datetime
    """When the key was issued, in UTC."""

    expires_at: datetime | None = None
    """When the key expires or expired; `null` for never."""

    last_used_at: datetime | None = None
    """When the key was last used, to a minute, also by requests that are not counted; `null` for never. A request
    that ends in `address_not_allowed` or 503 is no use."""

    replaces: str | None = None
    """The ID of the key that it replaced in a rotation."""

    replaced_by: str | None = None
    """The ID of the key that replaced it in a rotation, unless that was revoked."""

    issued_by: str | None = None
    """The ID of the key by which it was issued; `account` if it was issued on your account's page after our
    support had invited you, or `support`; `null` if that is no longer known."""

    also_ended: tuple[str, ...] = ()
    """In the response to a change, the IDs of the other keys that ended with it."""

    key: Secret | None = None
    """The key itself, in the response to the request alone that issued it. It is a secret."""


@dataclass(frozen=True, kw_only=True)
class KeyUsage(Item):
    """What one key used."""

    id: str
    """The ID of the key, which is not secret."""

    name: str
    """The name of the key; empty if it has none, or was removed."""

    admitted: int
    """Requests admitted on all days together."""

    refused: int
    """Requests refused with 429."""

    days: tuple[UsageDay, ...]
    """As for all keys together."""


@dataclass(frozen=True, kw_only=True)
class LargerPlan(Item):
    """What a larger plan would change."""

    name: str
    """The name of the plan."""

    remain_at_least: int
    """How many of the refused requests would have been refused on the plan too, at least: by its limits, or by a
    key's own limit, which no plan changes. Only the number of requests of each hour is recorded, so they are
    taken to be spread evenly: bursts and bans may refuse more."""


@dataclass(frozen=True, kw_only=True)
class MonthForecast(Item):
    """What the present UTC month comes to at your average rate of the last seven days, or since your first
    request in them, but of a day at least."""

    admitted: int
    """Requests admitted when the month ends."""

    overage: int
    """How many of them are billed above those that your plan includes."""

    runs_out_at: datetime | None = None
    """When the limit of the month is reached, in UTC; the current time if it is used up already; `null` if the
    month ends first, or has no limit."""


@dataclass(frozen=True, kw_only=True)
class Order(Item):
    """An order for an animal."""

    id: int
    """The ID, assigned when the order was placed."""

    pet_id: int
    """The animal."""

    quantity: int
    """The quantity."""

    status: str
    """The status, as in `OrderStatus`. We may add values, announced 30 days before."""

    created_at: datetime
    """When the order was placed, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Pet(Item):
    """An animal in your catalogue."""

    id: int
    """The ID, assigned when the animal was added."""

    name: str

    category_id: int

    status: str | None = None
    """The availability, as in `PetStatus`. We may add values, announced 30 days before."""


@dataclass(frozen=True, kw_only=True)
class Plan(Item):
    """A plan that is sold."""

    name: str
    """The name of the plan, as in `plan` of your usage."""

    title: str | None = None
    """What people call the plan; `null` if it has no other name."""

    requests_per_minute: int | None = None
    """Requests per minute; `null` if the number is agreed with each customer."""

    requests_per_day: int | None = None
    """Requests per UTC day; `null` if the number is agreed with each customer."""

    requests_per_month: int | None = None
    """Requests of a UTC month that the price includes; `null` if the plan has no such number, or if it is agreed
    with each customer."""

    overage: int | None = None
    """How many more requests a month admits, which are billed apart; 0 if those of `requestsPerMonth` are a
    limit; `null` if any number is admitted, and without `requestsPerMonth`."""


@dataclass(frozen=True, kw_only=True)
class PlanChange(Item):
    """A change that comes by itself, such as the end of a trial. What you used of the minute, the day and the
    month stays counted."""

    at: datetime
    """When the change takes effect."""

    plan: str
    """Your plan from then on."""

    quota: Quota


@dataclass(frozen=True, kw_only=True)
class Quota(Item):
    """The number of requests that your plan allows."""

    per_minute: int
    """Requests per minute."""

    per_day: int
    """Requests per UTC day."""

    per_month: int | None = None
    """Requests of a UTC month that the price includes; `null` if your plan has no such number."""

    overage: int | None = None
    """How many more requests a month admits, which are billed apart; 0 if those of `perMonth` are a limit; `null`
    if any number is admitted, and without `perMonth`."""


@dataclass(frozen=True, kw_only=True)
class Refusals(Item):
    """How many of your requests were refused, and how many of these would be on larger plans."""

    days: int
    """The number of UTC days, with today."""

    refused: int
    """Requests refused with 429 on these days, by limits of your plan, by a key's own limit and by bans."""

    plans: tuple[LargerPlan, ...]
    """The plans that are sold, are larger than yours, and raise the limit that refused the request, the smallest
    first. `explanation` names those whose limit is the same."""


@dataclass(frozen=True, kw_only=True)
class RefusingWindow(Item):
    """The window that refused a request."""

    name: str
    """The name of the window, as in `RateLimit-Policy`."""

    limit: int
    """The number of requests that the window allowed."""

    from_: datetime
    """Since when `used` is counted. It is the beginning of the window. A minute is recorded until a key is used
    two minutes later: then it is the beginning of the UTC hour, whose use says nothing about the `limit` of a
    minute. `explanation` says so too."""

    to: datetime
    """Up to when `used` is counted."""

    used: tuple[UsedByKey, ...]
    """What each of your keys used, the most first; of the window `key`, that key alone. It may be a second
    behind."""


@dataclass(frozen=True, kw_only=True)
class Usage(Item):
    """Your limits and your usage."""

    tenant: str
    """The name of your account. All its keys share its limits."""

    plan: str
    """Your plan."""

    quota: Quota

    windows: UsageWindows
    """The state of your limits, by their names in `RateLimit-Policy`."""

    month: UsageMonth

    forecast: UsageForecast

    next_change: PlanChange | None = None
    """The next change of your plan or its quota, if one is scheduled; `null` otherwise."""


@dataclass(frozen=True, kw_only=True)
class UsageCorrection(Item):
    """What arrived late of an earlier month."""

    month: str
    """The earlier month."""

    admitted: int
    """Requests admitted. Negative if some were given back."""

    refused: int
    """Requests refused with 429."""


@dataclass(frozen=True, kw_only=True)
class UsageDay(Item):
    """One UTC day."""

    date: str
    """The day."""

    admitted: int
    """Requests admitted."""

    refused: int
    """Requests refused with 429."""


@dataclass(frozen=True, kw_only=True)
class UsageForecast(Item):
    """What happens to the daily quota at your current rate, and to the month."""

    per_hour: int
    """Your current rate: requests admitted in this UTC hour and the one before it, per hour of that time. It may
    be a second behind."""

    day_runs_out_at: datetime | None = None
    """When the daily quota runs out at that rate, in UTC; the current time if it is used up already; `null` if it
    lasts until the end of the day."""

    month: MonthForecast | None = None
    """What the present month comes to at your average rate of the last seven days; `null` if your plan has no
    `perMonth`."""


@dataclass(frozen=True, kw_only=True)
class UsageMonth(Item):
    """The current month, or the one that you ask for, by UTC day, for all your keys together. It may be a second
    behind."""

    admitted: int
    """Requests admitted on all days together."""

    refused: int
    """Requests refused with 429. They are not counted."""

    included: int | None = None
    """How many requests of the month your plan includes; of a month that is over, the last number. `null` without
    one."""

    overage: int | None = None
    """How many of the requests are billed apart, because they are above those that your plan included when they
    were sent. A request that ended in 5xx is not, so `X-Quota-Overage` may be more."""

    days: tuple[UsageDay, ...]
    """Each day of the month; of the current one until today."""

    month: str | None = None
    """The month. Only in a report, as is `corrections`."""

    corrections: tuple[UsageCorrection, ...] = ()
    """Usage of earlier months that arrived after they were closed. It is billed in this month, in addition to
    `admitted`."""

    keys: tuple[KeyUsage, ...] = ()
    """Each key that was used in the month. Only in a report by key."""


@dataclass(frozen=True, kw_only=True)
class UsageWindow(Item):
    """The state of one limit before the next request."""

    limit: int
    """The number of requests allowed in the window."""

    used: int
    """The number of requests used."""

    remaining: int
    """The number of requests that remain."""

    reset: int
    """When the window ends, as Unix time in seconds."""


@dataclass(frozen=True, kw_only=True)
class UsageWindows(Item):
    """The state of your limits, by their names in `RateLimit-Policy`."""

    minute: UsageWindow

    day: UsageWindow

    month: UsageWindow | None = None
    """The UTC month, with what your plan includes and allows above it; `null` if your plan has no limit per
    month."""

    key: UsageWindow | None = None
    """The per-minute limit of the key that you use; `null` if it has no limit of its own."""


@dataclass(frozen=True, kw_only=True)
class UsedByKey(Item):
    """What one key used."""

    id: str
    """The ID of the key."""

    name: str
    """The name of the key; empty if it has none, or was removed."""

    admitted: int
    """Requests admitted."""


@dataclass(frozen=True, kw_only=True)
class Webhook(Item):
    """An endpoint of yours that gets events."""

    id: int
    """The ID."""

    url: str
    """Where events are sent, with the host in its ASCII form."""

    events: tuple[str, ...]
    """The types of events that are sent, or `*` for all but `pet.…` and `order.…`. We may add values."""

    description: str
    """What the webhook is for. It may be empty."""

    environment: str
    """`live`: the events of production, `test`: those of staging. We may add values, announced 30 days before."""

    status: str
    """Whether events are sent: `pending` before the webhook has answered a `ping` with a 2xx. We may add values,
    announced 30 days before."""

    disabled_reason: str | None = None
    """Why it is disabled: by you (`customer`) or our support (`support`), because it answered with 410 (`gone`),
    or because every attempt of 5 days failed (`failures`). `null` if it is not. We may add values."""

    created_at: datetime
    """When it was added, in UTC."""

    secret: Secret | None = None
    """The secret that signs its events, in the response to the request alone that made it."""


@dataclass(frozen=True, kw_only=True)
class WebhookAttempt(Item):
    """An attempt to send an event."""

    at: datetime
    """When it began, in UTC."""

    duration_ms: int
    """How long it took, in milliseconds."""

    status: int | None = None
    """The HTTP status of the answer; `null` if there was none."""

    answer: str
    """The first 256 bytes of the answer as text. What is not UTF-8 is replaced."""

    problem: str | None = None
    """Why there was no answer, for people; `null` if there was one. The wording may change."""


@dataclass(frozen=True, kw_only=True)
class WebhookDelivery(Item):
    """An event that is sent to a webhook."""

    id: int
    """The ID of the delivery."""

    event_id: str
    """The ID of the event, which the receiver gets as `webhook-id`."""

    type: str
    """The type of the event. We may add values."""

    created_at: datetime
    """When the delivery was queued, in UTC."""

    status: str
    """`waiting` for its next attempt, `delivered`, `failed` for good, or `dropped` unsent, as what waited when
    the webhook was disabled and enabled again. We may add values, announced 30 days before."""

    next_attempt_at: datetime | None = None
    """When it is sent next, at the earliest; `null` if it is not."""

    attempts: tuple[WebhookAttempt, ...]
    """The attempts so far, the oldest first."""


@dataclass(frozen=True, kw_only=True)
class WebhookReplayed(Item):
    """What a replay sends."""

    deliveries: int
    """How many deliveries were queued."""
