"""The verdict on PyTorch's rules, as text and as one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from simmesh.rules.pytorch.recorded import plain_fields
from simmesh.rules.pytorch.survey import Finding, Survey


class Report:
    """A survey beside the recorded list."""

    def __init__(self, survey: Survey, release: str, listed: Iterable[Finding]) -> None:
        self._survey, self._release = survey, release
        self._listed = {finding.key for finding in listed}

    @property
    def new(self) -> list[Finding]:
        """The wrong rules that the recorded list doesn't have."""
        return [each for each in self._survey.findings if each.key not in self._listed]

    def _verdicts(self) -> Counter[str]:
        return Counter(self._survey.rows.values())

    def _skipped(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for op, reason in sorted(self._survey.skipped.items()):
            found.setdefault(reason, []).append(op)
        return dict(sorted(found.items()))

    def fields(self) -> dict[str, Any]:
        """All of it, for JSON."""
        verdicts = self._verdicts()
        return {
            "pytorch": self._release,
            "operators": len(self._survey.operators),
            "trials": self._survey.trials,
            "rows": {
                "confirmed": verdicts["confirmed"],
                "confirmed_up_to_roundings": verdicts["rounding"],
                "wrong": verdicts["wrong"],
                "unreached": verdicts["unreached"],
                "not_judged": verdicts["unsupported"],
            },
            "wrong": [
                {**plain_fields(each), "as_listed": each.key in self._listed}
                for each in self._survey.findings
            ],
            "refused_by_pytorch": dict(sorted(self._survey.refused.items())),
            "not_asked": self._survey.unasked,
            "skipped": self._skipped(),
        }

    def text(self) -> str:
        """A table of the wrong rules, and the counts."""
        lines = []
        for each in sorted(self._survey.findings, key=lambda finding: finding.key):
            mark = "as listed" if each.key in self._listed else "NEW"
            lines.append(f"wrong, {mark}: {each.text}")
        verdicts, survey = self._verdicts(), self._survey
        lines.append(
            f"PyTorch {self._release}: {len(survey.operators)} operators, {survey.trials} trials"
        )
        lines.append(
            f"rows: {verdicts['confirmed']} confirmed, {verdicts['rounding']} confirmed up to "
            f"roundings, {verdicts['wrong']} wrong, {verdicts['unsupported']} not judged by values"
        )
        if verdicts["unreached"]:
            lines.append(
                "rows that are wrong alone, where PyTorch's program is right, since it reaches "
                f"other operators: {verdicts['unreached']}"
            )
        refused = ", ".join(f"{name} {count}" for name, count in sorted(survey.refused.items()))
        lines.append(
            f"placements that PyTorch refuses: {sum(survey.refused.values())}"
            + (f" ({refused})" if refused else "")
        )
        if survey.unasked:
            lines.append(
                f"placements that aren't asked for, since PyTorch would trace a decomposition for "
                f"too many combinations: {survey.unasked}"
            )
        for reason, ops in self._skipped().items():
            lines.append(f"skipped, {reason}: {len(ops)}: {_listing(ops)}")
        new = len(self.new)
        lines.append(
            f"{verdicts['wrong']} wrong, {len(survey.findings) - new} as listed, {new} new"
        )
        return "\n".join(lines)


def _listing(names: Sequence[str]) -> str:
    return " ".join(name.removeprefix("aten.").removesuffix(".default") for name in names)
