"""Files that hold a failing schedule, so that a test can be run under it again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Replay:
    """One test's failing schedule, in the core's words, with all else that its run depends on."""

    test: str
    schedule: str
    schedule_seed: int
    world_size: int
    arithmetic: str
    seed: int


def write(replay: Replay, folder: Path) -> Path:
    """Writes the replay to a file in ``folder`` and returns the path. Two tests never share one."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in replay.test.rpartition("/")[2])
    digest = hashlib.sha256(replay.test.encode("utf-8", "surrogatepass")).hexdigest()
    path = folder / f"{name[:100]}-{digest[:12]}.json"
    path.write_text(json.dumps(asdict(replay), indent=1) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> Replay:
    """Reads a replay; raises ValueError with the file's name if it isn't one."""
    expected = Replay.__dataclass_fields__
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"[python/replay_file] {path}: expected a JSON file, got {error}"
        ) from None
    if not isinstance(content, dict) or set(content) != set(expected):
        got = sorted(content) if isinstance(content, dict) else type(content).__name__
        raise ValueError(
            f"[python/replay_file] {path}: expected the fields {sorted(expected)}, got {got}"
        )
    for name, field in expected.items():
        kind = int if field.type == "int" else str
        if not isinstance(content[name], kind):
            raise ValueError(
                f"[python/replay_file] {path}: {name}: expected {field.type}, got {content[name]!r}"
            )
    return Replay(**content)
