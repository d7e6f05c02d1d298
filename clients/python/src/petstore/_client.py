"""The clients: what they do outside is done with threads, or with asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import httpx

from ._core import Answer, Clock, Core, Flow, Op, Stopped, Task, add_chunk, next_page, response_of
from ._import import ImportedRow, ImportResult, Job, Row
from ._ops import Keys, Orders, PetCalls, Plans, Requests, UsageCalls, Webhooks
from ._values import Page

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
H = TypeVar("H", bound=httpx.Client | httpx.AsyncClient)


class List(Generic[T]):
    """A list, which is fetched page by page while you iterate."""

    def __init__(self, client: Petstore, op: Op[Page[T]]) -> None:
        self._client, self._op = client, op

    def page(self) -> Page[T]:
        """Fetches one page, of 20 items unless limit says otherwise."""
        return self._client._call(self._op)

    def __iter__(self) -> Iterator[T]:
        op: Op[Page[T]] | None = next_page(self._op)
        while op is not None:
            page = self._client._call(op)
            yield from page.items
            op = next_page(op, page)


class AsyncList(Generic[T]):
    """A list, which is fetched page by page while you iterate."""

    def __init__(self, client: AsyncPetstore, op: Op[Page[T]]) -> None:
        self._client, self._op = client, op

    async def page(self) -> Page[T]:
        """Fetches one page, of 20 items unless limit says otherwise."""
        return await self._client._call(self._op)

    async def __aiter__(self) -> AsyncIterator[T]:
        op: Op[Page[T]] | None = next_page(self._op)
        while op is not None:
            page = await self._client._call(op)
            for item in page.items:
                yield item
            op = next_page(op, page)


class Pets(PetCalls["Petstore"]):
    """Your animals."""

    def import_all(
        self, rows: Iterable[Row], *, source: str, concurrency: int = 4, row_key: Callable[[Row], str] | None = None,
        started_at: datetime | None = None, on_row: Callable[[ImportedRow[Row]], object] | None = None,
    ) -> ImportResult:
        """Adds an animal for each row, by several threads. See the README."""
        stop = threading.Event()
        self._client._stops.add(stop)
        io = _Threads(self._client._http, self._client._core.clock, stop)
        job = Job(self._client._core, source, row_key, started_at, on_row, concurrency, stop.set)
        source_of_rows = iter(rows)

        def take() -> tuple[int, Row] | None:
            for row in source_of_rows:
                return job.take(row)
            return None

        def work() -> None:
            _run(job.work(io, take))

        workers = [threading.Thread(target=work, name="petstore-import") for _ in range(concurrency)]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except BaseException as error:  # such as KeyboardInterrupt
            job.fail(error)
            raise
        return job.result()


class AsyncPets(PetCalls["AsyncPetstore"]):
    """Your animals."""

    async def import_all(
        self, rows: Iterable[Row] | AsyncIterable[Row], *, source: str, concurrency: int = 4,
        row_key: Callable[[Row], str] | None = None, started_at: datetime | None = None,
        on_row: Callable[[ImportedRow[Row]], Awaitable[object] | object] | None = None,
    ) -> ImportResult:
        """Adds an animal for each row, by several tasks. See the README."""
        stop = asyncio.Event()
        io = _Tasks(self._client._http, self._client._core.clock, stop)
        job = Job(self._client._core, source, row_key, started_at, on_row, concurrency, stop.set)
        source_of_rows = aiter(rows if isinstance(rows, AsyncIterable) else _async(rows))

        async def take() -> tuple[int, Row] | None:
            async for row in source_of_rows:
                return job.take(row)
            return None

        await asyncio.gather(*(job.work(io, take) for _ in range(concurrency)))
        return job.result()


async def _async(rows: Iterable[T]) -> AsyncIterator[T]:
    for row in rows:
        yield row


class _Store(Generic[H]):
    """What both clients have."""

    _new_http: ClassVar[Callable[..., Any]]

    def __init__(
        self, url: str, key: str, *, timeout: float = 600.0, max_wait: float = 90.0, max_retries: int = 3,
        user_agent: str | None = None, http_client: H | None = None,
    ) -> None:
        """Makes a client of the API at url, which ends in /v1.

        timeout is that of a call with all its waits, max_wait the longest single wait, in seconds.
        user_agent names your program, as acme-sync/2.1. http_client may have a proxy or certificates.
        """
        self._core = Core(url, key, timeout, max_wait, max_retries, user_agent)
        self._own = http_client is None
        # A proxy of the environment would see the key that is sent to this machine in clear.
        options = {"trust_env": self._core.url.startswith("https:")}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self._http: H = self._new_http(limits=limits, **options) if http_client is None else http_client
        self._closed = threading.Event()
        self._stops = weakref.WeakSet([self._closed])
        own: Any = self  # of the type Self
        self.orders: Orders[Self] = Orders(own)
        self.keys: Keys[Self] = Keys(own)
        self.usage: UsageCalls[Self] = UsageCalls(own)
        self.plans: Plans[Self] = Plans(own)
        self.requests: Requests[Self] = Requests(own)
        self.webhooks: Webhooks[Self] = Webhooks(own)

    @classmethod
    def from_env(cls, *, user_agent: str | None = None, http_client: H | None = None) -> Self:
        """Makes a client by PETSTORE_URL and PETSTORE_API_KEY."""
        names = ("PETSTORE_URL", "PETSTORE_API_KEY")
        if missing := [name for name in names if not os.environ.get(name)]:
            raise ValueError(f"{' or '.join(missing)} is not set")
        return cls(*(os.environ[name] for name in names), user_agent=user_agent, http_client=http_client)


class Petstore(_Store[httpx.Client]):
    """A client of the API with one key. Threads may share it: then they share one pause, too."""

    _new_http = httpx.Client

    @property
    def pets(self) -> Pets:
        return Pets(self)

    def close(self) -> None:
        """Ends the waits of all calls, and closes the connections."""
        for stop in list(self._stops):
            stop.set()
        if self._own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _call(self, task: Task[T]) -> T:
        return _run(task(self._core, _Threads(self._http, self._core.clock, self._closed)))

    def _list(self, op: Op[Page[T]]) -> List[T]:
        return List(self, op)


class AsyncPetstore(_Store[httpx.AsyncClient]):
    """A client of the API with one key, for asyncio. Tasks that share it share one pause, too.

    To cancel a task ends its wait.
    """

    _new_http = httpx.AsyncClient

    @property
    def pets(self) -> AsyncPets:
        return AsyncPets(self)

    async def close(self) -> None:
        """Closes the connections."""
        if self._own:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _call(self, task: Task[T]) -> T:
        return await task(self._core, _Tasks(self._http, self._core.clock, asyncio.Event()))

    def _list(self, op: Op[Page[T]]) -> AsyncList[T]:
        return AsyncList(self, op)


def _run(flow: Flow[T]) -> T:
    """Runs what needs no event loop, because it awaits _Threads only."""
    try:
        flow.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise RuntimeError("a coroutine of _Threads waits for an event loop")


class _Threads:
    """The IO of Petstore. None of its methods waits for an event loop."""

    def __init__(self, http: httpx.Client, clock: Clock, stop: threading.Event) -> None:
        self._http, self._clock, self._stop, self._lock = http, clock, stop, threading.Lock()

    async def send(self, request: dict[str, Any], ends: float) -> Answer:
        with self._http.stream(**request, follow_redirects=False, auth=None) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                add_chunk(body, chunk, self._clock.monotonic() > ends)
            return Answer(response_of(response), bytes(body))

    async def sleep(self, seconds: float) -> None:
        if self._clock.wait(self._stop, seconds):
            raise Stopped

    async def invoke(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._lock:
            result = function(*arguments)
            if inspect.isawaitable(result):
                raise TypeError("Petstore takes no function that is async: AsyncPetstore does")
            return result


class _Tasks:
    """The IO of AsyncPetstore."""

    def __init__(self, http: httpx.AsyncClient, clock: Clock, stop: asyncio.Event) -> None:
        self._http, self._clock, self._stop, self._lock = http, clock, stop, asyncio.Lock()

    async def send(self, request: dict[str, Any], ends: float) -> Answer:
        async with self._http.stream(**request, follow_redirects=False, auth=None) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                add_chunk(body, chunk, self._clock.monotonic() > ends)
            return Answer(response_of(response), bytes(body))

    async def sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Stopped

    async def invoke(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async with self._lock:
            result = function(*arguments)
            return await result if inspect.isawaitable(result) else result
