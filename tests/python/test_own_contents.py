"""Containers whose contents are swapped in place, as ranks see them; no PyTorch is needed."""

from __future__ import annotations

import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest

from simmesh import _core


def watched(*containers: Any) -> _core.OwnContents:
    """The contents of containers, whose run has begun."""
    contents = _core.OwnContents()
    for each in containers:
        assert contents.add(each)
    contents.begin()
    return contents


class Holder:
    """A class with an attribute."""

    count = 0


def closure() -> tuple[Any, Any]:
    """A function that changes its cell, and the cell."""
    value = 0

    def change(new: int | None = None) -> int:
        nonlocal value
        value = value if new is None else new
        return value

    return change, change.__closure__[0]  # type: ignore[index]


change, cell = closure()
module = types.ModuleType("kept")

# Containers, what changes each, and what it then holds.
CHANGES: dict[str, tuple[Any, Any, Any]] = {
    "dict": ({"a": 1}, lambda each: each.update(a=2, b=3), dict),
    "dict that loses a name": (
        {"a": 1, "b": 2}, lambda each: each.pop("a"), lambda each: list(each.items())
    ),
    "default dict": (defaultdict(list, a=[1]), lambda each: each["b"], dict),
    "ordered dict": (
        OrderedDict(a=1, b=2), lambda each: (each.pop("a"), each.update(a=3)),
        lambda each: list(each.items()),
    ),
    "list": ([1, 2], lambda each: each.__setitem__(0, 5), list),
    "set": ({1, 2}, lambda each: (each.remove(1), each.add(7)), set),
    "deque": (deque([1, 2], 2), lambda each: each.append(3), list),
    "class": (Holder, lambda each: setattr(each, "count", 4), lambda each: each.count),
    "module": (module, lambda each: setattr(each, "new", 4), lambda each: vars(each).get("new")),
    "cell": (cell, lambda each: change(9), lambda each: change()),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
def test_what_a_rank_changes_is_its_own(kind: str) -> None:
    """Would fail if another rank saw the change, or the rank lost it, or the host kept it."""
    container, modify, read = CHANGES[kind]
    contents = watched(container)
    before = read(container)
    contents.switch_to(0)
    modify(container)
    after = read(container)
    assert after != before
    contents.switch_to(1)
    assert read(container) == before
    contents.switch_to(2)
    assert (contents.own_count(0), contents.own_count(1)) == (1, 0)
    contents.switch_to(0)
    assert read(container) == after
    contents.switch_to(-1)
    assert read(container) == before


def test_an_item_that_is_replaced_by_an_equal_one_is_a_change() -> None:
    """Would fail if items were compared by value, which calls code of programs."""
    one, other = [1], [1]
    container = [one]
    contents = watched(container)
    contents.switch_to(0)
    container[0] = other
    contents.switch_to(1)
    assert container[0] is one
    contents.switch_to(0)
    assert container[0] is other


@pytest.mark.parametrize("size", [None, 2, 3, 128])
def test_a_cache_is_each_ranks_own(size: int | None) -> None:
    """Would fail if a rank got what another one made, or if a full cache mixed up its entries."""
    made: list[int] = []

    @functools.lru_cache(maxsize=size)
    def make(key: int) -> list[int]:
        made.append(key)
        return [key]

    of_host = make(0)
    contents = watched(make)
    own: dict[int, Any] = {}
    for _ in range(3):
        for rank in range(3):
            contents.switch_to(rank)
            assert make(0) is of_host
            assert own.setdefault(rank, make(1)) is make(1)
    assert made == [0, 1, 1, 1]
    contents.switch_to(0)
    for key in range(300):  # turns everything out of a bounded cache
        make(key)
    contents.switch_to(1)
    assert make(1) is own[1]
    contents.switch_to(-1)
    contents.begin()
    gc.collect()
    assert make(0) is of_host
    assert make.cache_info().currsize == 1


def test_a_cache_of_one_entry_forgets_on_each_rank_alone() -> None:
    """Would fail if the entry of another rank took the only place."""

    @functools.lru_cache(maxsize=1)
    def make(key: int) -> list[int]:
        return [key]

    contents = watched(make)
    own = []
    for rank in range(3):
        contents.switch_to(rank)
        own.append(make(rank))
    for rank in range(3):
        contents.switch_to(rank)
        assert make(rank) is own[rank]
    contents.switch_to(-1)
    assert make.cache_info().currsize == 0


def test_what_an_import_changes_is_for_all() -> None:
    """Would fail if a rank didn't see what another one imported, or lost its own value."""
    registry, names, numbers = {"a": 1}, ["a"], {1}
    contents = watched(registry, names, numbers)
    contents.switch_to(1)
    registry["a"], registry["mine"] = 5, 6
    names.append("mine")
    contents.switch_to(0)
    registry["b"] = 2
    names.append("b")
    numbers.add(2)
    contents.adopt()
    registry["own"] = 3
    contents.switch_to(1)
    assert registry == {"a": 5, "b": 2, "mine": 6}
    assert names == ["a", "mine", "b"]
    assert numbers == {1, 2}
    contents.switch_to(-1)
    assert registry == {"a": 1, "b": 2}
    assert names == ["a", "b"]


def test_other_objects_and_known_ones_are_not_watched() -> None:
    """Would fail if one container were swapped twice."""
    contents = _core.OwnContents()
    assert contents.add([]) and contents.add(Holder)
    assert not contents.add(Holder)
    assert not contents.add(3)
    assert len(contents) == 2
    Holder.count += 1
    assert contents.has_changed()


def test_places_of_items_that_a_set_lost_are_no_items() -> None:
    """Would fail if a look took the place of a removed item for one."""
    numbers = {1, 2, 3}
    numbers.discard(2)
    contents = watched(numbers)
    assert not contents.has_changed()
    contents.switch_to(0)
    numbers.discard(1)
    numbers.add(9)
    contents.switch_to(1)
    assert numbers == {1, 3}
    contents.switch_to(0)
    assert numbers == {3, 9}


def test_a_cell_that_is_emptied_is_each_ranks_own() -> None:
    """Would fail if a cell without a value were taken for one that nobody changed."""
    empty = types.CellType()
    contents = watched(empty)
    contents.switch_to(0)
    empty.cell_contents = 1
    contents.switch_to(1)
    with pytest.raises(ValueError, match="empty"):
        print(empty.cell_contents)
    contents.switch_to(0)
    assert empty.cell_contents == 1


def test_values_of_names_are_read_and_written_together() -> None:
    """Would fail if a value went to another name, or a name that is gone were made up."""
    one: dict[str, Any] = {"a": 1, "b": [2]}
    other: dict[str, Any] = {"a": 3}
    values = _core.NamedValues()
    for names, name in ((one, "a"), (one, "b"), (other, "a")):
        values.add(names, name)
    before = values.read()
    assert before == [1, [2], 3]
    assert before[1] is one["b"]
    values.write([4, None, 5])
    assert (one, other) == ({"a": 4, "b": None}, {"a": 5})
    values.write(before)
    assert one["b"] is before[1]
    with pytest.raises(ValueError, match="expected 3 values, got 1"):
        values.write([1])
    del other["a"]
    with pytest.raises(KeyError, match="a"):
        values.read()
