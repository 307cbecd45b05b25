"""The report of a comparison with one device, in text."""

from __future__ import annotations

from simmesh.one_device import notebook as notes
from simmesh.one_device.operator_at_fault import OperatorAtFault
from simmesh.one_device.reasons import ratio
from simmesh.one_device.verdict import Finding, Verdict

_SHOWN_MAX = 6


def report(verdict: Verdict) -> str:
    """The lines about one layout: what differs first, what else is at fault by itself, limits, and
    what couldn't be compared.
    """
    lines = [_headline(verdict)]
    faults = verdict.faults
    if faults:
        lines += _of_faults(faults, verdict.operator)
    limits = verdict.limits_before_faults
    if limits:
        lines += _told(limits[0])
        if len(limits) > 1:
            lines.append(f"  {len(limits) - 1} more values differ by limits")
    for name, reason in list(verdict.skipped.items())[:_SHOWN_MAX]:
        lines.append(f"  not compared: {name}: {reason}")
    if len(verdict.skipped) > _SHOWN_MAX:
        lines.append(f"  not compared: {len(verdict.skipped) - _SHOWN_MAX} more")
    return "\n".join(lines)


def _headline(verdict: Verdict) -> str:
    where = f"[one_device] {verdict.layout.text}:"
    expected = f"expected one device's bits in {verdict.compared} values"
    if verdict.faults:
        return f"{where} {expected}, got others in {len(verdict.findings)}"
    if verdict.limits:
        return f"{where} {expected}, got others in {len(verdict.limits)}, all by limits"
    equal = f"{where} {verdict.compared} values have one device's bits"
    if verdict.constant * 2 <= verdict.compared:
        return equal
    return (
        f"{equal}; all elements are equal in each of {verdict.constant} of them, so a wrong layout "
        "may not show"
    )


def _of_faults(faults: list[Finding], operator: OperatorAtFault | None) -> list[str]:
    gradients = [
        each for each in faults if each.key is not None and each.key.kind == notes.GRADIENT
    ]
    own = _by_themselves(faults)
    lines = ["first: " + "\n".join(_told(faults[0])).strip()]
    if operator is not None:
        lines += _of_operator(operator)
    factors = {ratio(each.factor) for each in gradients if each.factor is not None}
    if len(gradients) > 1 and len(factors) == 1 and all(each.factor for each in gradients):
        lines.append(f"  all {len(gradients)} gradients that differ are {factors.pop()} times one "
                     "device's")  # fmt: skip
    for each in own[:_SHOWN_MAX]:
        lines += _told(each)
    others = [each for each in faults[1:] if each not in own and each.key is not None]
    shown = [each.key.text for each in others[:_SHOWN_MAX] if each.key is not None]
    if others:
        more = f" and {len(others) - len(shown)} more" if len(others) > len(shown) else ""
        lines.append(f"  after it, these differ too: {', '.join(shown)}{more}")
    return lines


def _by_themselves(faults: list[Finding]) -> list[Finding]:
    """The faults behind the first that don't follow from it: missing sums, each name once."""
    found, names = [], {faults[0].key.name if faults[0].key is not None else ""}
    for each in faults[1:]:
        if each.key is None:
            found.append(each)
        elif each.is_missing_sum and each.key.name not in names:
            names.add(each.key.name)
            found.append(each)
    return found


def _of_operator(found: OperatorAtFault) -> list[str]:
    call = found.call
    inside = f" in {call.module}" if call.module else ""
    line = f"the backward pass of {call.line}" if call.is_backward else call.line
    where = f"{call.name}{inside}, {line}"
    lines = [f"  first operator that differs: {where}: {found.text}"]
    return [*lines, f"    {found.details}"] if found.details else lines


def _told(finding: Finding) -> list[str]:
    name = "" if finding.key is None else f"{finding.key.text}, "
    lines = [f"  {name}{finding.line}: {finding.text}"]
    if finding.details:
        lines.append(f"    {finding.details}")
    return lines
