"""The list of PyTorch's own tests by file and id, with their verdicts on ranks and on processes.

    tensor/test_api.py
      3 skipped
      DTensorAPITest::test_distribute_module passed passed

The first verdict is that on ranks, the second that on the processes or threads of PyTorch; "-"
where a test wasn't run. "host" stands for a test that passed and started no ranks. Tests that both
skip are only counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

#: Verdicts of tests that failed in one way or another.
BAD = ("failed", "late", "crashed")
NOT_RUN = "-"
_HEAD = """\
# PyTorch's own tests under test/distributed: the verdict on ranks, then that on processes.
# Renewed by: python -m simmesh.torch_tests --checkout DIR --list FILE --renew
"""


class VerdictList:
    """Verdicts by file and id, each a pair: on ranks, on processes."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, list[str]]] = {}
        self.skipped: dict[str, int] = {}

    def set(self, file: str, on_ranks: bool, verdicts: Mapping[str, str]) -> None:
        """Takes a file's verdicts of one side. Ids that were listed and weren't run keep theirs."""
        known = self.files.setdefault(file, {})
        for name, word in verdicts.items():
            known.setdefault(name, [NOT_RUN, NOT_RUN])[0 if on_ranks else 1] = word

    def alone(self) -> list[str]:
        """The ids ``file::test`` that are bad on ranks and pass on processes, or that ranks skip
        and processes don't.
        """
        return [
            f"{file}::{name}" for file, tests in self.files.items()
            for name, (ranks, processes) in tests.items()
            if processes == "passed" and (ranks in BAD or ranks == "skipped")
        ]  # fmt: skip

    def count(self, side: int, *words: str, file: str | None = None) -> int:
        """The number of tests with one of these verdicts on a side, ranks (0) or processes (1)."""
        files = self.files.values() if file is None else [self.files[file]]
        return sum(pair[side] in words for tests in files for pair in tests.values())

    def text(self) -> str:
        """The contents of the file."""
        lines = []
        for file, tests in sorted(self.files.items()):
            both = [name for name, pair in tests.items() if set(pair) <= {"skipped", NOT_RUN}]
            skipped = max(self.skipped.get(file, 0), len(both))
            lines.append(file)
            lines += [f"  {skipped} skipped"] if skipped else []
            lines += [
                f"  {name} {pair[0]} {pair[1]}" for name, pair in sorted(tests.items())
                if name not in set(both)
            ]  # fmt: skip
        return _HEAD + "".join(f"{line}\n" for line in lines)

    def write(self, path: Path) -> None:
        """Writes the file at once."""
        part = path.with_suffix(".part")
        part.write_text(self.text(), encoding="utf-8")
        part.replace(path)


def read_list(path: Path) -> VerdictList:
    """The list in a file, empty if there is none. Raises ValueError for another format."""
    result = VerdictList()
    file = ""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        words = line.rsplit(maxsplit=2)
        if not line.startswith(" "):
            if not line.startswith("#") and line:
                file = line
                result.files[file] = {}
        elif words[1:] == ["skipped"] and words[0].isdigit() and file:
            result.skipped[file] = int(words[0])
        elif len(words) == 3 and file:
            result.files[file][words[0].strip()] = words[1:]
        else:
            raise ValueError(
                f"[torch_tests/verdict_list] {path}:{number}: expected a file, or a test with two "
                f"verdicts, got '{line}'"
            )
    return result


class Reasons:
    """Reasons why tests fail on ranks alone: a line of text, and below it, indented, the patterns
    ``file::test`` of the ids that it explains.
    """

    def __init__(self, text: str = "") -> None:
        self._patterns: list[tuple[str, str]] = []
        reason = ""
        for line in text.splitlines():
            if line.startswith(" "):
                self._patterns.append((line.strip(), reason))
            elif line and not line.startswith("#"):
                reason = line

    def of(self, identity: str) -> str:
        """The reason for a test, empty if there is none."""
        matching = (reason for each, reason in self._patterns if fnmatchcase(identity, each))
        return next(matching, "")
