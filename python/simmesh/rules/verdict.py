"""The verdict on a sharding rule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from simmesh.rules.rule import Row


class RuleRefuted(AssertionError):
    """A rule that values contradict. Its text is that of the verdict."""


@dataclass(frozen=True)
class RuleCounterExample:
    """The smallest case found in which a rule doesn't hold.

    ``rows`` are those on each mesh dim, ``mesh`` the sizes of the mesh, ``shapes`` those of the
    whole inputs. ``what`` is the compared tensor, such as "output 0" or "gradient of input 1".
    ``index``, ``expected`` and ``got`` are of the first element that differs; without an element
    ``problem`` says what is wrong: the report of a run, where ranks don't agree on a collective or
    wait for ever. ``hint`` says which other rule would hold.
    """

    rows: tuple[Row, ...]
    mesh: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    what: str
    problem: str = ""
    index: tuple[int, ...] | None = None
    expected: float | None = None
    got: float | None = None
    hint: str = ""

    @property
    def text(self) -> str:
        """The counter-example in one sentence, with the hint if there is one."""
        return f"{self._sentence}\n    {self.hint}" if self.hint else self._sentence

    @property
    def order(self) -> tuple[object, ...]:
        """The key of the smallest counter-example: by mesh, then sizes, then placements."""
        numels = sum(math.prod(shape) for shape in self.shapes)
        cuts = sum(each.kind != "replicate" for row in self.rows for each in row.inputs)
        return len(self.mesh), self.mesh, numels, self.shapes, cuts, str(self.rows)

    @property
    def _sentence(self) -> str:
        rows = "; ".join(map(str, self.rows))
        shapes = ", ".join(map(str, map(list, self.shapes)))
        where = f"{rows} on a mesh of {' x '.join(map(str, self.mesh))}, inputs {shapes}"
        if self.index is None:
            return f"{where}: {self.what}: {self.problem}"
        return (
            f"{where}: {self.what}{list(self.index)}: expected {self.expected!r}, got {self.got!r}"
        )


@dataclass
class RuleCheck:
    """The verdict on a rule.

    ``refuted`` has a counter-example for each row, or pair of rows on a mesh of two dims, that
    doesn't hold. ``unclaimed`` are rows that hold on 2 and 3 ranks and that the rule doesn't have.
    ``covered`` of ``coverable`` placements of the inputs on one mesh dim are in the rule: those for
    which some placement of the outputs holds. ``trials`` is the number of judged combinations of
    rows, mesh and sizes; ``refused`` names sizes at which the function itself raises. ``readings``
    say what else a rule that holds says: the dims of V, and how gradients lie. ``left_out`` are
    parts of the rule that weren't judged, with the reason. ``communicates`` is True if ranks ran.
    """

    function: str
    refuted: list[RuleCounterExample] = field(default_factory=list)
    unclaimed: list[Row] = field(default_factory=list)
    covered: int = 0
    coverable: int = 0
    trials: int = 0
    refused: dict[tuple[tuple[int, ...], ...], str] = field(default_factory=dict)
    readings: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    communicates: bool = False

    @property
    def holds(self) -> bool:
        """True if something was judged and no row is refuted."""
        return not self.refuted and self.trials > 0

    @property
    def counter_example(self) -> RuleCounterExample | None:
        """The smallest one; None for a rule that holds."""
        return self.refuted[0] if self.refuted else None

    @property
    def text(self) -> str:
        """The verdict in a few lines."""
        verdict = "REFUTED" if self.refuted else "confirmed" if self.holds else "NOT JUDGED"
        lines = [f"rule of {self.function}: {verdict}"]
        lines += [f"  {each.text}" for each in self.refuted]
        lines.append(f"  {self.trials} combinations judged")
        if self.coverable > 0:
            lines.append(
                f"  the rule covers {self.covered} of {self.coverable} placements of the inputs "
                "that need no communication"
            )
        lines += [f"  {each}" for each in self.readings]
        lines += [f"  also holds: {row}" for row in self.unclaimed]
        lines += [f"  not judged: {each}" for each in self.left_out]
        if self.refused:
            first, why = next(iter(self.refused.items()))
            shapes = ", ".join(map(str, map(list, first)))
            lines.append(f"  left out {len(self.refused)} sizes, the first inputs {shapes}: {why}")
        return "\n".join(lines)

    def add(self, other: RuleCheck) -> None:
        """Adds the verdict on other inputs of the same function."""
        self.refuted += other.refuted
        self.unclaimed += [row for row in other.unclaimed if row not in self.unclaimed]
        self.covered += other.covered
        self.coverable += other.coverable
        self.trials += other.trials
        self.refused.update(other.refused)
        self.readings += other.readings
        self.left_out += [each for each in other.left_out if each not in self.left_out]
        self.communicates |= other.communicates

    def check(self) -> RuleCheck:
        """Raises RuleRefuted where the rule doesn't hold; returns itself else."""
        if not self.holds:
            raise RuleRefuted(self.text)
        return self

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text
