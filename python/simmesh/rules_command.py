"""The command ``simmesh validate --python FILE``, which judges the rules of a file of Python."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simmesh.findings import Findings, add_option
from simmesh.rules.marks import MarkedRule, load, rules_of
from simmesh.rules.verdict import RuleCheck, RuleCounterExample

SUMMARY = (
    "judges the rules of a file: functions with @simmesh.rule, tests with the marker simmesh_rule, "
    "and verdicts of simmesh.rulecheck; last line: N rules, N wrong, N not judged"
)


@dataclass
class _Verdict:
    file: str
    rule: MarkedRule
    check: RuleCheck | None
    problem: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.check is not None and bool(self.check.refuted)

    @property
    def is_judged(self) -> bool:
        return self.check is not None and self.check.trials > 0


def is_ours(arguments: Sequence[str]) -> bool:
    """True for ``validate`` with ``--python``, which the core's command doesn't have."""
    return arguments[:1] == ["validate"] and any(
        each == "--python" or each.startswith("--python=") for each in arguments
    )


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, 1 if a rule is wrong or isn't judged, or 2
    where it could not run.
    """
    options = _parser().parse_args(arguments)
    verdicts: list[_Verdict] = []
    try:
        findings = Findings(options.findings)
    except ValueError as error:
        return _refuse(str(error))
    for name in options.python:
        try:
            found = rules_of(load(Path(name)))
        except ImportError as error:
            return _refuse(f"[rules_command] {name}: expected its modules and PyTorch, got {error}")
        except OSError as error:
            return _refuse(str(error))
        except Exception:  # whatever a user's file raises
            text = traceback.format_exc().rstrip().splitlines()
            return _refuse(f"[rules_command] {name}: {text[-1].strip()}{_place(text, name)}")
        if not found:
            return _refuse(
                f"[rules_command] {name}: expected functions with @simmesh.rule, tests with the "
                "marker simmesh_rule or verdicts of simmesh.rulecheck, got none"
            )
        for each in found:
            verdict = _judged(name, each)
            verdicts.append(verdict)
            _add(findings, verdict)
            if not options.quiet and not options.json:
                print(_text(verdict), flush=True)
    wrong = sum(each.is_wrong for each in verdicts)
    missing = sum(not each.is_judged for each in verdicts)
    findings.write()
    if options.json:
        print(json.dumps(
            {"rules": list(map(_json, verdicts)), "wrong": wrong, "not_judged": missing}
        ))  # fmt: skip
    else:
        print(f"{len(verdicts)} rules, {wrong} wrong, {missing} not judged")
    return 1 if wrong or missing else 0


def _judged(file: str, marked: MarkedRule) -> _Verdict:
    try:
        return _Verdict(file, marked, marked.judge())
    except Exception as error:  # whatever a user's rule or function raises
        return _Verdict(file, marked, None, f"{type(error).__name__}: {error}")


def _text(verdict: _Verdict) -> str:
    where = f"{verdict.file}:{verdict.rule.line}"
    if verdict.rule.text:
        where += f" '{' '.join(verdict.rule.text.split())}'"
    if verdict.check is None:
        return f"{where}: rule of {verdict.rule.name}: NOT JUDGED\n  {verdict.problem}"
    return f"{where}: {verdict.check.text}"


def _add(findings: Findings, verdict: _Verdict) -> None:
    name = f"{verdict.rule.name} {' '.join(verdict.rule.text.split())}".rstrip()
    if verdict.is_judged and not verdict.is_wrong:
        findings.passed(verdict.file, name)
        return
    known: dict[str, Any] = {"file": verdict.file, "line": verdict.rule.line}
    if verdict.check is not None and verdict.check.refuted:
        example = verdict.check.refuted[0]
        if example.index is not None:
            known |= {"expected": str(example.expected), "got": str(example.got)}
    known["reproduce"] = f"simmesh validate --python {shlex.quote(verdict.file)}"
    rule = "validate/rule" if verdict.is_wrong else "validate/not_judged"
    report = verdict.problem if verdict.check is None else verdict.check.text
    findings.failed(verdict.file, name, report, rule, **known)


def _place(lines: Sequence[str], name: str) -> str:
    """The line of the user's file in a traceback."""
    places = [line.strip() for line in lines if f'"{name}"' in line]
    return f" ({places[-1]})" if places else ""


def _json(verdict: _Verdict) -> dict[str, Any]:
    check = verdict.check
    found: dict[str, Any] = {
        "file": verdict.file, "line": verdict.rule.line, "name": verdict.rule.name,
        "rule": verdict.rule.text,
    }  # fmt: skip
    if check is None:
        return {**found, "verdict": "not judged", "problem": verdict.problem}
    words = "wrong" if check.refuted else "confirmed" if check.holds else "not judged"
    return {
        **found,
        "function": check.function,
        "verdict": words,
        "combinations": check.trials,
        "communicates": check.communicates,
        "covered": check.covered,
        "coverable": check.coverable,
        "counter_examples": list(map(_json_of_example, check.refuted)),
        "also_holds": list(map(str, check.unclaimed)),
        "left_out": check.left_out,
    }


def _json_of_example(example: RuleCounterExample) -> dict[str, Any]:
    return {
        "rows": list(map(str, example.rows)),
        "mesh": list(example.mesh),
        "inputs": list(map(list, example.shapes)),
        "what": example.what,
        "index": None if example.index is None else list(example.index),
        "expected": _number(example.expected),
        "got": _number(example.got),
        "problem": example.problem,
        "hint": example.hint,
    }


def _number(value: Any) -> Any:
    """A number as JSON has it: infinities and NaN are texts."""
    is_plain = not isinstance(value, float) or value - value == 0
    return value if is_plain and not isinstance(value, complex) else str(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simmesh validate", description=SUMMARY)
    parser.add_argument(
        "--python", metavar="FILE", action="append", required=True,
        help="a file of Python with rules; may be given again",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="only the last line")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_option(parser)
    return parser


def _refuse(message: str) -> int:
    print(f"simmesh: {' '.join(message.split())}", file=sys.stderr)
    return 2
