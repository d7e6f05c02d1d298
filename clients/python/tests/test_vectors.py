"""Each vector, by both clients, with the least and the greatest of chance."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import math
import threading
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, TypeVar

import httpx
import pytest
from harness import (
    DRAWS, EPOCH, KEY, Exchanges, Reply, TestClock, ThreadsClock, arguments, includes, known, make, make_async, plain,
    run_async, vectors,
)

import petstore
from petstore._import import import_key

Test = TypeVar("Test", bound=Callable[..., None])
CLASSES: dict[str, Any] = {
    "Authentication": petstore.AuthenticationError,
    "NotFound": petstore.NotFoundError,
    "Conflict": petstore.ConflictError,
    "Validation": petstore.ValidationError,
    "RateLimit": petstore.RateLimitError,
    "Server": petstore.ServerError,
    "Petstore": petstore.PetstoreError,
    "Timeout": petstore.APITimeoutError,
    "Connection": petstore.APIConnectionError,
    "Refused": ValueError,
}
OPTIONS = {"maxRetries": "max_retries", "maxWait": "max_wait", "timeout": "timeout"}
NAMES = {"requestId": "request_id", "retryAfter": "retry_after", "docUrl": "doc_url", "keyId": "key_id", "firstUnfinished": "first_unfinished"}


def each(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", [pytest.param(v, id=v["name"]) for v in vectors(name)])


def both(test: Test) -> Test:
    test = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])(test)
    test = pytest.mark.parametrize("draw", DRAWS)(test)
    return test


def keys_in(value: Any) -> list[str]:
    """All keys of a vector's responses."""
    if isinstance(value, dict):
        own = [value["key"]] if isinstance(value.get("key"), str) else []
        return own + [k for v in value.values() for k in keys_in(v)]
    return [k for v in value for k in keys_in(v)] if isinstance(value, list) else []


def check_error(error: BaseException, want: dict[str, Any], secrets: list[str]) -> None:
    known(want, "class", "code", "status", "message", *NAMES)
    text = "".join(traceback.format_exception(error)) + str(error) + repr(error) + repr(vars(error))
    assert not [key for key in secrets if key in text]
    cause: Any = error.__cause__ if isinstance(error, petstore.ImportStopped) else error
    if "class" in want:
        assert type(cause) is CLASSES[want["class"]], repr(cause)
    for name in set(want) - {"class"}:
        got = getattr(error, NAMES.get(name, name))
        if want[name] == "endless":
            assert got > 1e9
        else:
            assert got == want[name], f"{name} is {got!r}, want {want[name]!r}"


def run_calls(vector: dict[str, Any], draw: float, asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
    known(vector, "name", "options", "calls", "exchanges", "warnings", "stored")
    clock = TestClock()
    service = Exchanges(clock, draw, vector["exchanges"])
    options = {OPTIONS[name]: value for name, value in vector.get("options", {}).items()}
    secrets, stored = [KEY, *keys_in(vector["exchanges"])], []
    caplog.set_level(logging.DEBUG)

    def hook(fails: bool) -> Callable[[str], None]:
        def save(key: str) -> None:
            if fails:
                raise OSError(f"can't store {key}")
            stored.append(key)

        return save

    def method_of(store: Any, call: dict[str, Any]) -> tuple[Any, str, dict[str, Any]]:
        known(call, "call", "args", "result", "error")
        noun, verb = call["call"].split(".")
        args = arguments(call["call"], call.get("args", {}))
        if verb == "rotateSelf":
            args["save"] = hook(call["args"]["hook"] == "fails")
        return getattr(getattr(store, noun), {"page": "list", "all": "list", "rotateSelf": "rotate_self"}.get(verb, verb)), verb, args

    def judge(call: dict[str, Any], result: Any, error: BaseException | None) -> None:
        assert not service.failures, service.failures
        if "error" in call:
            assert error is not None, f"no error but {result}"
            check_error(error, call["error"], secrets)
        elif error is not None:
            raise error
        else:
            includes(plain(result), call["result"])
            assert not [key for key in secrets if key in repr(result)]

    def synchronous() -> None:
        store = make(clock, draw, service, **options)
        for call in vector["calls"]:
            result, error = None, None
            try:
                method, verb, args = method_of(store, call)
                result = method(**args)
                result = result.page() if verb in ("page", "deliveries") else list(result) if verb == "all" else result
            except Exception as raised:
                error = raised
            judge(call, result, error)

    async def in_loop() -> None:
        store = make_async(clock, draw, service, **options)
        for call in vector["calls"]:
            result, error = None, None
            try:
                method, verb, args = method_of(store, call)
                made = method(**args)
                result = [item async for item in made] if verb == "all" else await (made.page() if verb in ("page", "deliveries") else made)
            except Exception as raised:
                error = raised
            judge(call, result, error)

    if asynchronous:
        run_async(clock, in_loop())
    else:
        synchronous()
    assert not service.left
    assert stored == vector.get("stored", [])
    if "warnings" in vector:
        told = [r.getMessage() for r in caplog.records if r.name == "petstore"]
        assert [text.partition(" (")[0] for text in told] == vector["warnings"]
    assert not [key for key in secrets if key in caplog.text]


def _test(name: str) -> Any:
    @both
    @each(name)
    def test(vector: dict[str, Any], draw: float, asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
        run_calls(vector, draw, asynchronous, caplog)

    return test


test_calls = _test("calls")
test_errors = _test("errors")
test_retries = _test("retries")
test_waits = _test("waits")
test_rotation = _test("rotation")


class Service:
    """The service of an import: it has a limit a minute, and keeps the answer to each key."""

    def __init__(self, clock: TestClock, server: dict[str, Any]) -> None:
        known(server, "limit", "takes", "refusalTakes", "headers", "answers", "lost", "retryAfter")
        self.clock, self.server = clock, server
        self.answers: dict[str, int] = server.get("answers", {})
        self.lost = set(server.get("lost", []))
        self.pets: dict[str, dict[str, Any]] = {}
        self.minutes: dict[int, int] = {}
        self.refused: dict[int, int] = {}
        self.lock = threading.Lock()

    def __call__(self, request: httpx.Request) -> Reply:
        with self.lock:  # of threads that count at a time, one would be lost
            return self.reply(request)

    def reply(self, request: httpx.Request) -> Reply:
        body = json.loads(request.content)
        row, key = int(body["name"].removeprefix("Rex ")), request.headers["Idempotency-Key"]
        minute = int(self.clock.now // 60)
        used, takes = self.minutes.get(minute, 0), self.server.get("takes", 0)
        left = math.ceil(60 * (minute + 1) - self.clock.now)
        limit = self.server["limit"]
        headers = {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(max(0, limit - used - 1)),
            "X-RateLimit-Reset": str(int(EPOCH) + 60 * (minute + 1)),
            "X-Request-Id": "r1",
        }
        if self.server.get("headers") is False:
            headers = {"X-Request-Id": "r1"}
        if used >= limit:
            self.refused[minute] = self.refused.get(minute, 0) + 1
            error = {"code": "rate_limit_exceeded", "message": "Wait.", "status": 429}
            headers["Retry-After"] = str(left)
            return Reply({"status": 429, "headers": headers, "body": error}, self.server.get("refusalTakes", takes))
        self.minutes[minute] = used + 1
        if status := self.answers.get(str(row)):
            if status == 429:
                headers["Retry-After"] = str(self.server["retryAfter"])
            error = {"code": "key_banned" if status == 429 else "so_it_is", "message": "So it is.", "status": status}
            return Reply({"status": status, "headers": headers, "body": error}, takes)
        if key in self.pets:
            headers["Idempotent-Replayed"] = "true"
        pet = self.pets.setdefault(key, {"id": len(self.pets) + 1, "status": "available", **body})
        if row in self.lost:
            self.lost.discard(row)
            return Reply({"lost": True}, takes)
        return Reply({"status": 201, "headers": headers, "body": pet}, takes)


@both
@each("imports")
def test_imports(vector: dict[str, Any], draw: float, asynchronous: bool) -> None:
    known(vector, "name", "server", "rows", "concurrency", "source", "runs", "idempotencyKeys")
    workers = vector["concurrency"]
    clock: TestClock = TestClock() if asynchronous else ThreadsClock(workers)
    service = Service(clock, vector["server"])
    source, first = vector["source"], None
    for run in vector["runs"]:
        known(run, "source", "answers", "startedAt", "created", "replayed", "failed", "error", "refused", "seconds", "draws", "rests")
        source = run.get("source", source)
        service.answers = run.get("answers", service.answers)
        service.refused.clear()
        began, clock.draws = clock.now, 0
        rests: dict[str, float] = run.get("rests", {})
        given = first if run.get("startedAt") == "first" else None
        if isinstance(run.get("startedAt"), int):
            given = datetime.fromtimestamp(clock.time() + run["startedAt"], timezone.utc)
        told: list[petstore.ImportedRow[petstore.NewPet]] = []

        def on_row(row: petstore.ImportedRow[petstore.NewPet], told: list[Any] = told, rests: dict[str, float] = rests) -> None:
            told.append(row)
            clock.now += rests.get(str(row.number), 0)

        rows = (petstore.NewPet(f"Rex {n + 1}", 7) for n in range(vector["rows"]))
        options: dict[str, Any] = {"source": source, "concurrency": workers, "started_at": given, "on_row": on_row}
        error, result = None, None
        try:
            if isinstance(clock, ThreadsClock):
                clock.started = 0
                result = clock.run(lambda: make(clock, draw, service).pets.import_all(rows, **options))
            else:
                result = run_async(clock, make_async(clock, draw, service).pets.import_all(rows, **options))
        except petstore.ImportStopped as stopped:
            error = stopped
        assert sorted(set(range(1, vector["rows"] + 1)) - {t.number for t in told})[:1] == ([error.first_unfinished] if error else [])
        for status, numbers in (("created", run["created"]), ("replayed", run["replayed"]), ("failed", len(run["failed"]))):
            assert len([t for t in told if t.status == status]) == numbers, status
            assert result is None or getattr(result, status) == numbers
        # Threads have no order: a failed row may be told before an earlier one.
        assert sorted(t.number for t in told if t.status == "failed") == run["failed"]
        assert all((t.pet is None) == (t.status == "failed") == (t.error is not None) for t in told)
        if "error" in run:
            assert error is not None
            check_error(error, run["error"], [KEY])
        else:
            assert error is None, error
        if "refused" in run:
            assert max(service.refused.values(), default=0) <= run["refused"], service.refused
        if "draws" in run:
            assert clock.draws == run["draws"], clock.draws
        if "seconds" in run:
            assert run["seconds"][0] <= clock.now - began <= run["seconds"][1], clock.now - began
        first = first or (error or result).started_at  # type: ignore[union-attr]
    for row, key in vector.get("idempotencyKeys", {}).items():
        assert service.pets[key]["name"] == f"Rex {row}"


@each("import-keys")
def test_import_keys(vector: dict[str, Any]) -> None:
    known(vector, "name", "source", "row", "rowKey", "pet", "bytes", "idempotencyKey")
    pet = petstore.NewPet(vector["pet"]["name"], vector["pet"]["categoryId"], vector["pet"].get("status"))
    assert import_key(vector["source"], vector["row"], vector.get("rowKey"), pet) == vector["idempotencyKey"]
    digest = hashlib.sha256(vector["bytes"].encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == vector["idempotencyKey"]


@each("clients")
@pytest.mark.parametrize("kind", [petstore.Petstore, petstore.AsyncPetstore])
def test_clients(vector: dict[str, Any], kind: Any) -> None:
    known(vector, "name", "url", "key", "ok")
    try:
        store = kind(vector["url"], vector["key"])
        assert vector["ok"]
        assert KEY not in repr(store) + repr(vars(store)) + repr(vars(store._core))
    except ValueError as error:
        assert not vector["ok"]
        assert KEY not in "".join(traceback.format_exception(error))


@each("webhooks")
def test_webhooks(vector: dict[str, Any]) -> None:
    known(vector, "name", "secrets", "headers", "body", "now", "tolerance", "result", "error")
    tolerance = {"tolerance": vector["tolerance"]} if "tolerance" in vector else {}
    try:
        event = petstore.verify_webhook(vector["secrets"], vector["headers"], vector["body"].encode(), now=vector["now"], **tolerance)
    except petstore.WebhookError:
        assert vector.get("error")
        return
    assert "error" not in vector
    includes(plain(event), vector["result"])
