"""The recorded list: the wrong rules that releases of PyTorch are known to have."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from simmesh.rules.pytorch.survey import Finding

_FOLDER = Path(__file__).parent / "wrong_rules"


def release_of(version: str) -> str:
    """The release of a version such as 2.15.0+cpu."""
    return version.split("+")[0]


def _file(release: str) -> Path:
    return _FOLDER / f"pytorch_{release.replace('.', '_')}.jsonl"


def releases() -> list[str]:
    """The releases that have a list."""
    names = sorted(path.stem for path in _FOLDER.glob("pytorch_*.jsonl"))
    return [name.removeprefix("pytorch_").replace("_", ".") for name in names]


def recorded(release: str) -> list[Finding]:
    """The findings that are recorded for a release; none for one without a list."""
    path = _file(release)
    if not path.exists():
        return []
    found = []
    for line in path.read_text().splitlines():
        fields = json.loads(line)
        fields["mesh"] = tuple(fields["mesh"])
        if fields["index"] is not None:
            fields["index"] = tuple(fields["index"])
        found.append(Finding(**fields))
    return found


def plain_fields(finding: Finding) -> dict[str, object]:
    """The fields of a finding as JSON has them; complex numbers, NaN and infinities as text."""

    def plain(value: object) -> object:
        is_odd = isinstance(value, complex) or (
            isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))
        )
        return str(value) if is_odd else value

    return {key: plain(value) for key, value in dataclasses.asdict(finding).items()}


def record(findings: Iterable[Finding], release: str) -> Path:
    """Writes the list of a release."""
    _FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(plain_fields(each)) for each in sorted(findings, key=lambda f: f.key)]
    path = _file(release)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
