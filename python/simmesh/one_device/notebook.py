"""The values that one rank notes while a program runs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from simmesh import _core
from simmesh.one_device.names import Names
from simmesh.one_device.rounding_steps import Taken
from simmesh.one_device.snapshot import Snapshot, snapshot_of, ulp_of
from simmesh.torch.exact.companions import scope

#: The kinds of entries, in words of a report.
OUTPUT = "output"
OUTPUT_GRADIENT = "gradient of the output"
INITIAL = "initial parameter"
GRADIENT = "gradient"
CLIPPED = "clipped gradient"
LEFT_GRADIENT = "gradient left at the end"
NORM = "gradient norm"
PARAMETER = "parameter"
STATE = "optimizer state"
BUFFER = "buffer"
NOTED = "noted value"
RETURNED = "returned value"

#: Kinds of which a rank may hold a part of a sum, since the program may add it up later.
MAY_BE_PENDING = frozenset({OUTPUT, OUTPUT_GRADIENT, NOTED, RETURNED})

_OF_SOMETHING = frozenset({OUTPUT, OUTPUT_GRADIENT, GRADIENT, CLIPPED, LEFT_GRADIENT})

#: Gradients of parameters at some moment.
OF_GRADIENTS = frozenset({GRADIENT, CLIPPED, LEFT_GRADIENT})

#: Parameters, their gradients and states: a rank may keep their rows in an order of its own.
OF_PARAMETERS = OF_GRADIENTS | {INITIAL, PARAMETER, STATE}

#: Kinds that come with the program's modules and not with the program's own words.
OF_MODULES = frozenset({OUTPUT, OUTPUT_GRADIENT})


@dataclass(frozen=True)
class Key:
    """Which value of a program it is: its kind, its name, and how often that was noted before."""

    kind: str
    name: str
    occurrence: int

    @property
    def text(self) -> str:
        """The value in words: "gradient of the output of layers.0, call 2"."""
        link = " of " if self.kind in _OF_SOMETHING else " "
        again = f", time {self.occurrence + 1}" if self.occurrence else ""
        if self.kind == PARAMETER and self.name.startswith(f"{PARAMETER} "):
            return f"{self.name}{again}"  # the number of one that has no name
        return f"{self.kind}{link}{self.name}{again}" if self.name else f"{self.kind}{again}"


@dataclass(frozen=True)
class Entry:
    """A value that was noted. ``snapshot`` is None for a gradient that isn't there. ``line`` is
    the program's: "train.py:12". ``is_of_rows`` says that it is the output of a module that looks
    at the rows of its own rank, as a batch norm does. ``step`` is the number of optimizer steps
    before. ``drawn`` is the last random operator on a plain tensor since the value before, with
    its line.
    """

    key: Key
    snapshot: Snapshot | None
    line: str
    is_of_rows: bool = False
    is_whole: bool = False
    step: int = 0
    drawn: str = ""


@dataclass(frozen=True)
class Stray:
    """Parameters that an optimizer steps and that belong to no module that the program calls."""

    optimizer: str
    count: int
    line: str


class Notebook:
    """The entries of one rank, in the order of its program.

    ``depth`` is the number of modules that are being called, ``steps`` that of optimizer steps.
    ``times_stepped`` has for each parameter the steps of the optimizers that hold it, and
    ``step_line`` the line of the last one. ``step_depth`` is the number of steps that are being
    taken: that of ZeroRedundancyOptimizer takes another optimizer's, which doesn't count.
    ``coarsest_product`` is the coarsest rounding of a product of matrices in a step, as Muon has.
    While ``is_paused``, calls of modules aren't noted.
    ``listener`` is told of each entry and of each call of a module, if there is one.

    ``has_masters`` says that an optimizer steps tensors that belong to no module, such as shards of
    a flat buffer; ``owned`` has the identities of all that optimizers step.

    What optimizers have stepped is noted when the program goes on to use it: a rank may step some
    parameters and get the others from their owners, as ZeRO does. ``stepped`` has the optimizers
    whose parameters aren't noted yet, and ``note_stepped`` notes them. ``taken`` has the elements
    of parameters that this device takes from the ranks as soon as it has noted its own.
    ``settings`` has the options of the optimizer, such as its learning rate, for each parameter
    that it steps, by the key that the parameter has afterwards.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.entries: dict[Key, Entry] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.strays: list[Stray] = []
        self.depth = 0
        self.steps = 0
        self.times_stepped: Counter[str] = Counter()
        self.step_line = ""
        self.step_depth = 0
        self.coarsest_product = 0.0
        self.is_clipped = False
        self.is_paused = False
        self.is_ended = False
        self.listener: Any = None
        self.has_masters = False
        self.owned: set[int] = set()
        self.stepped: list[Any] = []
        self.note_stepped: Callable[[], None] | None = None
        self.taken: Mapping[Key, Taken] = {}
        self.settings: dict[Key, Mapping[str, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The parts that a comparison asks for: no objects of the program."""
        left: dict[str, Any] = {"listener": None, "owned": set(), "stepped": [], "taken": {}}
        return {**self.__dict__, **left, "note_stepped": None}

    @property
    def parameter_names(self) -> set[str]:
        """The names of the parameters of modules that were called."""
        return {key.name for key in self.entries if key.kind == INITIAL}

    @property
    def coarsest_ulp(self) -> float:
        """The largest distance of 1 from the next number, of the dtypes of outputs of modules and
        of products in optimizer steps.
        """
        snapshots = [each.snapshot for key, each in self.entries.items() if key.kind == OUTPUT]
        ulps = [ulp_of(each.exact.elements.dtype) for each in snapshots if each is not None]
        return max([self.coarsest_product, *ulps])

    def line(self) -> str:
        """The line of the program that runs: "train.py:12"."""
        return "at the end" if self.is_ended else _core.call_site()

    def settle(self) -> None:
        """Notes what optimizers have stepped, if that isn't noted yet."""
        note, self.note_stepped = self.note_stepped, None
        self.stepped = []
        if note is not None:
            note()

    def next_key(self, kind: str, name: str) -> Key:
        """The key of the next value of this kind and name."""
        key = Key(kind, name, self.counts[kind, name])
        self.counts[kind, name] += 1
        return key

    def add(
        self, key: Key, value: Any, line: str, is_of_rows: bool = False, is_whole: bool = False
    ) -> None:
        """Notes a value as it is now; None says that it isn't there."""
        snapshot = snapshot_of(value)
        if snapshot is None and value is not None:
            return
        drawn, scope.drawn = scope.drawn, ""
        self.entries[key] = Entry(key, snapshot, line, is_of_rows, is_whole, self.steps, drawn)
        if self.listener is not None:
            self.listener(key)

    def add_all(self, kind: str, name: str, value: Any, is_whole: bool = False) -> None:
        """Notes all tensors and numbers in a value."""
        self.settle()
        line = self.line()
        for suffix, leaf in leaves(value):
            self.add(self.next_key(kind, name + suffix), leaf, line, is_whole=is_whole)


def leaves(value: Any, suffix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers in containers, each with its place: "[0]", ".loss"."""
    import torch

    if isinstance(value, (torch.Tensor, bool, int, float, complex)):
        yield suffix, value
    elif depth < 8 and isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            place = suffix if len(value) == 1 else f"{suffix}[{index}]"
            yield from leaves(item, place, depth + 1)
    elif depth < 8 and isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{suffix}[{key!r}]", depth + 1)
    elif depth < 8 and is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{suffix}.{field.name}", depth + 1)


_of_thread = threading.local()


def current() -> Notebook | None:
    """The notebook of the rank that this thread runs; None where nothing is noted."""
    return getattr(_of_thread, "notebook", None)


def open_notebook(notebook: Notebook | None) -> None:
    """Lets this thread note into a notebook, or into none."""
    _of_thread.notebook = notebook
