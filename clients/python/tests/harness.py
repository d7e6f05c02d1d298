"""What the vectors need: a clock that only waits move, and a service that answers as they say."""

from __future__ import annotations

import asyncio
import json
import re
import selectors
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx

import petstore
from petstore._core import Clock, Core
from petstore._values import Secret, camel, parse_time

T = TypeVar("T")
TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
URL = "https://api.example.com/v1"
KEY = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"
EPOCH = datetime(2026, 11, 29, 21, 0, tzinfo=timezone.utc).timestamp()
DRAWS = (0.0, 0.999999)


def vectors(name: str) -> list[Any]:
    found: list[Any] = json.loads((TESTDATA / f"{name}.json").read_text())
    assert found
    return found


def known(given: dict[str, Any], *members: str) -> None:
    """A member that the runner does not know fails."""
    assert set(given) <= set(members), set(given) - set(members)


class TestClock(Clock):
    """The clock of one thread: a wait takes no time."""

    __test__ = False

    def __init__(self) -> None:
        self.now = 0.0
        self.draws = 0

    def draw(self, value: float) -> float:
        self.draws += 1
        return value

    def time(self) -> float:
        return EPOCH + self.monotonic()

    def monotonic(self) -> float:
        return self.now

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.now += seconds
        return event.is_set()


class ThreadsClock(TestClock):
    """The clock of several threads: it goes on when all of them wait."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.workers = workers
        self.started = 0
        self.alive: set[threading.Thread] = set()
        self._waiting: dict[int, tuple[float, threading.Event]] = {}
        self._lock = threading.Lock()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        woken = threading.Event()
        with self._lock:
            self._waiting[threading.get_ident()] = (self.now + seconds, woken)
        while not woken.wait(0.002) and not event.is_set():
            pass
        with self._lock:
            self._waiting.pop(threading.get_ident(), None)
        return event.is_set()

    def run(self, work: Callable[[], T]) -> T:
        """Runs work in a thread, and moves the clock."""
        result: list[T] = []
        failed: list[BaseException] = []
        clock = self

        class Counted(threading.Thread):
            def run(self) -> None:
                with clock._lock:
                    clock.alive.add(self)
                    clock.started += 1
                try:
                    super().run()
                finally:
                    with clock._lock:
                        clock.alive.discard(self)

        def body() -> None:
            try:
                result.append(work())
            except BaseException as error:
                failed.append(error)

        plain, main = threading.Thread, threading.Thread(target=body)
        threading.Thread = Counted  # type: ignore[misc]
        try:
            main.start()
            while main.is_alive():
                time.sleep(0.0002)  # lets the threads go on; nothing depends on how far
                with self._lock:
                    if self.started >= self.workers and self.alive and len(self._waiting) == len(self.alive):
                        self.now, woken = min(self._waiting.values(), key=lambda w: w[0])
                        woken.set()
                        self._waiting = {k: w for k, w in self._waiting.items() if w[1] is not woken}
        finally:
            threading.Thread = plain  # type: ignore[misc]
        if failed:
            raise failed[0]
        return result[0]


class _Selector(selectors.SelectSelector):
    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.clock.now += timeout
        return ready

    clock: TestClock


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: TestClock) -> None:
        selector = _Selector()
        selector.clock = clock
        self._test_clock = clock
        super().__init__(selector)

    def time(self) -> float:
        return self._test_clock.now


def run_async(clock: TestClock, work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in a loop with this clock."""
    loop = _Loop(clock)
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


Handler = Callable[[httpx.Request], "Reply"]


class Reply:
    """A response, after a time; without a status the connection breaks, or nothing comes."""

    def __init__(self, spec: dict[str, Any], takes: float = 0.0) -> None:
        known(spec, "status", "headers", "body", "text", "lost", "cut", "hangs")
        self.spec, self.takes = spec, takes

    def seconds(self, request: httpx.Request) -> float:
        return float(request.extensions["timeout"]["read"]) if self.spec.get("hangs") else self.takes

    def response(self, now: float, request: httpx.Request) -> httpx.Response:
        if self.spec.get("hangs"):
            raise httpx.ReadTimeout("nothing came", request=request)
        if self.spec.get("lost"):
            raise httpx.ReadError("the connection broke", request=request)
        body = self.spec["text"] if "text" in self.spec else json.dumps(self.spec["body"], ensure_ascii=False, separators=(",", ":"))
        headers = {name: fill(value, now) for name, value in self.spec["headers"].items()}
        stream = Stream(fill(body, now).encode(), bool(self.spec.get("cut")))
        return httpx.Response(self.spec["status"], headers=headers, stream=stream)


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body, which may be cut."""

    def __init__(self, body: bytes, cut: bool) -> None:
        self.body, self.cut = body, cut

    def __iter__(self) -> Iterator[bytes]:
        yield self.body
        if self.cut:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part


def fill(text: str, now: float) -> str:
    """Replaces the times of a vector."""

    def time_of(match: re.Match[str]) -> str:
        when = datetime.fromtimestamp(EPOCH + now + float(match[2]), timezone.utc)
        if match[1] == "unix":
            return str(int(when.timestamp()))
        return format_datetime(when, usegmt=True) if match[1] == "date" else when.isoformat().replace("+00:00", "Z")

    return re.sub(r"\{(unix|date|time)\+(\d+)\}", time_of, text)


def make(clock: TestClock, draw: float, handler: Handler, **options: Any) -> petstore.Petstore:
    """Makes a client of a service."""

    def answer(request: httpx.Request) -> httpx.Response:
        reply = handler(request)
        if seconds := reply.seconds(request):
            clock.wait(threading.Event(), seconds)
        return reply.response(clock.now, request)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    store = petstore.Petstore(URL, KEY, http_client=http)
    store._core = core(clock, draw, **options)
    return store


def make_async(clock: TestClock, draw: float, handler: Handler, **options: Any) -> petstore.AsyncPetstore:
    """Makes an asynchronous client of a service."""

    async def answer(request: httpx.Request) -> httpx.Response:
        reply = handler(request)
        if seconds := reply.seconds(request):
            await asyncio.sleep(seconds)
        return reply.response(clock.now, request)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    store = petstore.AsyncPetstore(URL, KEY, http_client=http)
    store._core = core(clock, draw, **options)
    return store


def core(clock: TestClock, draw: float, **options: Any) -> Core:
    given = {"timeout": 600.0, "max_wait": 90.0, "max_retries": 3, **options}
    return Core(URL, KEY, user_agent=None, clock=clock, draw=lambda: clock.draw(draw), **given)


class Exchanges:
    """The service of a vector: it checks each request, and answers it."""

    def __init__(self, clock: TestClock, draw: float, exchanges: list[Any]) -> None:
        self.clock, self.draw, self.left = clock, draw, list(exchanges)
        self.ended = 0.0
        self.names: dict[str, str] = {}
        self.failures: list[str] = []

    def __call__(self, request: httpx.Request) -> Reply:
        try:
            assert self.left, f"one request too many: {request.method} {request.url}"
            exchange = self.left.pop(0)
            known(exchange, "request", "response", "wait")
            low, high = exchange.get("wait", [0, 0])
            waited, wanted = self.clock.now - self.ended, high if self.draw else low
            assert abs(waited - wanted) <= 0.05, f"waited {waited}, want {wanted}"
            self.check(request, exchange["request"])
            reply = Reply(exchange["response"])
            self.ended = self.clock.now + reply.seconds(request)
            return reply
        except AssertionError as error:
            self.failures.append(str(error))
            raise

    def check(self, request: httpx.Request, want: dict[str, Any]) -> None:
        known(want, "method", "path", "query", "headers", "body")
        path, _, query = request.url.raw_path.decode().partition("?")
        assert (request.method, path) == (want["method"], want["path"]), f"{request.method} {path}"
        assert sorted(httpx.QueryParams(query).multi_items()) == sorted(want.get("query", {}).items()), query
        for name, value in {"Authorization": f"Bearer {KEY}", **want.get("headers", {})}.items():
            sent = request.headers.get(name)
            if value is not None and value.startswith("$"):
                assert sent and re.fullmatch("[!-~]{1,255}", sent), f"{name}: {sent}"
                assert self.names.setdefault(value, sent) == sent, f"{name} differs"
            else:
                assert sent == value, f"{name}: {sent}"
        made = list(self.names.values())
        assert len(set(made)) == len(made), made
        assert json.loads(request.content or b"{}") == want.get("body", {}), request.content


def plain(value: Any) -> Any:
    """Returns a result as JSON has it."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        members = {camel(f.name): plain(getattr(value, f.name)) for f in fields(value) if f.name != "response"}
        return {**members, **members.pop("extra", {})}
    return value


def includes(got: Any, want: Any, at: str = "result") -> None:
    """Says whether a result has what a vector wants."""
    if isinstance(want, dict):
        for name, value in want.items():
            includes(got.get(name), value, f"{at}.{name}")
    elif isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), f"{at} is {got}, want {want}"
        for i, (g, w) in enumerate(zip(got, want)):
            includes(g, w, f"{at}[{i}]")
    elif isinstance(got, datetime):
        assert got == parse_time(want, at), f"{at} is {got}, want {want}"
    else:
        assert got == want, f"{at} is {got!r}, want {want!r}"


def arguments(call: str, args: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call in Python."""
    known(args, "params", "body", "idempotencyKey", "id", "deliveryId", "ifMatch", "month", "gracePeriod", "expiresAt", "hook", "reason", "replacements")
    given = {**args.get("params", {}), **args.get("body", {}), **args}
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("params", "body", "hook"):
            continue
        if name == "id":
            name = {"pets": "pet_id", "orders": "order_id", "keys": "key_id", "webhooks": "webhook_id", "requests": "request_id"}[call.partition(".")[0]]
        if name in ("expiresAt", "since"):
            value = parse_time(value, name)
        if name == "gracePeriod":
            value = timedelta(seconds=value)
        made[re.sub("[A-Z]", lambda m: "_" + m[0].lower(), name)] = value
    return made
