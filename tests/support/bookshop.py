"""A bookshop's own files: orders of two years, books, and the lists of three candidates."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

USERS = [f"C{number:03d}" for number in range(40)]
BOOKS = [f"978030640{number:04d}" for number in range(80)]
LENGTH = 20
Names = tuple[str, str, str, str]
KNOWN: Names = ("customer", "isbn", "qty", "position")
UNKNOWN: Names = ("zakaznik", "polozka", "mnozstvi", "folge")
"""Column names that no list of names has."""


def files(names: Names = KNOWN) -> dict[str, bytes]:
    """Returns {file name: content}; ``names`` are the columns of users, items, quantities and positions."""
    user, item, quantity, position = names
    chance = random.Random(1)
    shelf = BOOKS[:40]

    def orders(each: int) -> list[Sequence[object]]:
        return [
            (customer, book, chance.choice([1, 1, 1, 2, 3]))
            for customer in USERS
            for book in sorted(chance.sample(shelf, each))
        ]

    def lists(books: Mapping[str, Sequence[str]]) -> list[Sequence[object]]:
        return [
            (customer, book, place)
            for customer, own in books.items()
            for place, book in enumerate(own, start=1)
        ]

    def some() -> dict[str, Sequence[str]]:
        return {customer: chance.sample(shelf, LENGTH) for customer in USERS}

    tables = {
        "orders_2025.csv": ((user, item, quantity), orders(12)),
        "orders_2026.csv": ((user, item, quantity), orders(3)),
        "books.csv": (
            (item, "title", "language"),
            [(book, f"Book {number}", "en" if number % 3 else "de") for number, book in enumerate(BOOKS)],
        ),
        "popular.csv": ((user, item, position), lists(dict.fromkeys(USERS, shelf[:LENGTH]))),
        "als.csv": ((user, item, position), lists(some())),
        "ease.csv": ((user, item, position), lists(some())),
    }
    return {name: csv(head, rows) for name, (head, rows) in tables.items()}


def csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    lines = [",".join(head), *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()
