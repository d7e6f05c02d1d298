"""How a call is made: requests, waits, retries and errors. What it does outside, an IO does.

Petstore's IO returns when it is done, that of AsyncPetstore is awaited. So both behave alike.
"""

from __future__ import annotations

import json
import logging
import math
import platform
import random
import re
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Protocol, TypeVar

import httpx

from ._errors import APIConnectionError, APITimeoutError, PetstoreError, RateLimitError, class_of
from ._values import Page, Rate, Response, Secret

__version__ = "1.0.0"
ATTEMPT = 30.0  # the longest that one request takes, in seconds
MAX_RESPONSE = 10 << 20  # bytes
MAX_BACKOFF = 60.0
RECHECK = 60.0  # how long a pause that is longer than calls may wait is believed

HTTP_DATE = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w -]+ \d\d:\d\d:\d\d (GMT|\d{4})"
PARAMETER = r"""\s*;\s*([\w*-]+)(?:\s*=\s*("[^"]*"|[^\s";,]+))?"""  # of a link
WARNINGS = {
    "X-Key-Expires": "the API key ends then, as Unix time; only a key with the scope manage can set a later expires_at",
    "Deprecation": "the operation will end",
    "X-Ignored-Parameters": "the service does not know these parameters",
}

T = TypeVar("T")
log = logging.getLogger("petstore")


@dataclass(frozen=True)
class Op(Generic[T]):
    """One operation with its arguments. All attempts send the same request."""

    method: str
    path: str
    read: Callable[[Any, Response], T]
    """Makes the result of the body and the response."""
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    metered: bool = True
    """Whether the request counts towards a limit, and waits while that is used up."""
    find: Callable[[float], Op[str | None]] | None = None
    """How to find the key that exists if the response was lost, by the time of the call."""

    @property
    def repeatable(self) -> bool:
        """Whether a second request is harmless if the first one has taken effect."""
        return self.method == "GET" or self.method == "POST" and self.path in ("pets", "store/orders")

    def __call__(self, core: Core, io: IO) -> Flow[T]:
        return core.call(io, self)


class IO(Protocol):
    """What a call does outside."""

    async def send(self, request: dict[str, Any], ends: float) -> Answer:
        """Sends a request, until that time. Raises httpx's errors."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def invoke(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the caller, and awaits its result if it can. Workers of an import do so in turn."""


Flow = Coroutine[Any, Any, T]
Task = Callable[["Core", IO], Flow[T]]


@dataclass(frozen=True)
class Answer:
    """A response with its whole body, which does not print it: it may have a key."""

    response: Response
    body: bytes = field(repr=False)


def add_chunk(body: bytearray, chunk: bytes, late: bool) -> None:
    """Adds a part of a response, unless it is too long or too late."""
    body += chunk
    if len(body) > MAX_RESPONSE:
        raise httpx.ReadError(f"the response is longer than {MAX_RESPONSE} bytes")
    if late:
        raise httpx.ReadTimeout("the response is too slow")


class Stopped(PetstoreError):
    """A wait was ended."""

    def __init__(self) -> None:
        super().__init__("the client was closed")


class Clock:
    """The time. Tests have another one."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits, and says whether the event ended that."""
        return event.wait(seconds)


class Pause:
    """The one pause of all calls with a key: none is sent before it ends."""

    def __init__(self, clock: Clock, draw: Callable[[], float]) -> None:
        self._clock, self._draw = clock, draw
        self._lock = threading.Lock()
        self._reset = self._end = self._recheck = -math.inf
        self._code = ""

    def begin(self, seconds: float, code: str | None = None) -> None:
        """Begins a pause, or makes it longer. Its random part is drawn once for all calls."""
        with self._lock:
            now = self._clock.monotonic()
            if now >= self._end:
                self._end = now + seconds + jitter(seconds, self._draw())
            elif now + seconds > self._end:
                self._end += now + seconds - self._reset
            else:
                return
            self._reset, self._recheck, self._code = now + seconds, now + RECHECK, code or "rate_limit_exceeded"

    def left(self, most: float) -> tuple[float, float, str]:
        """Returns the seconds to the reset, those to the end, and the code of the 429.

        A pause that is longer than most ends after a minute: a larger plan or support may have ended it.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._reset - now > most and now >= self._recheck:
                self._reset = self._end = -math.inf
            return self._reset - now, self._end - now, self._code


def jitter(seconds: float, draw: float) -> float:
    """Returns up to a tenth of a wait, at most 2 s."""
    return draw * min(2.0, seconds / 10)


class Core:
    """What the calls of a client share. Safe for use by several threads."""

    def __init__(
        self, url: str, key: str, timeout: float, max_wait: float, max_retries: int, user_agent: str | None,
        clock: Clock | None = None, draw: Callable[[], float] = random.random,
    ) -> None:
        self.url = check_url(url)
        self.keys = [check_key(key)]  # the last one is sent
        self.user_agent = f"petstore-python/{__version__} {platform.python_implementation()}/{platform.python_version()}"
        if user_agent is not None:
            if not re.fullmatch("[ -~]+", user_agent):
                raise ValueError("user_agent must be printable ASCII characters")
            self.user_agent = f"{user_agent} {self.user_agent}"
        self.clock, self.draw = clock or Clock(), draw
        self.pause = Pause(self.clock, self.draw)
        self._warned: set[tuple[str, str]] = set()
        self.timeout, self.max_wait, self.max_retries = timeout, max_wait, max_retries
        if not timeout > 0 or not max_wait > 0 or max_retries < 0:
            raise ValueError("timeout and max_wait must be positive, and max_retries not negative")

    async def call(self, io: IO, op: Op[T], ready: Callable[[], None] = lambda: None) -> T:
        """Makes a call. ready may refuse each attempt by an exception, just before it is sent."""
        started = self.clock.time()
        try:
            return await self._attempts(io, op, ready)
        except PetstoreError as error:
            if op.find and unknown(error):
                try:
                    error.key_id = await self.call(io, op.find(started))
                except PetstoreError:
                    pass  # such as that the scope is too narrow
            raise

    async def _attempts(self, io: IO, op: Op[T], ready: Callable[[], None]) -> T:
        deadline = self.clock.monotonic() + self.timeout
        failures, error = 0, None
        while True:
            if op.metered and self.max_retries:
                await self._wait_for_reset(io, deadline, error)
            ready()
            try:
                answer = await io.send(*self._request(op, deadline))
            except (httpx.HTTPError, httpx.StreamError) as lost:
                error = self._lost(op, lost)
            else:
                self._observe(op, answer.response)
                if 200 <= answer.response.status < 300:
                    return self._read(op, answer)
                error = self._error(answer.response, answer.body)
            wait = self._wait(op, error, failures)
            if wait is None or self.clock.monotonic() + wait >= deadline:
                raise error from None
            if not (error.status == 429 and error.retry_after):  # waiting for a reset costs no try
                failures += 1
            if wait:
                await io.sleep(wait)

    async def _wait_for_reset(self, io: IO, deadline: float, last: PetstoreError | None) -> None:
        while True:
            reset, end, code = self.pause.left(self.max_wait)
            if end <= 0:
                return
            if reset > self.max_wait or self.clock.monotonic() + end > deadline:
                raise last or RateLimitError(
                    f"Not sent: the limit resets in {math.ceil(reset)} s, and the call may not wait so long.",
                    code=code, status=429, retry_after=max(0.0, reset),
                )
            await io.sleep(end)

    def _request(self, op: Op[Any], deadline: float) -> tuple[dict[str, Any], float]:
        headers = httpx.Headers({**op.headers, "Accept": "application/json", "User-Agent": self.user_agent})
        headers["Authorization"] = f"Bearer {self.keys[-1].reveal()}"
        query = f"?{urllib.parse.urlencode(op.query)}" if op.query else ""
        now = self.clock.monotonic()
        timeout = min(ATTEMPT, max(0.001, deadline - now))
        url = f"{self.url}/{op.path}{query}"
        request: dict[str, Any] = {"method": op.method, "url": url, "headers": headers, "timeout": timeout}
        if op.body is not None:
            headers["Content-Type"] = "application/json"
            request["content"] = json.dumps(op.body, separators=(",", ":")).encode()
        return request, now + timeout

    def _wait(self, op: Op[Any], error: PetstoreError, failures: int) -> float | None:
        """Returns for how long to wait before the next attempt, None for no further one."""
        if not self.max_retries or not may_repeat(op, error):
            return None
        after = error.retry_after
        limited = error.status == 429 and op.metered
        if after and limited:
            self.pause.begin(after, error.code)
        if after and after > self.max_wait:
            return None
        if after and limited:
            return 0.0
        if failures >= self.max_retries and not (after and error.status == 429):
            return None
        if after:
            return after + jitter(after, self.draw())
        return self.draw() * min(MAX_BACKOFF, 2.0**failures, self.max_wait)

    def _observe(self, op: Op[Any], response: Response) -> None:
        """Notes what a response says about the limit, the key and the request."""
        headers, rate = response.headers, response.rate
        if op.metered and response.status < 429 and rate.remaining == 0 and rate.reset:
            left = rate.reset.timestamp() - self._service_time(headers)
            if left > 0:
                self.pause.begin(left)
        for name, advice in WARNINGS.items():
            value = headers.get(name)
            if value and (name, value) not in self._warned:
                self._warned.add((name, value))
                log.warning("%s: %s (%s %s): %s", name, self.redact(value), op.method, op.path, advice)

    def _service_time(self, headers: httpx.Headers) -> float:
        """Returns the time by the service's clock, so that this machine's does not matter."""
        date = http_date(headers.get("Date", ""))
        return self.clock.time() if date is None else date

    def _retry_after(self, headers: httpx.Headers) -> float | None:
        """Reads Retry-After: whole seconds or a date, at least 1 s. None if it is anything else."""
        text = headers.get("Retry-After", "").strip()
        if re.fullmatch("[0-9]+", text):
            return max(1.0, float(text[:18] if text.lstrip("0") else 0))
        date = http_date(text)
        return None if date is None else max(1.0, date - self._service_time(headers))

    def redact(self, text: str) -> str:
        for key in self.keys:
            text = text.replace(key.reveal(), "[redacted]")
        return re.sub("pst_(live|test)_[0-9A-Za-z]+", "[redacted]", text)

    def _lost(self, op: Op[Any], lost: Exception) -> PetstoreError:
        kind = APITimeoutError if isinstance(lost, httpx.TimeoutException) else APIConnectionError
        return kind(self.redact(f"{op.method} /{op.path}: no response: {str(lost) or type(lost).__name__}"))

    def _error(self, response: Response, body: bytes) -> PetstoreError:
        text = self.redact(body.decode("utf-8", "replace"))
        code, message = None, " ".join(text.split())[:200] or "the response is empty"
        try:
            members = json.loads(text)
            if isinstance(members["code"], str) and isinstance(members["message"], str):
                code, message = members["code"], members["message"]
        except (ValueError, LookupError, TypeError, RecursionError):
            pass  # from a proxy
        if 300 <= response.status < 400:
            message = "a redirect is not followed; check the URL"
        named = re.search(r"key_\w+", message) if code in ("key_already_issued", "key_already_rotated") else None
        request_id, help_page = response.request_id, link(response.headers, "help")
        return class_of(response.status)(
            message, code=code, status=response.status, request_id=request_id and self.redact(request_id),
            retry_after=self._retry_after(response.headers),
            doc_url=help_page and self.redact(urllib.parse.urljoin(self.url, help_page)),
            key_id=named and named.group(),
        )

    def _read(self, op: Op[T], answer: Answer) -> T:
        response = answer.response
        try:
            return op.read(None if response.status == 204 else json.loads(answer.body), response)
        except (ValueError, RecursionError) as error:
            # The message of a response that has a key in it names types and members, not values.
            text = "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            seen = self.redact(answer.body.decode("utf-8", "replace")[:200]) if text == "it is no JSON" else ""
            raise PetstoreError(
                f"{op.method} /{op.path}: the response can't be read: {text} {seen}".rstrip(), status=response.status,
                request_id=response.request_id,
            ) from None


def may_repeat(op: Op[Any], error: PetstoreError) -> bool:
    """Says whether another attempt may succeed, and is harmless if this one has taken effect."""
    if not error.status and "CERTIFICATE_VERIFY_FAILED" in error.message:
        return False  # A certificate that is not trusted will not be trusted in a second.
    if error.status == 429 or error.code == "idempotency_in_progress":
        return True
    if error.status == 503 and error.request_id and error.code != "outcome_unknown":
        return True
    return op.repeatable and unknown(error)


def unknown(error: PetstoreError) -> bool:
    """Says whether the request may have taken effect: we, or a proxy, had no answer of the service."""
    lost = isinstance(error, APIConnectionError) or error.status in (502, 503, 504) and not error.request_id
    return lost or error.code == "outcome_unknown"


def next_page(op: Op[Page[T]], page: Page[T] | None = None) -> Op[Page[T]] | None:
    """Returns the operation for the page after a page, or for the first one, of 100 items."""
    if page is None:
        return replace(op, query={"limit": "100", **op.query})
    if page.next_cursor is None:
        return None
    if page.next_cursor == op.query.get("cursor"):
        raise PetstoreError("the response names the same page as its next page")
    return replace(op, query={**op.query, "cursor": page.next_cursor})


def response_of(response: httpx.Response) -> Response:
    headers = response.headers
    return Response(
        status=response.status_code, headers=headers, request_id=headers.get("X-Request-Id"), etag=headers.get("ETag"),
        rate=rate_of(headers), replayed=headers.get("Idempotent-Replayed") == "true",
    )


def rate_of(headers: httpx.Headers) -> Rate:
    limit, remaining, reset = (number(headers.get(f"X-RateLimit-{n}")) for n in ("Limit", "Remaining", "Reset"))
    return Rate(limit, remaining, None if reset is None else datetime.fromtimestamp(reset, timezone.utc))


def number(text: str | None) -> int | None:
    """Reads a header with a whole number. Anything else, or one that no clock has, is None."""
    return int(text) if text and re.fullmatch("[0-9]{1,11}", text) else None


def http_date(text: str) -> float | None:
    """Reads an HTTP date in any of its three forms (RFC 9110, section 5.6.7)."""
    if not re.fullmatch(HTTP_DATE, text):
        return None
    try:
        return parsedate_to_datetime(text).replace(tzinfo=timezone.utc).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def link(headers: httpx.Headers, relation: str) -> str | None:
    """Returns the address of the first link (RFC 8288) with the relation."""
    for found in re.finditer(rf"<([^>]*)>((?:{PARAMETER})*)", headers.get("Link", "")):
        relations = next((value for name, value in re.findall(PARAMETER, found[2]) if name.lower() == "rel"), "")
        if relation in relations.strip('"').split():
            return found[1]
    return None


def next_cursor(headers: httpx.Headers) -> str | None:
    """Returns the cursor of the next page. Of a link only the cursor is used, never its address."""
    cursor = headers.get("X-Next-Cursor")
    if not cursor and (target := link(headers, "next")):
        cursor = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query).get("cursor", [""])[0]
    return cursor or None


def idempotency_key(key: str | None) -> str:
    """Checks a key, or makes one."""
    if key is None:
        return uuid.uuid4().hex
    if not re.fullmatch(r"[!#-\[\]-~]{1,255}", key):
        raise ValueError('an idempotency key must be 1 to 255 visible ASCII characters other than " and \\')
    return key


def check_key(key: str) -> Secret:
    if not re.fullmatch("[!-~]+", key):
        raise ValueError("the API key must be visible ASCII characters; is there a space or a line break around it?")
    return Secret(key)


def check_url(url: str) -> str:
    """Checks the address of the API. The error does not quote it: it is the key if both were swapped."""
    try:
        parts = urllib.parse.urlsplit(url)
        scheme, host, _ = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host = "", None
    if not host or not re.fullmatch("(?i:https?)://[!-~]+/v1/*", url) or re.search("[@?#]", url):
        raise ValueError("the URL must be absolute and end in /v1, as in https://api.example.com/v1")
    if scheme == "http" and not re.fullmatch(r"localhost|127(\.\d+){3}|::1", host):
        raise ValueError("the URL must be https: http would show the key to the network")
    return url.rstrip("/")
