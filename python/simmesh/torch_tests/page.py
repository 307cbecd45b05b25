"""The table of PyTorch's own tests in a page: counts by file on ranks and on processes, and reasons
for tests that fail on ranks alone.
"""

from __future__ import annotations

from pathlib import Path

from simmesh.torch_tests.verdict_list import BAD, NOT_RUN, Reasons, VerdictList

#: The lines of the page between which the table stands.
BEGIN = "<!-- made by python -m simmesh.torch_tests -->\n"
END = "<!-- end of the table -->\n"


def renew_page(path: Path, listed: VerdictList, reasons: Reasons) -> None:
    """Puts the table of the list into a page. Raises ValueError if the page has no place for it."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    end, after = rest.partition(END)[1:]
    if not begin or not end:
        raise ValueError(
            f"[torch_tests/page] {path}: expected the lines '{BEGIN.strip()}' and '{END.strip()}'"
        )
    path.write_text(before + begin + table(listed, reasons) + end + after, encoding="utf-8")


def table(listed: VerdictList, reasons: Reasons) -> str:
    """The table, a sum above it and the reasons below."""
    compared = _compared(listed)
    lines = [
        f"{listed.count(0, 'passed')} tests pass on ranks and {listed.count(0, *BAD)} fail. "
        f"{listed.count(0, 'host')} more pass and start no ranks. Of those that pass on ranks, "
        f"{compared} also ran on processes; {_passed_on_both(listed)} pass there.",
        "",
        "| file | pass on ranks | fail on ranks | pass on processes | fail on processes | fail on "
        "ranks alone |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    alone = listed.alone()
    for file in sorted(listed.files):
        if not listed.count(0, "passed", *BAD, file=file):
            continue
        here = sum(each.startswith(f"{file}::") for each in alone)
        lines.append(
            f"| `distributed/{file}` | {listed.count(0, 'passed', file=file)} "
            f"| {listed.count(0, *BAD, file=file)} | {_processes(listed, file, 'passed')} "
            f"| {_processes(listed, file, *BAD)} | {here or ''} |"
        )
    lines += ["", *_explained(alone, reasons)]
    return "".join(f"{line}\n" for line in lines)


def _processes(listed: VerdictList, file: str, *words: str) -> int:
    """The number of a file's tests that ran on ranks and have this verdict on processes."""
    tests = listed.files[file].values()
    return sum(ranks in ("passed", *BAD) and other in words for ranks, other in tests)


def _compared(listed: VerdictList) -> int:
    pairs = (pair for tests in listed.files.values() for pair in tests.values())
    return sum(ranks == "passed" and other != NOT_RUN for ranks, other in pairs)


def _passed_on_both(listed: VerdictList) -> int:
    pairs = (pair for tests in listed.files.values() for pair in tests.values())
    return sum(pair == ["passed", "passed"] for pair in pairs)


def _explained(alone: list[str], reasons: Reasons) -> list[str]:
    """The reasons, each with the tests that it explains."""
    by_reason: dict[str, list[str]] = {}
    for each in alone:
        by_reason.setdefault(reasons.of(each) or "No reason is known.", []).append(each)
    lines = []
    for reason, tests in by_reason.items():
        lines.append(f"- {reason}")
        lines += [f"  - `{each}`" for each in tests]
    return lines
