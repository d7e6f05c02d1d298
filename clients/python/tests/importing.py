"""Imports so many rows from a source, and prints what became of each: importing.py SOURCE COUNT."""

from __future__ import annotations

import sys

from petstore import ImportedRow, NewPet, Petstore


def told(row: ImportedRow[NewPet]) -> None:
    print(row.number, row.status, row.pet.id if row.pet else row.error, flush=True)


source, count = sys.argv[1:]
rows = (NewPet(f"Rex {n + 1}", 7) for n in range(int(count)))
with Petstore.from_env() as store:
    store.pets.import_all(rows, source=source, concurrency=4, on_row=told)
