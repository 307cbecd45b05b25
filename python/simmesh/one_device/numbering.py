"""Names that a rank has otherwise than one device: below a wrapper of the program's own, and
numbers of experts and stages that it counts from 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Callable

from simmesh.one_device import notebook as notes
from simmesh.one_device.notebook import Entry, Key, Notebook
from simmesh.one_device.roots import other_roots, renamed_root
from simmesh.one_device.snapshot import same_bits


def with_names_of(one: Notebook, rank: Notebook) -> Notebook:
    """A rank's notebook with the names of one device.

    A wrapper that only one of the two has is left out: "inner.layers.0" is "layers.0". Where one
    device has "experts.0" to "experts.3" and the rank "experts.0" and "experts.1", the rank may
    hold the last two. The parameters tell by their bits, as they are when they are noted first.
    """
    rank = _with_roots(one, _without_wrapper(one, rank))
    for prefix, here in _numbers(rank).items():
        whole = _numbers(one).get(prefix, set())
        if here < whole and here == set(range(len(here))):
            offset = _offset(one, rank, prefix, here, whole)
            if offset:
                rank = _renamed(rank, prefix, offset)
    return rank


def _with_roots(one: Notebook, rank: Notebook) -> Notebook:
    """A rank may call a module by itself that isn't the first of its class on one device."""
    names = other_roots(one, rank)
    if not names:
        return rank
    return _moved_all(rank, lambda path: renamed_root(path, names, rank.names.first_class))


def _without_wrapper(one: Notebook, rank: Notebook) -> Notebook:
    here, there = rank.parameter_names, one.parameter_names
    if not here or not there or here & there:
        return rank
    prefix = _prefix(here, there)
    if prefix:
        return _moved_all(rank, lambda path: path.removeprefix(prefix))
    prefix = _prefix(there, here)
    return _moved_all(rank, lambda path: prefix + path) if prefix else rank


def _prefix(longer: set[str], shorter: set[str]) -> str:
    """The text that all names of one set have before those of the other; "" if there is none."""
    first = min(shorter)
    for name in sorted(longer):
        prefix = name[: -len(first)]
        if name.endswith("." + first) and {prefix + each for each in shorter} <= longer:
            return prefix
    return ""


def _numbers(notebook: Notebook) -> dict[str, set[int]]:
    """The numbers behind each prefix of names, outermost prefixes first."""
    found: dict[str, set[int]] = {}
    for name in notebook.parameter_names:
        parts = name.split(".")
        for place, part in enumerate(parts):
            if part.isdigit():
                found.setdefault(".".join(parts[:place]), set()).add(int(part))
    return dict(sorted(found.items(), key=lambda item: item[0].count(".")))


def _offset(
    one: Notebook, rank: Notebook, prefix: str, here: set[int], whole: set[int]
) -> int:  # fmt: skip
    """The number to add; 0 if the rank's own numbers fit, or none does."""
    for offset in range(len(whole) - len(here) + 1):
        if {number + offset for number in here} <= whole and _fits(one, rank, prefix, offset):
            return offset
    return 0


def _fits(one: Notebook, rank: Notebook, prefix: str, offset: int) -> bool:
    compared = 0
    for key, entry in rank.entries.items():
        if key.kind != notes.INITIAL or not _is_below(key.name, prefix):
            continue
        other = one.entries.get(_moved(key, prefix, offset))
        if not _same(entry, other):
            return False
        compared += 1
    return compared > 0


def _same(entry: Entry, other: Entry | None) -> bool:
    if other is None or entry.snapshot is None or other.snapshot is None:
        return False
    is_plain = entry.snapshot.declared is None
    return is_plain and same_bits(entry.snapshot.exact.elements, other.snapshot.exact.elements)


def _is_below(name: str, prefix: str) -> bool:
    begin = f"{prefix}." if prefix else ""
    # The name of a state of an optimizer begins with the state: "exp_avg of experts.0.weight".
    path = name.rpartition(" of ")[2]
    number = path[len(begin) :].partition(".")[0].partition("[")[0]
    return path.startswith(begin) and number.isdigit()


def _moved(key: Key, prefix: str, offset: int) -> Key:
    return _with_path(key, lambda path: _moved_path(path, prefix, offset))


def _moved_path(path: str, prefix: str, offset: int) -> str:
    begin = f"{prefix}." if prefix else ""
    rest = path[len(begin) :]
    number = rest.partition(".")[0].partition("[")[0]
    return f"{begin}{int(number) + offset}{rest[len(number) :]}"


def _with_path(key: Key, change: Callable[[str], str]) -> Key:
    state, link, path = key.name.rpartition(" of ")
    return Key(key.kind, f"{state}{link}{change(path)}", key.occurrence)


def _renamed(notebook: Notebook, prefix: str, offset: int) -> Notebook:
    return _moved_all(
        notebook,
        lambda path: _moved_path(path, prefix, offset) if _is_below(path, prefix) else path,
    )


def _moved_all(notebook: Notebook, change: Callable[[str], str]) -> Notebook:
    renamed = Notebook()
    renamed.strays, renamed.names = notebook.strays, notebook.names
    renamed.step_line = notebook.step_line
    for name, times in notebook.times_stepped.items():
        renamed.times_stepped[change(name)] = times
    for key, entry in notebook.entries.items():
        is_own = key.kind in (notes.NOTED, notes.RETURNED)
        new = key if is_own else _with_path(key, change)
        renamed.entries[new] = replace(entry, key=new)
    renamed.counts = _counts(renamed.entries)
    return renamed


def _counts(keys: Iterable[Key]) -> Counter[tuple[str, str]]:
    return Counter((key.kind, key.name) for key in keys)
