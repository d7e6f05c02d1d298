"""What the vectors do not have: real connections, threads, cancellation, and what is Python's own."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import http.server
import json
import logging
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from harness import KEY, Reply, TestClock, make, make_async, run_async

import petstore
from petstore import _core
from petstore._values import decode, parse_time

REX = {"id": 7, "name": "Rex", "categoryId": 9007199254740993, "status": "available"}


@contextmanager
def server(answer: Any) -> Iterator[str]:
    """Serves answer(handler) on this machine, and yields its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer(self)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{service.server_address[1]}/v1"
        service.shutdown()


def send(handler: Any, status: int, body: Any, **headers: str) -> None:
    data = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def ok(body: Any, status: int = 200, **headers: str) -> Reply:
    return Reply({"status": status, "headers": headers, "body": body})


def test_unknown_members_are_kept() -> None:
    store = make(TestClock(), 0, lambda _: ok([{**REX, "colour": {"name": "brown"}}]))
    (pet,) = store.pets.list()
    assert pet.extra == {"colour": {"name": "brown"}}
    assert pet.category_id == 9007199254740993
    assert copy.deepcopy(pet) == pet == pickle.loads(pickle.dumps(pet))
    assert dataclasses.asdict(pet)["extra"] == {"colour": {"name": "brown"}}
    assert len({pet, pet}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        pet.name = "Mia"  # type: ignore[misc]


@pytest.mark.parametrize(
    "member", [{"id": "7"}, {"id": True}, {"id": 7.5}, {"name": None}, {"categoryId": None}, {"categoryId": [7]}]
)
def test_wrong_types_are_named(member: dict[str, Any]) -> None:
    store = make(TestClock(), 0, lambda _: ok({**REX, **member}, 201))
    with pytest.raises(petstore.PetstoreError, match=r"\$\." + next(iter(member))):
        store.pets.create("Rex", 7)


def test_examples_of_the_document_are_read() -> None:
    document = yaml.safe_load((Path(__file__).parents[3] / "internal/api/openapi.yaml").read_text())
    kinds: dict[str, Any] = {
        "Pet": petstore.Pet, "Pets": tuple[petstore.Pet, ...], "Order": petstore.Order, "Plans": tuple[petstore.Plan, ...],
        "Orders": tuple[petstore.Order, ...], "Key": petstore.Key, "Keys": tuple[petstore.Key, ...],
        "Usage": petstore.Usage, "FailedRequests": tuple[petstore.FailedRequest, ...],
        "ExplainedRequest": petstore.ExplainedRequest,
    }
    read = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            name = str(node.get("schema", {}).get("$ref", "")).rpartition("/")[2] if isinstance(node.get("schema"), dict) else ""
            examples = [node["example"]] if "example" in node else [e["value"] for e in (node.get("examples") or {}).values()] if isinstance(node.get("examples"), dict) else []
            for example in examples if name in kinds else []:
                value = decode(kinds[name], json.loads(json.dumps(example, default=str)))
                assert not [item.extra for item in (value if isinstance(value, tuple) else [value]) if item.extra]
                read.add(name)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(document)
    assert read == set(kinds), set(kinds) - read


def test_times() -> None:
    for text in ("2026-11-20T09:21:48.120417Z", "2026-11-20T09:21:48.12+00:00", "2026-11-20t09:21:48.1204179z"):
        assert parse_time(text, "t").isoformat().startswith("2026-11-20T09:21:48.12")


def test_a_key_is_printed_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with server(lambda h: send(h, 400, {"code": "x", "message": f"no {KEY}", "status": 400}, X_Echo=KEY)) as url:
        with petstore.Petstore(url, KEY) as store, pytest.raises(petstore.ValidationError) as raised:
            store.pets.create("Rex", 7)
        frames = raised.value.__traceback__
        texts = [repr(store), repr(store._core), str(vars(store._core))]
        while frames:
            texts.append(repr(frames.tb_frame.f_locals))
            frames = frames.tb_next
    assert not [text for text in texts if KEY in text]
    assert not [r.getMessage() for r in caplog.records if KEY in r.getMessage() and "X-Echo" not in r.getMessage()]


def test_a_secret() -> None:
    secret = petstore.Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]} {secret.reveal!r}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_proxies_of_the_environment_do_not_see_requests_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with server(lambda h: send(h, 200, [])) as url, petstore.Petstore(url, KEY) as store:
        assert list(store.pets.list()) == []


def test_redirects_are_not_followed() -> None:
    with server(lambda h: send(h, 307, {}, Location="http://127.0.0.1:1/v1/pets")) as url:
        http_client = httpx.Client(follow_redirects=True)
        with petstore.Petstore(url, KEY, http_client=http_client) as store, pytest.raises(petstore.PetstoreError) as raised:
            store.pets.list().page()
    assert raised.value.status == 307


def test_a_response_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "MAX_RESPONSE", 100)
    store = make(TestClock(), 0, lambda _: ok([REX] * 3))
    with pytest.raises(petstore.APIConnectionError, match="longer than 100 bytes"):
        store.pets.list().page()


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PETSTORE_URL", raising=False)
    monkeypatch.setenv("PETSTORE_API_KEY", KEY)
    with pytest.raises(ValueError, match="PETSTORE_URL is not set"):
        petstore.Petstore.from_env()
    monkeypatch.setenv("PETSTORE_URL", "https://api.example.com/v1")
    agent = petstore.AsyncPetstore.from_env(user_agent="acme/1")._core.user_agent
    assert agent.startswith(f"acme/1 petstore-python/{petstore.__version__} ")


def test_threads_share_a_client() -> None:
    """At the first 429 all threads wait, and all of them get an answer."""
    clock, lock, requests = TestClock(), threading.Lock(), 0

    def answer(_: httpx.Request) -> Reply:
        nonlocal requests
        with lock:
            requests += 1
            if requests == 3:
                return ok({"code": "rate_limit_exceeded", "message": "", "status": 429}, 429, **{"Retry-After": "1"})
        return ok([REX])

    store = make(clock, 0, answer)
    pages: list[Any] = []
    threads = [threading.Thread(target=lambda: pages.append(store.pets.list().page())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pages) == 8 and requests == 9


def refused(seconds: int) -> Reply:
    error = {"code": "rate_limit_exceeded", "message": "", "status": 429}
    return ok(error, 429, **{"Retry-After": str(seconds)})


@pytest.mark.parametrize("importing", [False, True])
def test_close_ends_waits(importing: bool) -> None:
    waiting = threading.Event()

    class Clock(TestClock):
        def wait(self, event: threading.Event, seconds: float) -> bool:
            waiting.set()
            return event.wait()

    store = make(Clock(), 0, lambda _: refused(30))
    errors: list[Exception] = []

    def work() -> None:
        try:
            if importing:
                store.pets.import_all([petstore.NewPet("Rex", 7)] * 9, source="s")
            else:
                store.pets.list().page()
        except petstore.PetstoreError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    waiting.wait()
    store.close()
    thread.join()
    assert [type(e) for e in errors] == [petstore.ImportStopped if importing else _core.Stopped]


@pytest.mark.parametrize("importing", [False, True])
def test_tasks_can_be_cancelled(importing: bool) -> None:
    clock = TestClock()

    async def work() -> None:
        store = make_async(clock, 0, lambda _: refused(30))
        rows = [petstore.NewPet("Rex", 7)] * 9
        call = store.pets.import_all(rows, source="s") if importing else store.pets.list().page()
        await asyncio.wait_for(call, 5)

    with pytest.raises(asyncio.TimeoutError):
        run_async(clock, work())
    assert clock.now == 5


def test_errors_of_the_caller_end_an_import() -> None:
    told: list[int] = []
    most = 0

    def rows() -> Iterator[petstore.NewPet]:
        nonlocal most
        for taken in range(1, 1_000_000):
            most = max(most, taken - len(told))
            yield petstore.NewPet("Rex", 7)

    def on_row(row: petstore.ImportedRow[petstore.NewPet]) -> None:
        if row.number == 5:
            raise OSError("the disk is full")
        told.append(row.number)

    store = make(TestClock(), 0, lambda _: ok(REX, 201))
    with pytest.raises(petstore.ImportStopped, match="the disk is full") as raised:
        store.pets.import_all(rows(), source="s", on_row=on_row, concurrency=3)
    assert raised.value.first_unfinished == 5 and isinstance(raised.value.__cause__, OSError)
    assert most <= 3, "rows are taken only when a worker is free"


def test_a_long_limit_is_asked_again_after_a_minute() -> None:
    clock, answers = TestClock(), [refused(3600), ok([])]
    store = make(clock, 0, lambda _: answers.pop(0))
    for _ in range(2):
        with pytest.raises(petstore.RateLimitError):
            store.pets.list().page()
    assert len(answers) == 1
    clock.now += 60
    assert store.pets.list().page().items == ()


def test_errors_are_pickled() -> None:
    error = petstore.NotFoundError("no", code="pet_not_found", status=404)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("key", ["", " ", "a b", "a\n", "é", '"quoted"', "a\\b", "\x7f", "a" * 256])
def test_idempotency_keys(key: str) -> None:
    store = make(TestClock(), 0, lambda _: pytest.fail("a request"))
    with pytest.raises(ValueError, match="idempotency key"):
        store.pets.create("Rex", 7, idempotency_key=key)
