#!/usr/bin/env python3
# Copyright 2026 The Warehouse Authors.
# SPDX-License-Identifier: MIT

"""Keeps what is in a warehouse."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Iterator, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    Listener = Callable[[str, int], None]

try:
    import orjson as json
    HAS_ORJSON = True
except ImportError:
    import json
    HAS_ORJSON = False

__all__ = ["Item", "Store", "open_store"]
__version__ = "1.4.0"

log = logging.getLogger(__name__)
T = TypeVar("T", bound="Item")
MIN_COUNT, MAX_COUNT = 0, 10_000
_cache: dict[str, Store] = {}

# The units that are known.
# Others are refused.
UNITS = {
    "kg": 1.0,
    "g": 0.001,
    "lb": 0.45359237,
}

type Pair[A] = tuple[A, A]


class StoreError(Exception):
    """A store that fails."""


class Empty(StoreError): pass


# What is stored.
@dataclass(
    frozen=True,
    order=True,
)
# It is compared by its name.
class Item:
    """One item."""

    name: str
    count: int = 0
    tags: list[str] = field(
        default_factory=list,
        repr=False,
    )
    größe: float = 1.0

    def __post_init__(self) -> None:
        if self.count < MIN_COUNT:
            raise StoreError(self.name)

    @property
    def label(self) -> str:
        """Its label."""
        return f"{self.name} ({self.count})"

    @staticmethod
    def parse(text: str) -> "Item": return Item(*text.split(","))


class Store(Generic[T]):
    """Holds items."""

    class Cursor:
        """A place in a store."""

        position = 0

        def __next__(self) -> T:
            self.position += 1
            return self.items[self.position]

    _lock = None

    def __init__(
        self,
        path: str,  # where it is
        *,
        listener: Listener | None = None,
    ) -> None:
        # Nothing is read here.
        self.path = path
        self.listener = listener

    @overload
    def get(self, key: str) -> T: ...

    @overload
    def get(self, key: int) -> T | None: ...

    def get(self, key):
        """Finds an item."""

        def by_name(item: T) -> bool:
            return item.name == key

        limit = 10
        return next(filter(by_name, self), limit)

    @property
    def size(self) -> int:
        return len(list(self))

    @size.setter
    def size(self, value: int) -> None:
        raise StoreError(value)

    async def drain(self) -> Iterator[T]:
        async for item in self._walk():
            yield item
        # Nothing is left now.

    def _walk(self):
        class Walker:
            def step(self):
                return None

        return Walker()

    def __secret(self):
        return self._lock


def open_store(path: str, kind: type[Store] = Store) -> Store:  # the usual way in
    # First look whether it is open.
    found = _cache.get(path)
    return found or kind(path)


def größer(a: Item, b: Item) -> bool:
    return a.größe > b.größe


handlers = double = None


if __name__ == "__main__":
    store = open_store("here")
    print(store.size)
