"""Rules that stand beside functions in a file, and how they are found."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from simmesh.rules.verdict import RuleCheck

_ATTRIBUTE = "__simmesh_rules__"
_MARKER = "simmesh_rule"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MarkedRule:
    """A rule in a file: its name, its line, ``judge``, which gives the verdict, and its text if it
    has one.
    """

    name: str
    line: int
    judge: Callable[[], RuleCheck]
    text: str = ""


def rule(*arguments: Any, **options: Any) -> Callable[[F], F]:
    """Writes a rule beside its function, which stays as it is: the arguments are those of
    ``rulecheck`` after the function. ``simmesh validate --python FILE`` judges all of a file.

        @simmesh.rule("S(0), R -> S(0)", inputs=["mk", "kn"])
        def project(x, weight): ...

    A function may have several. Raises TypeError for an object that takes no mark.
    """

    def mark(function: F) -> F:
        marks = [(arguments, options), *getattr(function, _ATTRIBUTE, ())]
        try:
            setattr(function, _ATTRIBUTE, marks)
        except (AttributeError, TypeError):
            raise TypeError(
                f"[rules] rule: expected a function of Python, got {function!r}: judge it by "
                "simmesh.rulecheck"
            ) from None
        return function

    return mark


def marks_of(function: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments and options of each ``rule`` beside a function, in the order of its lines."""
    return list(getattr(function, _ATTRIBUTE, ()))


def load(path: Path) -> ModuleType:
    """Runs a file as a module. Raises OSError where there is none."""
    if not path.is_file():
        raise OSError(f"[rules] expected a file of Python, got {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OSError(f"[rules] expected a file of Python, got {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    # Classes of the file find their module, and imports from its folder work.
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def rules_of(module: ModuleType) -> list[MarkedRule]:
    """The rules of a module, in the order of its lines: functions with ``simmesh.rule``, tests with
    the marker ``simmesh_rule``, and verdicts of ``rulecheck`` that have a name in it.
    """
    found = [each for name, entry in vars(module).items() for each in _of(name, entry, module)]
    return sorted(found, key=lambda each: each.line)


def _of(name: str, entry: Any, module: ModuleType) -> Iterator[MarkedRule]:
    if isinstance(entry, RuleCheck):
        yield MarkedRule(name, _line_of_name(name, module), lambda: entry)
        return
    if not callable(entry) or getattr(entry, "__module__", module.__name__) != module.__name__:
        return
    line = _line_of(entry, name, module)
    for arguments, options in marks_of(entry):
        judge = partial(_judge, entry, arguments, options)
        yield MarkedRule(name, line, judge, _text(arguments))
    for mark in _marks(entry):
        yield MarkedRule(name, line, partial(_judge_tested, entry, mark), _text(mark.args))


def _text(arguments: tuple[Any, ...]) -> str:
    return arguments[0] if arguments and isinstance(arguments[0], str) else ""


def _marks(entry: Any) -> list[Any]:
    """The markers of pytest, in the order in which they are written."""
    marks = getattr(entry, "pytestmark", ())
    named = [each for each in marks if getattr(each, "name", "") == _MARKER]
    return named[::-1]


def _tested(test: Any) -> Any:
    """The function that a test with the marker returns."""
    parameters = inspect.signature(test).parameters
    if parameters:
        raise ValueError(
            f"[rules] expected a test without arguments, got {', '.join(parameters)}: run it with "
            "pytest"
        )
    function = test()
    if not callable(function):
        raise TypeError(
            f"[rules] expected a test with the marker simmesh_rule to return the function whose "
            f"rule is judged, got {function!r}"
        )
    return function


def _judge_tested(test: Any, mark: Any) -> RuleCheck:
    return _judge(_tested(test), mark.args, mark.kwargs)


def _judge(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> RuleCheck:
    from simmesh.rules.judge import rulecheck

    return rulecheck(function, *arguments, **options)


def _line_of(entry: Any, name: str, module: ModuleType) -> int:
    code = getattr(inspect.unwrap(entry), "__code__", None)
    return int(code.co_firstlineno) if code is not None else _line_of_name(name, module)


def _line_of_name(name: str, module: ModuleType) -> int:
    """The first line of the file that begins with a name."""
    lines = Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith((f"{name} ", f"{name}=", f"{name}:", f"class {name}", f"def {name}")):
            return number
    return 0
