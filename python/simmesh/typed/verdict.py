"""The verdict on the types of a program: which tensors are what they are declared to be."""

from __future__ import annotations

from dataclasses import dataclass, field


class TypeLie(AssertionError):
    """A tensor isn't what it is declared to be. Its text is that of the verdict."""

    def __init__(self, verdict: TypedCheck) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


@dataclass(frozen=True)
class Lie:
    """A tensor that isn't what it is declared to be on an axis.

    ``line`` is the line of the program that made or declared it, or whose backward made it;
    ``what`` says which tensor it is. ``declared`` and ``actual`` are the types on ``axis``; without
    a known one ``actual`` is empty. ``index`` is the place of the first element that differs, with
    ``expected`` and ``got``; ``users`` are the lines of calls that take the tensor.
    """

    line: str
    what: str
    axis: str
    declared: str
    actual: str
    why: str
    index: tuple[int, ...] | None = None
    expected: float | None = None
    got: float | None = None
    is_gradient: bool = False
    users: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lie in a sentence or two."""
        text = f"{self.line}: {self.what}: on axis {self.axis} {self.why}"
        if self.index is not None:
            text += f"\n  element {list(self.index)}: expected {self.expected!r}, got {self.got!r}"
        if self.users and not self.is_gradient:
            text += f"\n  used at {', '.join(self.users)}"
        return text


@dataclass(frozen=True)
class Row:
    """A tensor of the program: its declared types and what the ranks really hold, by axis."""

    line: str
    what: str
    declared: str
    actual: str
    is_lie: bool


@dataclass
class TypedCheck:
    """The verdict on a program's types on one layout of ranks.

    ``rows`` has each typed tensor once, in the order of the program, with gradients where the
    backward pass makes them. ``lies`` are those that aren't what they are declared to be; one that
    comes of another is among them. ``notes`` says what wasn't compared.
    """

    layout: str
    rows: list[Row] = field(default_factory=list)
    lies: list[Lie] = field(default_factory=list)
    compared: int = 0
    compared_with_one_device: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if no tensor lies."""
        return not self.lies

    @property
    def first(self) -> Lie | None:
        """The first tensor that lies; None where none does."""
        return self.lies[0] if self.lies else None

    @property
    def text(self) -> str:
        """The verdict, with declared and actual types side by side up to the first lie."""
        count = len(self.lies)
        found = f"{count} tensors aren't what they declare"
        if count < 2:
            found = "1 tensor isn't what it declares" if count else "as declared"
        lines = [f"types on {self.layout}: {found}"]
        if self.first is not None:
            lines += [f"first: {self.first.text}", *self._table()]
        lines.append(
            f"{self.compared} tensors compared between ranks, {self.compared_with_one_device} of "
            "them with one device"
        )
        return "\n".join([*lines, *(f"note: {each}" for each in self.notes)])

    def _table(self) -> list[str]:
        end = next((at for at, row in enumerate(self.rows) if row.is_lie), -1) + 1
        shown = self.rows[max(0, end - 8) : end]
        cells = [("line", "tensor", "declared", "actual")]
        cells += [(row.line, row.what, row.declared, row.actual) for row in shown]
        widths = [max(len(row[at]) for row in cells) for at in range(4)]
        return [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in cells
        ]

    def check(self) -> TypedCheck:
        """Raises TypeLie where a tensor lies; returns itself else."""
        __tracebackhide__ = True
        if not self.ok:
            raise TypeLie(self)
        return self

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text
