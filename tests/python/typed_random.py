"""Random programs of typed tensors, run step by step by two packages."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh

from simmesh import typed

Types = dict[str, str]

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": lambda x: -x,
    "relu": torch.relu,
    "square": torch.square,
    "tanh": torch.tanh,
    "softmax": lambda x: torch.softmax(x, -1),
    "clone": torch.clone,
    "detach": lambda x: x.detach(),
    "t": lambda x: x.t(),
    "cumsum": lambda x: torch.cumsum(x, 0),
    "flip": lambda x: torch.flip(x, [0]),
    "getitem": lambda x: x[:],
    "to": lambda x: x.to(torch.float64).to(torch.float32),
    "plus_one": lambda x: x + 1,
    "twice": lambda x: 2 * x,
    "half": lambda x: x / 2,
    "one_minus": lambda x: 1 - x,
    "inverse": lambda x: 1 / (x + 3),
    "einsum": lambda x: torch.einsum("ij->ji", x),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.0),
    "roll": lambda x: torch.roll(x, 1, 0),
    "zeros_like": torch.zeros_like,
    "new_zeros": lambda x: x.new_zeros(x.shape),
    "expand": lambda x: x.unsqueeze(0).expand(2, -1, -1).sum(0),
    "norm_rows": lambda x: x * torch.rsqrt(x.square().sum(1, keepdim=True) + 1),
    "rounded_half": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "whole_sum": lambda x: x + x.sum(dtype=torch.int64),
}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "sub": lambda x, y: x - y,
    "mul": torch.mul,
    "matmul": torch.matmul,
    "mm": torch.mm,
    "div": lambda x, y: x / y,
    "div_keyword": lambda x, y: torch.div(x, other=y),
    "maximum": torch.maximum,
    "linear": torch.nn.functional.linear,
    "where": lambda x, y: torch.where(x > y, x, y),
    "cat": lambda x, y: torch.cat([x, y])[:4],
    "stack": lambda x, y: torch.stack([x, y]).sum(0),
    "add_": lambda x, y: x.clone().add_(y),
    "mul_": lambda x, y: x.detach().clone().mul_(y),
    "addmm": lambda x, y: torch.addmm(x, y, y),
    "lerp": lambda x, y: torch.lerp(x, y, 0.5),
    "outer": lambda x, y: torch.outer(x[0], y[0]),
    "index_select": lambda x, y: torch.index_select(x, 0, y[0].detach().to(torch.int64) * 0),
}
CONVERSIONS = (
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "convert", "reinterpret",
    "redistribute", "shard", "unshard", "invariant_to_replicate",
)  # fmt: skip

# Steps about whose types values say otherwise: spmd_types lets sums through.
DISPUTED = frozenset({"rounded_half", "whole_sum", "div_keyword", "index_select"})
_KINDS = ("R", "I", "V", "P")


@dataclass
class Value:
    """A value of the program in both packages."""

    ours: torch.Tensor
    theirs: torch.Tensor


@dataclass
class Outcome:
    """Steps that both accept or refuse, and those that only one of the two does."""

    steps: int = 0
    accepted: int = 0
    differing: list[str] = field(default_factory=list)
    disputed: list[str] = field(default_factory=list)


def type_of(kind: str, package: Any) -> Any:
    """A type of a package: "S(0)" as its S(0)."""
    return package.S(int(kind[2])) if kind.startswith("S") else getattr(package, kind)


class RandomProgram:
    """One random program, the same on all ranks by its seed."""

    def __init__(self, seed: int, mesh: DeviceMesh, theirs: Any, mode: str) -> None:
        self._random = random.Random(seed)
        self._mesh, self._theirs, self._mode = mesh, theirs, mode
        self._axes = list(mesh.mesh_dim_names or ())
        self.outcome = Outcome()
        self._values = [self._input() for _ in range(4)]

    def run(self, steps: int) -> Outcome:
        """Makes random steps."""
        for _ in range(steps):
            self._step()
        self._backward()
        return self.outcome

    def _input(self) -> Value:
        value = torch.full((4, 4), float(self._random.randint(1, 3)))
        grad = self._random.random() < 0.7
        made = []
        types = {axis: self._random.choice(_KINDS) for axis in self._axes}
        if self._mode == "permissive" and self._random.random() < 0.3:
            types.pop(self._random.choice(self._axes))
        for package in (typed, self._theirs):
            with package.set_current_mesh(self._mesh):
                x = value.clone().requires_grad_(grad)
                made.append(
                    package.assert_type(
                        x, {axis: type_of(kind, package) for axis, kind in types.items()}
                    )
                )
        return Value(*made)

    def _step(self) -> None:
        choice = self._random.random()
        first = self._random.choice(self._values)
        if choice < 0.3:
            name = self._random.choice(list(UNARY))
            self._try(name, lambda _, x: UNARY[name](x), first)
        elif choice < 0.6:
            name = self._random.choice(list(BINARY))
            self._try(
                name, lambda _, *x: BINARY[name](*x), first, self._random.choice(self._values)
            )
        else:
            self._convert(first)

    def _convert(self, x: Value) -> None:
        op, axis = self._random.choice(CONVERSIONS), self._random.choice(self._axes)
        own = typed.type_of(x.ours).get(axis, typed.V)
        kinds = ("R", "I", "V", "P", "S(0)", "S(1)")
        src = repr(own) if self._random.random() < 0.75 else self._random.choice(kinds)
        dst = self._random.choice(kinds)
        is_expert = self._random.random() < 0.5

        def call(package: Any, value: torch.Tensor) -> torch.Tensor:
            given: dict[str, Any] = {}
            if op != "invariant_to_replicate":
                given = {"src": type_of(src, package), "dst": type_of(dst, package)}
            if op in ("convert", "reinterpret"):
                given["expert_mode"] = is_expert
            made: torch.Tensor = getattr(package, op)(value.contiguous(), axis, **given)
            return made

        self._try(f"{op} {src}>{dst} on {axis}", call, x)

    def _backward(self) -> None:
        for x in self._values[-2:]:
            self._try("backward", lambda _, value: value.sum().backward(), x)

    def _try(self, name: str, call: Callable[..., Any], *operands: Value) -> None:
        self.outcome.steps += 1
        ours = self._verdict(typed, call, [each.ours for each in operands])
        theirs = self._verdict(self._theirs, call, [each.theirs for each in operands])
        texts = [self._text(typed, ours), self._text(self._theirs, theirs)]
        if texts[0] != texts[1] and texts[1] != "gaps":
            types = ", ".join(str(typed.type_of(each.ours)) for each in operands)
            text = f"{name} of {types}: ours {texts[0]}, theirs {texts[1]}"
            is_disputed = name in DISPUTED and texts[0] == "refused"
            (self.outcome.disputed if is_disputed else self.outcome.differing).append(text)
            return
        if isinstance(ours, torch.Tensor) and isinstance(theirs, torch.Tensor):
            self.outcome.accepted += 1
            if ours.shape == (4, 4) and ours.dtype == torch.float32:
                self._values.append(Value(ours, theirs))

    def _verdict(self, package: Any, call: Callable[..., Any], operands: list[Any]) -> Any:
        try:
            with package.set_current_mesh(self._mesh), package.typecheck(self._mode):
                return call(package, *operands)
        except AssertionError as error:
            # spmd_types asserts that tensors have no gaps, and sizes before it looks at types.
            return "gaps" if "contiguous" in str(error) else "refused"
        except (RuntimeError, ValueError):
            return "refused"  # by types or arguments, or by PyTorch: one may come before the other

    def _text(self, package: Any, verdict: Any) -> str:
        if not isinstance(verdict, torch.Tensor):
            return str(verdict)
        if package is typed:
            types = {axis: each.letter for axis, each in typed.type_of(verdict).items()}
        else:
            names = {each: name for name, each in self._names().items()}
            types = {
                names[axis]: str(kind.name)[0]
                for axis, kind in self._theirs.get_local_type(verdict).items()
            }
        return f"{sorted(types.items())} {list(verdict.shape)}"

    def _names(self) -> dict[str, Any]:
        with self._theirs.set_current_mesh(self._mesh):
            names: dict[str, Any] = self._theirs.current_mesh_names()
            return names
