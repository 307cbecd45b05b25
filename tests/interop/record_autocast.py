"""Trains small models with DeepSpeed's torch_autocast and writes the runs as recorded cases of kind
zero_train: PYTHONPATH=python PYTHON tests/interop/record_autocast.py OUT.jsonl

The values are small numbers of few bits, so that every order of additions has the same result. With
the word three_ranks behind the file the runs have three ranks, whose means are rounded: they depend
on the order in which gloo adds."""

import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from deepspeed.utils import numa, safe_get_full_fp32_param
from torch import nn

Values = dict[str, Any]

torch.set_num_threads(1)
numa.get_numa_cores = lambda: [[0]]
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]

SOURCE = f"deepspeed {deepspeed.__version__}, torch {torch.__version__.split('+')[0]}, gloo on cpu"
LINEAR = "torch.nn.Linear"
MLP: list[Values] = [
    {"op": "linear", "name": "a", "inp": 6, "out": 5, "bias": True},
    {"op": "relu"},
    {"op": "linear", "name": "b", "inp": 5, "out": 3, "bias": True},
]
TIED: list[Values] = [
    {"op": "linear", "name": "a", "inp": 4, "out": 4, "bias": True},
    {"op": "relu"},
    {"op": "linear", "name": "a", "inp": 4, "out": 4, "bias": True},
]
WORDS: list[Values] = [
    {"op": "embedding", "name": "e", "rows": 5, "out": 4},
    {"op": "linear", "name": "a", "inp": 4, "out": 3, "bias": False},
]


class Model(nn.Module):
    def __init__(self, layers: list[Values]) -> None:
        super().__init__()
        self.calls: list[str | None] = []
        for layer in layers:
            name = layer.get("name")
            self.calls.append(name)
            if name is None or hasattr(self, name):
                continue
            if layer["op"] == "linear":
                part: nn.Module = nn.Linear(layer["inp"], layer["out"], bias=layer["bias"])
            else:
                part = nn.Embedding(layer["rows"], layer["out"])
            setattr(self, name, part)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name in self.calls:
            x = torch.relu(x) if name is None else getattr(self, name)(x)
        return x


def formula(shape: list[int], **data: Any) -> torch.Tensor:
    from simmesh.recording import formula as rule

    return rule.values(shape, data, data.pop("dtype", "float32"))


def init_of(model: nn.Module) -> list[Values]:
    return [
        {
            "param": name,
            "shape": list(parameter.shape),
            "trainable": True,
            "rule": "small",
            "seed": 100 + index,
            "scale": 0.25,
        }
        for index, (name, parameter) in enumerate(model.named_parameters())
    ]


def case_of(name: str, stage: int, autocast: Values, **more: Any) -> Values:
    case: Values = {
        "kind": "zero_train",
        "id": f"autocast/{name}_s{stage}",
        "source": SOURCE,
        "world": more.pop("world", 2),
        "stage": stage,
        "dtype": more.pop("dtype", "float32"),
        "layers": more.pop("layers", MLP),
        "batch": 2,
        "accumulation": more.pop("accumulation", 1),
        "steps": 3,
        "loss": more.pop("loss", "dot"),
        "data_rule": "small",
        "data_seed": 20000,
        "input_factor": [1.0, 1.0, 1.0],
        "poison_step": more.pop("poison_step", None),
        "optimizer": {"type": "SGD", "lr": 0.125},
        "groups": None,
        "clip": more.pop("clip", 0.0),
        "zero": more.pop("zero", {}),
        "torch_autocast": {"enabled": True, **autocast},
    }
    assert not more, more
    case["init"] = init_of(Model(case["layers"]))
    return case


def config_of(case: Values) -> Values:
    config: Values = {
        "train_micro_batch_size_per_gpu": case["batch"],
        "gradient_accumulation_steps": case["accumulation"],
        "gradient_clipping": case["clip"],
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": case["stage"], **case["zero"]},
        "torch_autocast": case["torch_autocast"],
    }
    if case["dtype"] == "bfloat16":
        config["bf16"] = {"enabled": True}
    return config


def batch_of(case: Values, step: int, micro: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    seed = case["data_seed"] + 64 * step + 16 * micro + 2 * rank
    layers = [layer for layer in case["layers"] if layer["op"] != "relu"]
    target = formula([case["batch"], layers[-1]["out"]], rule=case["data_rule"], seed=seed + 1)
    if layers[0]["op"] == "embedding":
        rows = formula([case["batch"]], rule="index", seed=seed, below=layers[0]["rows"],
                       dtype="int64")  # fmt: skip
        return rows, target
    x = formula([case["batch"], layers[0]["inp"]], rule=case["data_rule"], seed=seed)
    if case["poison_step"] == step and rank == 0:
        x.view(-1)[0] = float("inf")
    return x.to(getattr(torch, case["dtype"])), target


def figure(value: float) -> Any:
    value = float(value)
    return value if value - value == 0 else str(value)


def whole(model: nn.Module, stage: int) -> list[torch.Tensor]:
    context = (
        deepspeed.zero.GatheredParameters(list(model.parameters()))
        if stage == 3
        else contextlib.nullcontext()
    )
    with context:
        return [parameter.detach().clone() for parameter in model.parameters()]


def train(case: Values, rank: int) -> Values:
    from simmesh.recording import formula as rule

    model = Model(case["layers"])
    with torch.no_grad():
        for part in case["init"]:
            data = {"rule": part["rule"], "seed": part["seed"], "scale": part["scale"]}
            model.get_parameter(part["param"]).copy_(formula(part["shape"], **data))
    config = config_of(case)
    optimizer = torch.optim.SGD(model.parameters(), lr=case["optimizer"]["lr"])
    engine, optimizer, _, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, model_parameters=model.parameters(), config=config
    )
    steps = []
    for step in range(case["steps"]):
        losses: list[Any] = []
        before = scale_of(engine)
        for micro in range(case["accumulation"]):
            x, target = batch_of(case, step, micro, rank)
            y = engine(x).float()
            loss = (y * target).sum() / case["batch"]
            every: list[Any] = [None] * case["world"]
            dist.all_gather_object(every, figure(loss.detach()))
            losses.append(every)
            engine.backward(loss)
            engine.step()
        norm = engine.get_global_grad_norm()
        parameters = whole(engine.module, case["stage"])
        scales = {"scale_before": before, "scale_after": scale_of(engine)}
        steps.append(
            {
                "loss": losses,
                "grad_norm": None if norm is None else figure(norm),
                "skipped": scale_of(engine) < before,
                **(scales if case["torch_autocast"].get("dtype") == "float16" else {}),
                "params_hash": rule.bits(
                    torch.cat([p.reshape(-1).view(torch.uint8) for p in parameters])
                ),
            }
        )
    final = {}
    masters = [safe_get_full_fp32_param(p) for p in engine.module.parameters()]
    for part, parameter, master in zip(case["init"], whole(engine.module, case["stage"]), masters):
        final[part["param"]] = {
            "hash": rule.bits(parameter),
            "sum": figure(parameter.double().sum()),
            "values": [figure(value) for value in parameter.reshape(-1).tolist()],
        }
        if master is not None and case["dtype"] != "float32":
            final[part["param"]]["master_hash"] = rule.bits(master)
            final[part["param"]]["master_values"] = [
                figure(value) for value in master.reshape(-1).tolist()
            ]
    return {"steps": steps, "params": final}


def scale_of(engine: Any) -> float:
    for owner, name in ((engine, "torch_autocast_z0_gradscaler"),
                        (engine.optimizer, "torch_autocast_gradscaler")):  # fmt: skip
        scaler = getattr(owner, name, None)
        if scaler is not None:
            return float(scaler.get_scale())
    return 1.0


def run(rank: int, port: int, case: Values, out: str) -> None:
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank),
        "LOCAL_RANK": "0", "WORLD_SIZE": str(case["world"]),
    }  # fmt: skip
    deepspeed.init_distributed("gloo", verbose=False)
    try:
        result: Values = train(case, rank)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    if rank == 0:
        Path(out).write_text(json.dumps(result), encoding="utf-8")
    os._exit(0)


def recorded(case: Values, work: Callable[..., None] = run) -> Values:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = Path(f"{sys.argv[1]}.part")
    mp.spawn(work, (port, case, str(out)), nprocs=case["world"])
    expect = json.loads(out.read_text(encoding="utf-8"))
    out.unlink()
    return expect


def cases() -> list[Values]:
    bf16: Values = {"dtype": "bfloat16"}
    gathered = {"stage3_param_persistence_threshold": 0}
    made = [case_of("skipped", 0, {"dtype": "float16"})]
    for stage in range(4):
        zero = gathered if stage == 3 else {}
        made += [
            case_of("mlp", stage, bf16, zero=zero),
            case_of("tied", stage, bf16, layers=TIED),
            case_of("words", stage, bf16, layers=WORDS, zero=zero),
            case_of("accumulation", stage, bf16, accumulation=2),
        ]
    made += [
        case_of("no_dtype", 2, {}),
        case_of("no_modules", 1, {**bf16, "lower_precision_safe_modules": []}),
        case_of("named", 1, {**bf16, "lower_precision_safe_modules": [LINEAR]}, clip=1.0),
        case_of("float32", 1, {"dtype": "fp32"}),
        case_of("narrow_model", 1, bf16, dtype="bfloat16"),
        case_of("narrow_model", 3, bf16, dtype="bfloat16"),
        case_of("buckets", 1, bf16, zero={"reduce_bucket_size": 20}),
        case_of("buckets", 2, bf16, zero={"contiguous_gradients": False, "overlap_comm": True}),
        case_of("buckets", 3, bf16, zero={"reduce_scatter": False, **gathered}),
    ]
    return made


def cases_of_three_ranks() -> list[Values]:
    """Cases for tests/verify/zero/autocast_three_ranks.jsonl."""
    return [
        case_of(
            "three_ranks" + ("_accumulation" if accumulation > 1 else ""),
            stage,
            {"dtype": "bfloat16"},
            world=3,
            accumulation=accumulation,
            zero={"stage3_param_persistence_threshold": 0} if stage == 3 else {},
        )
        for accumulation in (1, 2)
        for stage in (1, 2, 3)
    ]


def main() -> None:
    with Path(sys.argv[1]).open("w", encoding="utf-8") as out:
        for case in cases_of_three_ranks() if sys.argv[2:] == ["three_ranks"] else cases():
            expect = recorded(case)
            if "error" in expect:
                raise SystemExit(f"{case['id']}: {expect['error']}")
            is_narrow = case["torch_autocast"].get("dtype") != "fp32"
            bits = is_narrow and case["clip"] == 0.0
            case["expect"] = expect
            case["compare"] = {
                "params_rtol": 2e-06,
                "loss_rtol": 2e-06,
                "norm_rtol": 2e-06,
                "atol": 1e-06,
                "mode": "bits" if bits else "tolerance",
            }
            out.write(json.dumps(case, separators=(",", ":")) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
