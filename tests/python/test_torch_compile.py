"""Functions that ranks compile run as they are written, and count as compiled."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
import torch.utils.checkpoint

import simmesh


def compile_in_all_ways() -> list[float]:
    """Compiles functions and modules as programs do, in graphs that nothing may break."""
    x = torch.ones(2)

    @torch.compile(fullgraph=True)
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return x * (dist.get_rank() + torch.compiler.is_compiling())

    class Layer(torch.nn.Module):
        @torch.compile(fullgraph=True, dynamic=True)
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    module, layer = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    wrapped = torch.compile(module, fullgraph=True, mode="max-autotune")
    assert list(wrapped.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert torch.equal(wrapped(x), module(x))
    wrapped(x).sum().backward()
    before = layer(x)
    layer.compile(fullgraph=True)
    assert torch.equal(layer(x), before)
    nested = torch.compile(lambda x: decorated(x) + 1, fullgraph=True)
    again = torch.ones(2, requires_grad=True)
    part = torch.compile(lambda x: x * 3, fullgraph=True)
    torch.utils.checkpoint.checkpoint(part, again, use_reentrant=False).sum().backward()
    assert again.grad is not None
    branch = torch.compile(
        lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), fullgraph=True
    )
    gradient = torch.compile(torch.func.grad(lambda x: (x * x).sum()), fullgraph=True)
    with torch.compiler.set_stance("fail_on_recompile"):
        quiet = decorated(x)
    with pytest.raises(ZeroDivisionError):
        torch.compile(lambda x: 1 / 0, fullgraph=True)(x)
    results = [decorated(x), Layer()(x), nested(x), again.grad, branch(x), gradient(x), quiet]
    return [float(each[0]) for each in results]


def test_whole_graphs_count_as_compiled() -> None:
    """Would fail if ``fullgraph=True`` raised because nothing was compiled, or after a run."""
    expected = [[rank, 2.0, rank + 1, 3.0, 2.0, 2.0, rank] for rank in range(4)]
    assert simmesh.spmd_run(compile_in_all_ways).results == expected
    assert torch.compile(torch.sin, backend="eager", fullgraph=True)(torch.zeros(1)) == 0


def test_the_compiler_that_a_rank_imports_itself_compiles_nothing() -> None:
    """Would fail if only ``torch.compile`` kept a rank from compiling."""
    code = (
        "import simmesh, torch.distributed as dist\n"
        "def program():\n"
        "    import torch, torch._dynamo\n"
        "    made = []\n"
        "    backend = lambda graph, inputs: made.append(1) or graph.forward\n"
        "    optimize = torch._dynamo.optimize(backend, nopython=True)\n"
        "    double = optimize(lambda x: x * dist.get_rank())\n"
        "    return [double(torch.ones(1)).item(), len(made)]\n"
        "assert simmesh.spmd_run(program, world_size=2).results == [[0, 0], [1, 0]]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
