"""Checkpoints of DeepSpeed in simmesh: the weights of zero_to_fp32, the state of ds_to_universal.

usage: deepspeed_checks.py SIMMESH WORK      trains, saves and compares
       deepspeed_checks.py --record FOLDER   writes the files of tests/cases/checkpoint/deepspeed
"""

import argparse
import contextlib
import inspect
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

os.environ["DS_ACCELERATOR"] = "cpu"
# Old releases read files of their own without allowing their classes.
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"

import deepspeed
import deepspeed.comm.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from deepspeed.accelerator import get_accelerator
from deepspeed.utils import numa
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
from torch import nn

from peer import Checks, Tensors, bits, expect, expect_same

torch.set_num_threads(1)
# Old releases ask the program numactl, which few machines have.
numa.get_numa_cores = lambda: [[0]]
# Its all-reduce through shared memory would be compiled first; gloo does without it. In old
# releases `deepspeed.comm.torch` is PyTorch itself.
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]
STEPS = 3
Values = dict[str, Any]


def config(stage: int, precision: str = "fp32", **zero: Any) -> Values:
    result: Values = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": stage, **zero},
        "zero_allow_untested_optimizer": True,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
    }
    if precision != "fp32":
        result[precision] = {"enabled": True}
    if precision == "fp16":
        result["fp16"]["initial_scale_power"] = 8
    return result


def without_optimizer(values: Values) -> Values:
    return {key: value for key, value in values.items() if key != "optimizer"}


WARMUP = {"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 10}}}

# name: ranks, DeepSpeed's configuration, what is special
RUNS = {
    "z1_fp32_w2_groups": (2, config(1), {"groups": True}),
    "z1_bf16_w2": (2, {**config(1, "bf16"), **WARMUP}, {}),
    "z1_bf16_w2_fp32grads": (
        2,
        {**config(1, "bf16"), "data_types": {"grad_accum_dtype": "fp32"}},
        {},
    ),
    "z2_fp32_w3_frozen_tied": (3, config(2), {"frozen": True, "tied": True}),
    "z2_bf16_w3_round_robin": (3, config(2, "bf16", round_robin_gradients=True), {"frozen": True}),
    "z2_fp16_w2": (2, config(2, "fp16"), {}),
    "z2_elastic_w2": (2, config(2, elastic_checkpoint=True), {}),
    "z2_sgd_w2": (
        2,
        without_optimizer(config(2)),
        {"sgd": True, "client_state": {"epoch": 2, "note": "hello"}},
    ),
    "z3_fp32_w1": (1, config(3), {}),
    "z3_fp32_w2_groups": (2, config(3, sub_group_size=10), {"groups": True}),
    "z3_bf16_w3_frozen_tied": (
        3,
        {**config(3, "bf16", sub_group_size=16), **WARMUP},
        {"frozen": True, "tied": True},
    ),
    "z3_fp16_w2": (2, config(3, "fp16"), {}),
    "z0_bf16_w1": (1, config(0, "bf16"), {}),
}
# ds_to_universal takes no checkpoint without ZeRO, with a list of states, or without Adam's. With
# round-robin gradients it mixes parameters up: what it writes doesn't round to the model's weights.
NOT_UNIVERSAL = ["z0_bf16_w1", "z2_elastic_w2", "z2_sgd_w2", "z2_bf16_w3_round_robin"]
# Releases before 0.19 fail when they save the first and when ds_to_universal reads the second.
OLD = deepspeed.__version__.startswith(("0.14.", "0.16."))
CANT_SAVE = ["z2_elastic_w2"] if OLD else []
if OLD:
    NOT_UNIVERSAL.append("z3_fp32_w2_groups")
RECORDED_UNIVERSAL = ["z1_fp32_w2_groups", "z2_fp16_w2", "z3_bf16_w3_frozen_tied"]


class Net(nn.Module):
    """Parameters of uneven sizes, buffers, and, if asked for, a frozen and a tied parameter."""

    def __init__(self, special: Values) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 3)
        self.norm = nn.LayerNorm(3)
        self.body = nn.Linear(3, 5)
        self.out = nn.Linear(5, 3, bias=False)
        self.head = nn.Linear(3, 7, bias=False)
        self.register_buffer("scale", torch.tensor([1.5, 0.25]))
        self.register_buffer("count", torch.tensor(3))
        if special.get("tied"):
            self.head.weight = self.embed.weight
        if special.get("frozen"):
            self.body.weight.requires_grad_(False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.out(torch.tanh(self.body(self.norm(self.embed(ids)))))
        return nn.functional.cross_entropy(self.head(x).float(), ids.flip(0))


def train(rank: int, ranks: int, port: int, folder: str, values: Values, special: Values) -> None:
    os.environ.update(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(ranks),
    )
    deepspeed.init_distributed("gloo", verbose=False)
    torch.manual_seed(5)
    net = Net(special)
    trained = [parameter for parameter in net.parameters() if parameter.requires_grad]
    groups = trained
    if special.get("groups"):
        groups = [
            {"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1, "lr": 0.01},
            {"params": [p for p in trained if p.dim() == 1], "weight_decay": 0.0, "lr": 0.005},
        ]
    how = {"model_parameters": groups}
    if special.get("sgd"):
        how = {"optimizer": torch.optim.SGD(groups, lr=0.1, momentum=0.9)}
    engine, *_ = deepspeed.initialize(model=net, config=values, **how)
    generator = torch.Generator().manual_seed(11 + rank)
    for _ in range(STEPS):
        loss = engine(torch.randint(0, 7, (4,), generator=generator))
        engine.backward(loss)
        engine.step()
    engine.save_checkpoint(folder, client_state=special.get("client_state", {}))
    dist.barrier()
    dist.destroy_process_group()


def save(folder: str, name: str) -> None:
    ranks, values, special = RUNS[name]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Forked ranks don't import everything again.
    mp.start_processes(
        train, (ranks, port, folder, values, special), nprocs=ranks, start_method="fork"
    )


def make_universal(folder: str, target: str) -> None:
    """Writes what DeepSpeed's ds_to_universal makes of a saved folder."""
    from deepspeed.checkpoint import ds_to_universal

    tag = f"global_step{STEPS}"
    with contextlib.redirect_stdout(None):
        ds_to_universal.main(
            argparse.Namespace(
                input_folder=os.path.join(folder, tag),
                output_folder=os.path.join(target, tag + "_universal"),
                num_extract_workers=1,
                num_merge_workers=1,
                keep_temp_folder=False,
                strict=True,
                inject_missing_state=True,
            )
        )


def named_groups(folder: str) -> tuple[Values, list[Values]]:
    """Returns the model's states, and of each rank the flat groups that DeepSpeed wrote."""
    tag = os.path.join(folder, f"global_step{STEPS}")
    model = sorted(file for file in os.listdir(tag) if file.endswith("model_states.pt"))
    optimizer = sorted(file for file in os.listdir(tag) if file.endswith("optim_states.pt"))

    def read(file: str) -> Values:
        return torch.load(os.path.join(tag, file), weights_only=False)

    return read(model[0]), [read(file)["optimizer_state_dict"] for file in optimizer]


def expected_state(folder: str) -> Tensors:
    """The optimiser's tensors by our names, put together with DeepSpeed's own consolidation: the
    flat tensors of a state stand in for those of the masters.
    """
    from deepspeed.utils import zero_to_fp32

    model, ranks = named_groups(folder)
    if not ranks:
        return {}
    stage = int(ranks[0].get("zero_stage", 1))
    bases = [
        rank["optimizer_state_dict" if stage == 3 else "base_optimizer_state"] for rank in ranks
    ]
    groups = [
        base if isinstance(base, list) else [base["state"][i] for i in sorted(base["state"])]
        for base in bases
    ]
    keys = [
        key
        for key, value in groups[0][0].items()
        if isinstance(value, torch.Tensor) and value.dim() == 1
    ]
    state = zero_to_fp32.zero_model_state(
        buffers={},
        param_shapes=model["param_shapes"],
        shared_params=[],
        ds_version="",
        frozen_param_shapes=None,
        frozen_param_fragments=None,
    )
    expected: Tensors = {}
    for key in keys:
        flat = [[group[key] for group in rank] for rank in groups]
        came: Tensors = {}
        if stage == 3:
            if not hasattr(zero_to_fp32, "GatheredTensor"):
                # Old releases put the groups of a rank together first.
                flat = [torch.cat(groups_of_rank) for groups_of_rank in flat]
            zero_to_fp32._zero3_merge_trainable_params(came, len(ranks), flat, [state])
        else:
            merge = zero_to_fp32._zero2_merge_trainable_params
            # Releases before 0.19.8 don't align parameters.
            paddings = [ranks[0].get("param_alignment_paddings")]
            paddings = paddings[: len(inspect.signature(merge).parameters) - 4]
            merge(came, len(ranks), flat, [state], *paddings)
        expected.update(
            {f"optim.{name}.{key}": tensor.contiguous().clone() for name, tensor in came.items()}
        )
    return expected


def expected_weights(folder: str) -> Tensors:
    """Weights and buffers by the model's names."""
    model, ranks = named_groups(folder)
    if not ranks:
        return dict(model["module"])
    with contextlib.redirect_stdout(sys.stderr), written_stage(folder):
        came = get_fp32_state_dict_from_zero_checkpoint(folder)
    # Releases before 0.19.8 widen buffers to float32.
    came.update({name: model["module"][name] for name in model["buffer_names"]})
    return {name: tensor.contiguous().clone() for name, tensor in came.items()}


@contextlib.contextmanager
def written_stage(folder: str) -> Iterator[None]:
    """BF16_Optimizer writes no stage, without which zero_to_fp32 stops. Its form is stage 1's."""
    from deepspeed.utils import zero_to_fp32

    load = torch.load

    def load_with_stage(*arguments: Any, **options: Any) -> Values:
        read = load(*arguments, **options)
        if isinstance(read.get("optimizer_state_dict"), dict):
            read["optimizer_state_dict"].setdefault("zero_stage", 1)
        return read

    zero_to_fp32.torch.load = load_with_stage
    try:
        yield
    finally:
        zero_to_fp32.torch.load = load


def expected_values(folder: str, state: Tensors) -> Values:
    """The values beside the tensors by our names."""
    model, ranks = named_groups(folder)
    keys = ("global_steps", "global_samples", "skipped_steps", "ds_version", "epoch", "note")
    values = {key: model[key] for key in keys if key in model}
    # Releases before 0.19.8 write a set of names.
    if "sparse_tensor_module_names" in model:
        values["sparse_tensor_module_names"] = sorted(model["sparse_tensor_module_names"])
    if model["lr_scheduler"]:
        values["lr_scheduler"] = model["lr_scheduler"]["last_batch_iteration"]
    if not ranks:
        return values
    steps = model["global_steps"] - model["skipped_steps"]
    values.update({key.rsplit(".", 1)[0] + ".step": steps for key in state})
    base = ranks[0].get("base_optimizer_state", ranks[0].get("optimizer_state_dict"))
    if isinstance(base, dict):
        values["optim.lr"] = [group["lr"] for group in base["param_groups"]]
    scaler = vars(ranks[0]["loss_scaler"]) if "loss_scaler" in ranks[0] else {}
    if scaler.get("dynamic"):
        values["loss_scaler"] = [
            scaler["cur_scale"],
            scaler["cur_hysteresis"],
            scaler["cur_iter"],
            scaler["last_overflow_iter"],
            model["skipped_steps"],
        ]
    return values


def described(tensors: Tensors) -> list[Values]:
    return [
        {
            "name": name,
            "dtype": str(tensor.dtype)[6:],
            "shape": list(tensor.shape),
            "hash": fnv(bits(tensor)),
        }
        for name, tensor in tensors.items()
    ]


def record(target: str) -> None:
    for name in RUNS:
        folder = os.path.join(target, name)
        shutil.rmtree(folder, ignore_errors=True)
        save(folder, name)
        for file in ("zero_to_fp32.py", "zero_to_torch.py"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, file))
    for name in RECORDED_UNIVERSAL:
        universal = os.path.join(target + "_universal", name)
        shutil.rmtree(universal, ignore_errors=True)
        make_universal(os.path.join(target, name), universal)
    write_cases(target)


def write_cases(target: str) -> None:
    """Writes what the saved folders hold, as cases of the kind deepspeed_checkpoint."""
    with open(os.path.join(os.path.dirname(target), "deepspeed.jsonl"), "w") as file:
        for name in RUNS:
            folder = os.path.join(target, name)
            state = expected_state(folder)
            case = {
                "kind": "deepspeed_checkpoint",
                "id": name,
                "source": f"deepspeed {deepspeed.__version__}",
                "dir": f"{os.path.basename(target)}/{name}",
                "ranks": RUNS[name][0],
                "weights": described(expected_weights(folder)),
                "state": described(state),
                "values": expected_values(folder, state),
            }
            file.write(json.dumps(case, separators=(",", ":")) + "\n")


def fnv(data: Iterable[int]) -> str:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def compare(simmesh: str, work: str) -> None:
    from safetensors.torch import load_file

    checks = Checks(simmesh, work, "deepspeed " + deepspeed.__version__)

    def one(name: str) -> None:
        folder = checks.path(name)
        save(folder, name)
        checks.checkpoint("verify", folder)
        ours = checks.convert(folder, name + ".ours")
        checks.checkpoint("diff", folder, ours)
        single = checks.convert(folder, name + ".all", "--format", "safetensors")
        came = load_file(os.path.join(single, "model-00001-of-00001.safetensors"))
        state = expected_state(folder)
        expect_same(state, {key: value for key, value in came.items() if key.startswith("optim.")})
        weights = expected_weights(folder)
        # As zero_to_fp32 does, and without the optimiser.
        alone = checks.convert(folder, name + ".weights", "--format", "safetensors", "--weights")
        expect_same(weights, load_file(os.path.join(alone, "model-00001-of-00001.safetensors")))
        values = {entry["name"]: entry["value"] for entry in checks.inspect(folder)["objects"]}
        expect(values == expected_values(folder, state), f"{values}")
        if name not in NOT_UNIVERSAL:
            universal = checks.path(name + ".universal")
            make_universal(folder, universal)
            checks.checkpoint("verify", universal)
            checks.checkpoint("diff", folder, universal)

    has_fp16 = get_accelerator().is_fp16_supported()
    for name, (_, values, _) in RUNS.items():
        if "fp16" in values and not has_fp16:
            checks.skip(name, "DeepSpeed has no fp16 on this processor")
        elif name in CANT_SAVE:
            checks.skip(name, "this release fails when it saves")
        else:
            checks.run(name, partial(one, name))


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        record(sys.argv[2])
    else:
        compare(*sys.argv[1:])
