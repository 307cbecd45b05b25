"""Runs trainings of frameworks on processes of gloo and on ranks, and prints the table of
docs/frameworks.md.

frameworks.py [--page docs/frameworks.md] [NAME...]

Each program runs in the Python that runs this one, once by torchrun and once by simmesh torchrun,
with two ranks. All bits that the ranks save must be equal. The status is 1 if a program passes on
gloo and not on ranks.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "python" / "framework_programs.py"
RANKS = 2
SECONDS_MAX = 1200
#: The lines of the page between which the table stands.
BEGIN, END = "<!-- made by ./dev test --frameworks -->\n", "<!-- end of the table -->\n"
# The names under which packages are installed, where modules have others.
_DISTRIBUTIONS = {"megatron": "megatron-core", "lightning_fabric": "lightning-fabric"}


@dataclass(frozen=True)
class Ended:
    """The end of a run: the last line of its errors, empty where it passed, and its seconds."""

    error: str
    seconds: float

    @property
    def text(self) -> str:
        verdict = f"fails: `{self.error[:100]}`" if self.error else "passes"
        return f"{verdict}, {self.seconds:.1f} s"


@dataclass(frozen=True)
class Row:
    """One program, and how it ended on gloo and on ranks. ``differs`` says that bits do."""

    package: str
    version: str
    program: str
    gloo: Ended
    ranks: Ended
    has_values: bool
    differs: bool = False

    @property
    def is_red(self) -> bool:
        return self.differs or (not self.gloo.error and bool(self.ranks.error))

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = self.ranks.text
        if self.has_values and not self.ranks.error and not self.gloo.error:
            verdict = verdict.replace("passes", "other bits" if self.differs else "equal bits")
        ratio = f"{self.gloo.seconds / self.ranks.seconds:.1f}"
        return self.package, self.version, self.program, self.gloo.text, verdict, ratio


def table(rows: Sequence[Row]) -> str:
    """The rows as a table of Markdown."""
    heads = ("package", "version", "program", "gloo", "ranks", "gloo / ranks")
    lines = [heads, ("---",) * len(heads), *(row.cells for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_table(page: str, text: str) -> str:
    """The page with another table. Raises ValueError where it has no place for one."""
    before, begin, rest = page.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected a page with the lines {BEGIN!r} and {END!r}")
    return before + begin + text + end + behind


def _run(words: Sequence[str], folder: Path | None) -> Ended:
    begin = time.monotonic()
    where = [] if folder is None else [str(folder)]
    if folder is not None:
        folder.mkdir()
    try:
        ran = subprocess.run(
            [sys.executable, "-m", *words, *where], text=True, capture_output=True, check=False,
            timeout=SECONDS_MAX, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(f"no end in {SECONDS_MAX} s", time.monotonic() - begin)
    lines = [line for line in ran.stderr.splitlines() if line.strip()] or ["no message"]
    error = next((line for line in reversed(lines) if "Error" in line), lines[-1])
    return Ended(error if ran.returncode else "", time.monotonic() - begin)


def _judge(package: str, program: str, words: Sequence[str], has_values: bool) -> Row:
    store = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--nproc-per-node", str(RANKS)]
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary, name) if has_values else None for name in ("gloo", "ranks")]
        gloo = _run(["torch.distributed.run", *store, *words], folders[0])
        options = ["--nproc-per-node", str(RANKS), "--timeout", "300"]
        ranks = _run(["simmesh", "torchrun", *options, *words], folders[1])
        passed = not gloo.error and not ranks.error
        differs = has_values and passed and not _are_equal(*filter(None, folders))
    version = importlib.metadata.version(_DISTRIBUTIONS.get(package, package))
    return Row(package, version, program, gloo, ranks, has_values, differs)


def _are_equal(one: Path, other: Path) -> bool:
    """True if all ranks saved equal bits."""
    import torch

    def saved(folder: Path) -> list[Any]:
        return [value for rank in range(RANKS)
                for value in torch.load(folder / f"{rank}.pt", weights_only=False)]  # fmt: skip

    def is_same(one: Any, other: Any) -> bool:
        if isinstance(one, torch.Tensor):
            return bool(one.dtype == other.dtype and torch.equal(one, other))
        return bool(one == other)

    values, others = saved(one), saved(other)
    return len(values) == len(others) and all(map(is_same, values, others))


def _rows(names: Sequence[str]) -> list[Row]:
    sys.path.insert(0, str(PROGRAMS.parent))
    from framework_programs import OWN_SCRIPTS, TITLES

    rows = []
    for name, title in TITLES.items():
        package = name.partition("-")[0]
        if not names or name in names:
            rows.append(_judge(package, title, [str(PROGRAMS), name], True))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    for package, modules in OWN_SCRIPTS.items():
        for module in modules:
            short = module.rpartition(".")[2]
            if not names or short in names:
                title = f"its own script `{short}`, by `-m`"
                rows.append(_judge(package, title, ["-m", module], False))
                print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    return rows


def main() -> int:
    """Runs the programs and prints their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="a page whose table is renewed")
    parser.add_argument("names", nargs="*", help="the programs to run; all by default")
    options = parser.parse_args()
    rows = _rows(options.names)
    print(table(rows), end="")
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(with_table(page, table(rows)), encoding="utf-8")
    return int(any(row.is_red for row in rows))


if __name__ == "__main__":
    sys.exit(main())
