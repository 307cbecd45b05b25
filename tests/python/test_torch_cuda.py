"""Programs that ask for CUDA run on ranks of the CPU under ``device="cuda"``."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import simmesh

RANKS = 2


def on_ranks(program: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
    """Returns what the ranks of a program that asks for CUDA return."""
    options = {"world_size": RANKS, "device": "cuda", "backend": "nccl", **options}
    ran = simmesh.spmd_run(program, *arguments, **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def network(device: Any) -> nn.Sequential:
    """The same network on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)).to(device)


def train(device: Any, is_cuda: bool) -> list[torch.Tensor]:
    """Steps of DDP, with the calls around them that a program for GPUs has."""
    rank = dist.get_rank()
    if is_cuda:
        assert torch.cuda.is_available() and torch.cuda.device_count() == RANKS
        torch.cuda.set_device(rank)
        assert torch.cuda.current_device() == rank
    model = network(device)
    ids = [rank] if is_cuda else None
    ddp = DistributedDataParallel(model, device_ids=ids, output_device=rank if is_cuda else None)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(3):
        batch = torch.randn(4, 8, generator=generator)
        if is_cuda:
            copying = torch.cuda.Stream()
            with torch.cuda.stream(copying):
                batch = batch.pin_memory().to(device, non_blocking=True)
            torch.cuda.current_stream().wait_stream(copying)
            batch.record_stream(torch.cuda.current_stream())
        ddp(batch).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if is_cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
    return [each.detach().cpu() for each in ddp.parameters()]


@pytest.mark.parametrize("named", ["cuda", "cuda:1", torch.device("cuda"), 1])
def test_a_training_has_the_bits_of_the_cpu(named: Any) -> None:
    """Would fail if a name of CUDA led elsewhere, or a call around the steps changed a value."""
    expected = simmesh.spmd_run(train, "cpu", False, world_size=RANKS).results
    found = on_ranks(train, named, True)
    for one, other in zip(expected, found, strict=True):
        assert all(map(torch.equal, one, other))


def copies() -> None:
    """Moves tensors between host and device."""
    host = torch.zeros(3)
    device = host.to("cuda")
    device += 1
    kept = device.cpu()
    device += 1
    assert host.sum() == 0 and kept.sum() == 3 and device.sum() == 6
    assert device.cuda() is device.to("cuda") is device.to(device.device) is device
    assert device.to(kept).data_ptr() != device.data_ptr()
    assert host.cpu() is host and host.to("cpu") is host
    made = torch.ones(3, device="cuda")
    product = (made * device).view(3, 1)
    assert product.cuda() is product and made.to(0) is made
    assert made.get_device() == 0 and host.get_device() == -1
    assert made.to(1).data_ptr() != made.data_ptr() and made.to("cuda:1").get_device() == 1
    pinned = host.pin_memory()
    assert pinned.is_pinned() and not host.is_pinned() and pinned.data_ptr() != host.data_ptr()
    assert torch.empty(2, pin_memory=True).is_pinned()
    module = nn.Linear(2, 2).cuda()
    before = [each.data_ptr() for each in module.parameters()]
    assert before == [each.data_ptr() for each in module.cuda().parameters()]
    state = {name: each.cpu() for name, each in module.state_dict().items()}
    with torch.no_grad():
        module.weight.zero_()
    assert state["weight"].abs().sum() > 0


def test_moves_copy_where_cuda_copies() -> None:
    """Would fail if a program that keeps ``tensor.cpu()`` saw later steps in it."""
    on_ranks(copies)


def defaults() -> None:
    """Makes tensors in the ways in which programs choose a device for all of them."""
    with torch.device("cuda"):
        assert torch.zeros(2).get_device() == 0
    torch.set_default_device("cuda:1")
    assert torch.zeros(2).get_device() == 1
    torch.set_default_device(None)
    with torch.cuda.device(1):
        assert torch.zeros(2, device="cuda").get_device() == torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    assert torch.ones(2).type("torch.cuda.DoubleTensor").dtype is torch.float64
    x = torch.ones(2, device="cuda", requires_grad=True)
    for reentrant in (True, False):
        checkpoint(lambda t: t * torch.full((2,), 2.0, device="cuda"), x, use_reentrant=reentrant
                   ).sum().backward()  # fmt: skip
    assert x.grad is not None and x.grad.sum() == 8


def test_devices_of_contexts_and_of_recomputed_parts() -> None:
    """Would fail if a part that the backward pass computes again didn't know the names."""
    on_ranks(defaults)


def mesh_and_groups() -> list[Any]:
    """FSDP2 on a mesh of CUDA, objects, and a barrier that names devices."""
    mesh = init_device_mesh("cuda", (RANKS,), mesh_dim_names=("dp",))
    model = network("cuda")
    fully_shard(model, mesh=mesh)
    model(torch.ones(2, 8, device="cuda")).sum().backward()
    found: list[Any] = [None] * RANKS
    dist.all_gather_object(found, dist.get_rank())
    dist.barrier(device_ids=[dist.get_rank()])
    assert dist.is_nccl_available() and dist.get_backend() == "nccl"
    gradients = [each.grad.full_tensor() for each in model.parameters() if each.grad is not None]
    return [found, *gradients]


def test_meshes_of_cuda() -> None:
    """Would fail if a mesh or a group of CUDA weren't that of the ranks."""
    first, second = on_ranks(mesh_and_groups)
    assert first[0] == second[0] == [0, 1]
    assert len(first) == 5 and all(map(torch.equal, first[1:], second[1:]))


def mixed(dtype: torch.dtype | None) -> None:
    """Looks at the dtypes that autocast for CUDA gives."""
    expected = dtype or torch.float16
    model = network("cuda")
    x = torch.randn(4, 8, device="cuda")
    options = {} if dtype is None else {"dtype": dtype}
    with torch.autocast("cuda", **options):
        assert torch.is_autocast_enabled("cuda")
        y = model(x)
        assert y.dtype is expected
        for wide in (
            y.softmax(-1), y.log_softmax(-1), nn.functional.layer_norm(y, (8,)), y.sum(), y.norm(),
            y.sum(-1), y.cumsum(0), y.exp(), y.pow(2), nn.functional.mse_loss(y, y), y.norm(dim=0),
            nn.functional.cross_entropy(y, torch.zeros(4, dtype=torch.long, device="cuda")),
        ):  # fmt: skip
            assert wide.dtype is torch.float32, wide.dtype
        for same in (y + y, y.relu(), y.mean(), nn.functional.gelu(y), y.max()):
            assert same.dtype is expected, same.dtype
        assert torch.addcmul(y, y, x).dtype is torch.float32
        assert y.softmax(-1, dtype=torch.float64).dtype is torch.float64
        assert (x @ x.t()).dtype is expected and torch.addmv(x[0], x.t(), x[:, 0]).dtype is expected
        with torch.autocast("cuda", enabled=False):
            assert (x @ x.t()).dtype is torch.float32 and y.softmax(-1).dtype is expected
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            nn.functional.binary_cross_entropy(y.sigmoid(), y.sigmoid().detach())
    assert y.softmax(-1).dtype is expected and (x @ x.t()).dtype is torch.float32
    y.sum().backward()
    assert model[0].weight.grad is not None and model[0].weight.grad.dtype is torch.float32


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_autocast_casts_what_cudas_casts(dtype: torch.dtype | None) -> None:
    """Would fail if the lists of the CPU's autocast were taken, or stayed after the run."""

    def on_cpu() -> list[torch.dtype]:
        y = torch.ones(4, 4, dtype=torch.bfloat16)
        with torch.autocast("cpu"):
            found = [y.softmax(-1), y.sum(), nn.functional.mse_loss(y, y), y.float() @ y.float()]
        return [each.dtype for each in found]

    before = on_cpu()
    on_ranks(mixed, dtype)
    assert on_cpu() == before


def scaled(scale: float) -> list[float]:
    """A step whose gradients overflow where the scale is large."""
    model = network("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=scale)
    assert scaler.is_enabled() and torch.cuda.amp.GradScaler().is_enabled()
    before = model[0].weight.detach().clone()
    with torch.autocast("cuda"):
        loss = model(torch.ones(2, 8, device="cuda")).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return [scaler.get_scale(), float(torch.equal(before, model[0].weight))]


def test_gradients_are_scaled() -> None:
    """Would fail if a scaler were disabled, as torch does where it finds no GPU."""
    assert on_ranks(scaled, 2.0**10)[0] == [2.0**10, 0.0]
    assert on_ranks(scaled, 2.0**40)[0] == [2.0**39, 1.0]


def times_and_figures() -> list[Any]:
    """Asks for times, memory, properties and random numbers."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0 and end.query()
    stream = torch.cuda.Stream()
    with stream:
        assert torch.cuda.current_stream() == stream
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    stream.record_event().wait(stream)
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_reserved() == 0
    assert torch.cuda.memory_stats()["active_bytes.all.peak"] == 0
    free, total = torch.cuda.mem_get_info()
    assert free == total == torch.cuda.get_device_properties(0).total_memory > 0
    torch.cuda.reset_peak_memory_stats()
    state = torch.cuda.get_rng_state()
    one = torch.randn(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(one, torch.randn(2, device="cuda"))
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert isinstance(generator, torch.Generator)
    torch.cuda.manual_seed_all(5)
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == RANKS
    return [torch.randn(2, device="cuda", generator=generator), torch.randn(2, device="cuda")]


def test_times_memory_and_random_numbers() -> None:
    """Would fail if a habit of programs for GPUs ended them, or a seed had no effect."""
    first, second = on_ranks(times_and_figures)
    assert all(map(torch.equal, first, second))
    assert not torch.cuda.is_available() or torch.cuda.device_count() != RANKS


def files(folder: str) -> None:
    """Saves and loads in the ways that name devices."""
    path = os.path.join(folder, f"{dist.get_rank()}.pt")
    torch.save({"weight": torch.ones(2, device="cuda")}, path)
    device = torch.device("cuda", dist.get_rank())
    for place in ("cuda", "cuda:1", device, {"cuda:0": "cuda:1"}, "cpu", None):
        assert torch.load(path, map_location=place)["weight"].sum() == 2
    assert torch.load(path, map_location=lambda storage, _: storage.cuda(0))["weight"].sum() == 2
    for pinned in torch.utils.data.DataLoader(torch.arange(8.0), batch_size=4, pin_memory=True):
        assert pinned.is_pinned()


def test_files_and_loaders(tmp_path: Path) -> None:
    """Would fail if a place in ``map_location`` were looked for on the machine."""
    on_ranks(files, str(tmp_path))


def call(name: str, *arguments: Any) -> None:
    """Calls a function of torch by its name, as a rank finds it."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    found(*arguments)


REFUSED: list[tuple[Any, ...]] = [
    ("torch.cuda.CUDAGraph",),
    ("torch.cuda.make_graphed_callables", (), ()),
    ("torch.cuda.utilization",),
    ("torch.cuda.MemPool",),
    ("torch.cuda.cudart",),
    ("torch.cuda.memory_snapshot",),
    ("torch.nn.DataParallel", nn.Linear(1, 1)),
    ("torch.set_default_tensor_type", "torch.cuda.FloatTensor"),
]


@pytest.mark.parametrize("words", REFUSED)
def test_functions_that_need_a_gpu_are_refused_by_name(words: tuple[Any, ...]) -> None:
    """Would fail if such a function did nothing, or ended the process."""
    ran = simmesh.spmd_run(call, *words, world_size=RANKS, device="cuda")
    assert f"{words[0]}" in str(ran.outcome.exception)
    assert "expected what a CPU can do in place of a GPU" in str(ran.outcome.exception)


@pytest.mark.parametrize("words", [("torch.cuda.set_device", 2), ("torch.Tensor.cuda",
                                   torch.ones(1), "cuda:7")])  # fmt: skip
def test_devices_that_the_node_does_not_have_are_errors(words: tuple[Any, ...]) -> None:
    """Would fail if a program that needs more devices passed."""
    ran = simmesh.spmd_run(call, *words, world_size=RANKS, device="cuda")
    assert "invalid device ordinal: expected 0 to 1" in str(ran.outcome.exception)


def test_without_the_option_cuda_is_what_the_machine_has() -> None:
    """Would fail if a run for the CPU found devices, or a run for CUDA left them behind."""
    on_ranks(lambda: None)
    has_cuda = torch.cuda.is_available()
    ran = simmesh.spmd_run(torch.cuda.is_available, world_size=RANKS)
    assert ran.results == [has_cuda] * RANKS
    assert torch.device("cuda", 1).type == "cuda"
    with pytest.raises(ValueError, match="device: expected 'cpu' or 'cuda', got 'tpu'"):
        simmesh.spmd_run(lambda: None, device="tpu")


def test_a_race_is_found_under_cudas_names() -> None:
    """Would fail if the streams of CUDA hid an access to a buffer under way."""

    def program() -> torch.Tensor:
        gradient = torch.full((2,), float(dist.get_rank()), device="cuda")
        work = dist.all_reduce(gradient, async_op=True)
        gradient *= 0.5
        work.wait()
        return gradient

    options = {"world_size": RANKS, "device": "cuda"}
    with pytest.raises(RuntimeError, match=r"aten.mul_ .* writes a tensor that allreduce at"):
        simmesh.spmd(**options)(program)()
    with pytest.raises(simmesh.SpmdFailure, match=r"device='cuda'|expected equal bits"):
        simmesh.spmd(check_accesses=False, **options)(program)()


def flexible_attention() -> list[float]:
    """The greatest differences of flex attention and its gradients from PyTorch's attention."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch.manual_seed(0)
    operands = [torch.randn(1, 2, 128, 16, device="cuda", requires_grad=True) for _ in range(3)]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128, device="cuda")
    results = []
    for attend, options in (
        (flex_attention, {"block_mask": mask}),
        (nn.functional.scaled_dot_product_attention, {"is_causal": True}),
    ):
        result = attend(*operands, **options)
        results.append([result.detach(), *torch.autograd.grad(result.square().sum(), operands)])
    return [(one - other).abs().max().item() for one, other in zip(*results, strict=True)]


def test_flex_attention_has_gradients() -> None:
    """Would fail if it were refused, as PyTorch refuses its gradients on CPUs."""
    # Rows of 128 numbers about 1 are added up in two orders: some 128 roundings of 2^-24.
    assert all(each < 2.0**-15 for each in on_ranks(flexible_attention, timeout=300)[0])


def test_flex_attention_has_the_bits_of_one_device() -> None:
    """Would fail if its operators were torch's own, or it were refused as it takes functions."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    whole = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(1))

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = DistributedDataParallel(nn.Linear(8, 24).cuda(), process_group=mesh.get_group())
        rows = whole[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), 4)]
        heads = model(rows).view(len(rows), 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 6, 6, device="cuda")
        result = flex_attention(*heads, score_mod=lambda s, b, h, i, j: s + i - j, block_mask=mask)
        assert isinstance(result, torch.Tensor)
        result.square().mean().backward()
        return result

    layouts = [{"dp": 2}, {"dp": 4}]
    found = simmesh.same_as_one_device(program, layouts=layouts, device="cuda")
    assert found.equal, found.text


def test_other_operators_that_take_functions_are_refused() -> None:
    """Would fail if what they call were computed inexactly, or refused without their name."""

    def program() -> None:
        x = torch.ones(2, 2)
        torch.ops.higher_order.out_dtype(torch.ops.aten.mul.Tensor, torch.float32, x, x)

    error = simmesh.spmd_run(program, world_size=1, local="exact").outcome.exception
    assert "out_dtype at test_torch_cuda.py:" in str(error), error


def threads_and_workers(local: str) -> list[float]:
    """Computes on a thread of its own, and loads batches by processes."""
    torch.manual_seed(0)
    model = nn.Linear(4, 4).cuda()
    x = torch.ones(2, 4, device="cuda") * dist.get_rank()
    found: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: found.append(model(x.to("cuda")).sum().to("cuda")))
    thread.start()
    thread.join()
    model(x).sum().backward()
    dist.all_reduce(model.weight.grad)
    rows = torch.utils.data.TensorDataset(torch.arange(8.0))
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(
            rows, batch_size=4, num_workers=1, multiprocessing_context=method, pin_memory=True
        )
        found += [batch.cuda().sum() for (batch,) in loader]
    return [each.item() for each in found[1:]]


@pytest.mark.parametrize("local", ["plain", "exact"])
def test_threads_and_workers_know_the_names(local: str) -> None:
    """Would fail if a thread or a loader of a rank, or exact operators, lost CUDA's names."""
    found = on_ranks(threads_and_workers, local, local=local, timeout=300)
    assert found == [[6.0, 22.0, 6.0, 22.0]] * RANKS


def test_the_command_takes_the_device(tmp_path: Path) -> None:
    """Would fail if the command or the line that it reproduces a failure by lost the option."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "dist.init_process_group('nccl')\n"
        "x = torch.ones(2).cuda()\n"
        "dist.all_reduce(x)\n"
        "assert x.sum() == 4, torch.cuda.utilization()\n"
        "if torch.cuda.current_device() == 1: torch.cuda.utilization()\n"
    )
    words = [sys.executable, "-m", "simmesh.torch", "--ranks", "2", "--device", "cuda", str(script)]
    ran = subprocess.run(words, text=True, capture_output=True, check=False)
    assert ran.returncode == 1
    assert "torch.cuda.utilization: expected what a CPU can do" in ran.stderr
    assert "--device cuda" in ran.stderr.splitlines()[-1]


def test_a_script_that_spawns_its_ranks_sees_the_devices(tmp_path: Path) -> None:
    """Would fail if it spawned none, since the machine has no device."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def main(rank, count):\n"
        "    torch.cuda.set_device(rank)\n"
        "    dist.init_process_group('nccl', 'tcp://localhost:1', rank=rank, world_size=count)\n"
        "    x = torch.ones(1, device=rank)\n"
        "    dist.all_reduce(x)\n"
        "    assert torch.cuda.device_count() == 3\n"
        "    print('sum', x.item())\n"
        "if __name__ == '__main__':\n"
        "    assert torch.cuda.is_available() and torch.accelerator.is_available()\n"
        "    count = torch.cuda.device_count()\n"
        "    mp.spawn(main, args=(count,), nprocs=count)\n"
        "    mp.spawn(main, args=(2,), nprocs=2)\n"
    )
    words = [sys.executable, "-m", "simmesh.torch", "--ranks", "3", "--device", "cuda", str(script)]
    ran = subprocess.run(words, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("sum 3.0") == 3 and ran.stdout.count("sum 2.0") == 2


def test_a_script_that_spawns_no_rank_is_told_of_the_option(tmp_path: Path) -> None:
    """Would fail if a script without a GPU ended in silence, or in a traceback."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch, torch.multiprocessing as mp\n"
        "mp.spawn(print, nprocs=torch.cuda.device_count())\n"
    )
    words = [sys.executable, "-m", "simmesh.torch", str(script)]
    ran = subprocess.run(words, text=True, capture_output=True, check=False)
    assert ran.returncode == 2
    assert "nprocs: expected at least 1, got 0; with --device cuda" in ran.stderr
