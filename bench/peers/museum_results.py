"""The findings of tools in exhibits, in a file from which a comparison goes on. Several comparisons
may write into it at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIANTS = ("wrong", "right")


@dataclass(frozen=True)
class Finding:
    """A tool's words about a program: "" for nothing, and None if it can't look at the program.
    ``raises`` is true if the program raised in the tool, or did not end.
    """

    text: str | None
    raises: bool = False


class Results:
    """Findings by tool and exhibit. They hold for the versions that are named, and for the text of
    the exhibit.
    """

    def __init__(self, path: Path, versions: str) -> None:
        self.path = path
        self.versions = versions
        self._found: dict[str, dict[str, list[list[object]]]] = {}
        self._read()

    def _read(self) -> None:
        if self.path.exists():
            self._found = json.loads(self.path.read_text(encoding="utf-8"))

    @contextlib.contextmanager
    def _changed(self) -> Iterator[None]:
        """Lets the caller change what the file has now, and writes it, also if the process is
        killed meanwhile.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._read()
            yield
            written = self.path.with_suffix(".new")
            written.write_text(json.dumps(self._found, indent=1), encoding="utf-8")
            os.replace(written, self.path)

    def _key(self, name: str, text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"{name} {digest}, {self.versions}"

    def get(self, tool: str, name: str, text: str) -> dict[str, Finding] | None:
        """The findings in the exhibit's programs by their variant; None if there are none yet."""
        kept = self._found.get(tool, {}).get(self._key(name, text))
        if kept is None:
            return None
        return {
            variant: Finding(None if said is None else str(said), bool(raises))
            for variant, (said, raises) in zip(VARIANTS, kept)
        }

    def put(self, tool: str, name: str, text: str, found: dict[str, Finding]) -> None:
        """Keeps the findings."""
        rows: list[list[object]] = [
            [found[variant].text, found[variant].raises] for variant in VARIANTS
        ]
        with self._changed():
            self._found.setdefault(tool, {})[self._key(name, text)] = rows

    def forget(self, tool: str) -> None:
        """Drops what a tool found."""
        with self._changed():
            self._found.pop(tool, None)
