"""Files of cases: one JSON object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]


def read(path: str | os.PathLike[str]) -> Iterator[Case]:
    """The cases of a ``.jsonl`` file."""
    for number, line in enumerate(Path(path).read_text().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"[recording/cases] {path}:{number}: expected a JSON object, got {error}"
            ) from None
        if not isinstance(case, dict) or "kind" not in case:
            raise ValueError(
                f"[recording/cases] {path}:{number}: expected an object with a kind, "
                f"got {line[:60]}"
            )
        yield case


def write(cases: Iterable[Case], path: str | os.PathLike[str]) -> None:
    """Writes cases to a file. Equal cases give equal bytes."""
    text = "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in cases)
    Path(path).write_text(text)
