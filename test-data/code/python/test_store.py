"""Tests of the store."""
import unittest
from contextlib import contextmanager

import pytest

from store import Item, Store

PATHS = ("a.json", "b.json", "a-long-name-of-a-file.json", "another-long-name.json")


@pytest.fixture(scope="module")
def store():
    yield Store("x")


@contextmanager
def opened(path):
    yield Store(path)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_counts(store, count):
    def helper():
        return count

    assert helper() == count


class TestItem:
    """Groups tests as pytest does."""

    def test_label(self):
        assert Item("a", 1).label == "a (1)"

    def helper(self):
        return Item("b")


class TestServer:
    """No test: it only has the name of one."""

    def start(self):
        return 1


class StoreCase(unittest.TestCase):
    def setUp(self):
        self.store = Store("y")

    def test_size(self):
        self.assertEqual(self.store.size, 0)


def pytest_configure(config):
    for name in PATHS:
        config.addinivalue_line("paths", name)
