"""Imports: one animal for each row, by several workers, once however often it is run within a day."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Generic, Literal, TypeVar

from ._core import IO, Core
from ._errors import ImportStopped, PetstoreError, ValidationError
from ._ops import new_pet
from ._types import Pet
from ._values import NewPet

Row = TypeVar("Row", bound=NewPet)
# The service keeps the answer to an idempotency key for 24 hours.
REPEATABLE = timedelta(hours=23, minutes=55)


@dataclass(frozen=True)
class ImportedRow(Generic[Row]):
    """What became of a row."""

    number: int
    """Counted from 1."""
    row: Row
    pet: Pet | None
    """The animal, None if the row failed."""
    status: Literal["created", "replayed", "failed"]
    """replayed: an earlier run has added it."""
    error: ValidationError | None
    """Why it failed, with the status 400 or 422."""
    started_at: datetime
    """What to pass to import_all when the import is continued."""
    first_unfinished: int
    """Each row before this one has been told to on_row."""


@dataclass(frozen=True)
class ImportResult:
    """How many rows were added, had been added by an earlier run, and failed."""

    created: int
    replayed: int
    failed: int
    started_at: datetime


def import_key(source: str, number: int, row_key: str | None, pet: NewPet) -> str:
    """Returns the idempotency key of a row, which is the same in our packages of all languages."""
    which = ("row", str(number)) if row_key is None else ("key", row_key)
    texts = (source, *which, pet.name, f"{pet.category_id:d}", pet.status or "")
    parts = (text.encode("utf-8", "surrogatepass") for text in texts)
    digest = hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Job(Generic[Row]):
    """An import, which its workers share. What they invoke runs one at a time."""

    def __init__(
        self, core: Core, source: str, row_key: Callable[[Row], str] | None, started_at: datetime | None,
        on_row: Callable[[ImportedRow[Row]], Any] | None, concurrency: int, stop: Callable[[], None],
    ) -> None:
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self._core, self._source, self._row_key, self._on_row, self._stop = core, source, row_key, on_row, stop
        if started_at is not None and started_at.tzinfo is None:
            raise ValueError("started_at must have a time zone, as that of an ImportedRow has")
        self._started_at = started_at or datetime.fromtimestamp(core.clock.time(), timezone.utc)
        self._last = None if started_at is None else (started_at + REPEATABLE).timestamp()
        self._taken = 0
        self._open: set[int] = set()
        self._counts = {"created": 0, "replayed": 0, "failed": 0}
        self._error: BaseException | None = None

    def take(self, row: Row) -> tuple[int, Row]:
        """Gives the next row its number."""
        self._taken += 1
        self._open.add(self._taken)
        return self._taken, row

    async def work(self, io: IO, take: Callable[[], Any]) -> None:
        """One worker. take returns what the method take has returned, or None at the end."""
        try:
            while self._error is None and (taken := await io.invoke(take)) is not None:
                await self._add(io, *taken)
        except Exception as error:
            self.fail(error)

    async def _add(self, io: IO, number: int, row: Row) -> None:
        key = import_key(self._source, number, self._row_key and self._row_key(row), row)
        pet, error = None, None
        status: Literal["created", "replayed", "failed"] = "failed"
        try:
            pet = await self._core.call(io, new_pet(row, key), self._in_time)
            status = "replayed" if pet.response and pet.response.replayed else "created"
        except ValidationError as refused:
            if refused.status not in (400, 422):
                raise
            error = refused

        def tell() -> Any:
            first = min(self._open - {number}, default=self._taken + 1)
            told = ImportedRow(number, row, pet, status, error, self._started_at, first)
            return self._on_row(told) if self._on_row else None

        await io.invoke(tell)
        await io.invoke(self._done, number, status)

    def _done(self, number: int, status: str) -> None:
        self._open.discard(number)
        self._counts[status] += 1

    def _in_time(self) -> None:
        if self._last is not None and self._core.clock.time() > self._last:
            raise PetstoreError(
                "the import began more than 23 h 55 min ago, so rows could be added twice: look for animals that were "
                "added and not told to on_row, then run it without started_at"
            )

    def fail(self, error: BaseException) -> None:
        """Ends the import: no worker takes a row any more, and those that wait stop."""
        self._error = self._error or error
        self._stop()

    def result(self) -> ImportResult:
        error = self._error
        if error is None:
            return ImportResult(**self._counts, started_at=self._started_at)
        raise ImportStopped(error, min(self._open, default=self._taken + 1), self._started_at) from error
