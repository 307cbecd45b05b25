"""One device's values in a file, for comparisons with later runs."""

from __future__ import annotations

import os
from typing import Any

import torch

from simmesh import _core
from simmesh.one_device.assembly import whole_of_declared
from simmesh.one_device.notebook import Entry, Key, Notebook
from simmesh.one_device.snapshot import Exact, Snapshot

_FORMAT = 1


def write(notebook: Notebook, path: str | os.PathLike[str]) -> None:
    """Writes what one device noted to a file of torch.save, with tensors, numbers and text."""
    torch.save(
        {
            "format": _FORMAT, "simmesh": _core.version, "torch": str(torch.__version__),
            "coarsest_product": notebook.coarsest_product,
            "entries": [_row(entry) for entry in notebook.entries.values()],
        },
        path,
    )  # fmt: skip


def source_of(path: str | os.PathLike[str]) -> str:
    """The versions that wrote a file: "PyTorch 2.15.0, simmesh 0.1.0"."""
    content = _content(path)
    return f"PyTorch {content['torch']}, simmesh {content['simmesh']}"


def _row(entry: Entry) -> dict[str, Any]:
    snapshot = entry.snapshot
    whole = None if snapshot is None else whole_of_declared([snapshot])[0]
    return {
        "kind": entry.key.kind, "name": entry.key.name, "occurrence": entry.key.occurrence,
        "line": entry.line, "is_of_rows": entry.is_of_rows, "is_whole": entry.is_whole,
        "step": entry.step, "drawn": entry.drawn,
        "is_number": snapshot is not None and snapshot.is_number,
        "elements": None if whole is None else whole.elements,
    }  # fmt: skip


def read(path: str | os.PathLike[str]) -> Notebook:
    """Reads what ``write`` wrote. Raises ValueError for another file."""
    content = _content(path)
    notebook = Notebook()
    notebook.coarsest_product = content.get("coarsest_product", 0.0)
    for row in content["entries"]:
        key = Key(row["kind"], row["name"], row["occurrence"])
        elements = row["elements"]
        snapshot = None
        if elements is not None:
            snapshot = Snapshot(Exact(elements), is_number=row["is_number"])
        notebook.entries[key] = Entry(
            key, snapshot, row["line"], row["is_of_rows"], row["is_whole"], row["step"],
            row.get("drawn", ""),
        )  # fmt: skip
        notebook.counts[key.kind, key.name] += 1
    return notebook


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(_refusal(path, f"a file that can't be loaded ({reason})")) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(_refusal(path, "another file of torch.save"))
    return content


def _refusal(path: str | os.PathLike[str], got: str) -> str:
    return (
        f"[one_device] {os.fspath(path)}: expected a file that record_one_device wrote, got {got}"
    )
