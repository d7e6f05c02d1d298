"""Imports the animals whose names it reads, and prints what became of each: importing.py SOURCE."""

from __future__ import annotations

import sys

from petstore import ImportedRow, NewPet, Petstore


def told(row: ImportedRow[NewPet]) -> None:
    print(row.number, row.status, row.pet.id if row.pet else row.error, flush=True)


rows = (NewPet(line.strip(), 7) for line in sys.stdin)
with Petstore.from_env() as store:
    store.pets.import_all(rows, source=sys.argv[1], concurrency=4, on_row=told)
