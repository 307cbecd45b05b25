"""Modules that a program calls by themselves on some of its ranks, such as stages of a pipeline: a
rank that calls the second one alone calls it the first.
"""

from __future__ import annotations

from simmesh.one_device import notebook as notes
from simmesh.one_device.notebook import Entry, Notebook
from simmesh.one_device.snapshot import same_bits

_Parameters = dict[str, Entry]


def other_roots(one: Notebook, rank: Notebook) -> dict[str, str]:
    """For each root of a rank that is another one on one device: its name there. The initial
    parameters tell by their bits which it is. "" is the first root that has modules inside.
    """
    there = _roots(one)
    here = {name: parameters for name, parameters in _roots(rank).items() if parameters}
    free = set(there) - {name for name in here if _fits(here[name], there.get(name))}
    renamed = {}
    for name, parameters in here.items():
        if _fits(parameters, there.get(name)):
            continue
        found = next((other for other in sorted(free) if _fits(parameters, there[other])), None)
        if found is not None:
            renamed[name] = found
            free.discard(found)
    return renamed


def renamed_root(path: str, names: dict[str, str], first: str) -> str:
    """The name of a module or parameter on one device. ``first`` is the class of the rank's first
    root that has modules inside, which is the name of its own output.
    """
    root = path.partition(".")[0].partition("[")[0]
    if root in names and root != "":
        rest = path[len(root) :]
        new = names[root]
        return new + rest if new or not rest.startswith(".") else rest[1:]
    if "" not in names:
        return path
    return names[""] + path[len(first) :] if root == first else f"{names['']}.{path}"


def _roots(notebook: Notebook) -> dict[str, _Parameters]:
    """The initial parameters of each root, by their names inside of it."""
    roots = notebook.names.roots
    found: dict[str, _Parameters] = {name: {} for name in roots}
    for key, entry in notebook.entries.items():
        if key.kind != notes.INITIAL:
            continue
        root, _, rest = key.name.partition(".")
        if root in found and root != "":
            found[root][rest] = entry
        elif "" in found:
            found[""][key.name] = entry
    return found


def _fits(parameters: _Parameters, other: _Parameters | None) -> bool:
    if other is None or parameters.keys() != other.keys():
        return False
    return all(_same(entry, other[name]) for name, entry in parameters.items())


def _same(entry: Entry, other: Entry) -> bool:
    if entry.snapshot is None or other.snapshot is None or entry.snapshot.declared is not None:
        return False
    return same_bits(entry.snapshot.exact.elements, other.snapshot.exact.elements)
