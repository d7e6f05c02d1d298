"""What the types of the package say; mypy and pyright check it, for each version of Python."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import petstore

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass(frozen=True)
class Animal(petstore.NewPet):
    """A row that has more than the animal's members."""

    sku: str = ""


def synchronous(store: petstore.Petstore) -> None:
    for pet in store.pets.list(status="sold", ids=[1]):
        assert_type(pet, petstore.Pet)
        assert_type(pet.category_id, int)
    assert_type(store.pets.list().page(), petstore.Page[petstore.Pet])
    assert_type(store.pets.create("Rex", 7, idempotency_key="k"), petstore.Pet)
    assert_type(store.pets.update(7, status="sold"), petstore.Pet)
    assert_type(store.orders.create(7, 2), petstore.Order)
    assert_type(store.usage.get(), petstore.Usage)
    assert_type(store.plans.list(), tuple[petstore.Plan, ...])
    assert_type(store.keys.rotate_self(print, grace_period=timedelta(hours=1)), petstore.Key)
    assert_type(store.requests.get("r1").passes_at, datetime | None)
    store.pets.create("Rex", "7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    store.pets.list(status="asleep")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def on_row(row: petstore.ImportedRow[Animal]) -> None:
        assert_type(row.row.sku, str)
        assert_type(row.pet, petstore.Pet | None)

    rows = [Animal("Rex", 7, sku="a")]
    result = store.pets.import_all(rows, source="s", row_key=lambda animal: animal.sku, on_row=on_row)
    assert_type(result, petstore.ImportResult)


async def asynchronous(store: petstore.AsyncPetstore) -> None:
    async for order in store.orders.list():
        assert_type(order, petstore.Order)
    assert_type(await store.keys.list().page(), petstore.Page[petstore.Key])
    assert_type(await store.pets.create("Rex", 7), petstore.Pet)

    async def rows() -> AsyncIterator[Animal]:
        yield Animal("Rex", 7)

    async def on_row(row: petstore.ImportedRow[Animal]) -> None:
        assert_type(row.error, petstore.ValidationError | None)

    assert_type(await store.pets.import_all(rows(), source="s", on_row=on_row), petstore.ImportResult)


def webhook(headers: dict[str, str], body: bytes) -> Any:
    event = petstore.verify_webhook(["whsec_"], headers, body)
    assert_type(event, petstore.WebhookEvent)
    assert_type(event.timestamp, datetime | None)
