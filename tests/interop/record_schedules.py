"""Writes learning rates over 50 steps of the classes of DeepSpeed and torch.optim.lr_scheduler, as
JSON lines: PYTHON tests/interop/record_schedules.py deepspeed|torch OUT.jsonl

A line has the section scheduler, the rates of both groups of an Adam before the first step and
after each, and beta1 where the schedule sets it."""

import importlib
import json
import logging
import sys
import warnings
from typing import Any

import torch

STEPS = 50
INITIAL = (0.01, 0.004)

OF_DEEPSPEED: list[tuple[str, dict[str, Any]]] = [
    ("WarmupLR", {"warmup_max_lr": 0.003, "warmup_num_steps": 20}),
    ("WarmupLR", {"warmup_min_lr": [0.001, 0.0005], "warmup_num_steps": 30,
                  "warmup_type": "linear"}),
    ("WarmupDecayLR", {"total_num_steps": 45, "warmup_num_steps": 10}),
    ("WarmupDecayLR", {"total_num_steps": 60, "warmup_min_lr": 0.02, "warmup_max_lr": 0.1,
                       "warmup_num_steps": 7, "warmup_type": "linear"}),
    ("WarmupCosineLR", {"total_num_steps": 45, "warmup_num_steps": 10}),
    ("WarmupCosineLR", {"total_num_steps": 40, "warmup_min_ratio": 0.1, "warmup_num_steps": 8,
                        "cos_min_ratio": 0.05, "warmup_type": "linear"}),
    ("OneCycle", {"cycle_min_lr": 0.001, "cycle_max_lr": 0.01, "decay_lr_rate": 0.5,
                  "cycle_first_step_size": 13, "decay_step_size": 2, "decay_mom_rate": 0.25}),
    ("OneCycle", {"cycle_min_lr": [0.001, 0.002], "cycle_max_lr": [0.01, 0.03],
                  "cycle_first_step_size": 21, "cycle_second_step_size": 17,
                  "cycle_first_stair_count": 4, "cycle_second_stair_count": 3}),
    ("LRRangeTest", {"lr_range_test_min_lr": 0.001, "lr_range_test_step_size": 7,
                     "lr_range_test_step_rate": 2.5}),
    ("LRRangeTest", {"lr_range_test_min_lr": [0.001, 0.003], "lr_range_test_step_size": 6,
                     "lr_range_test_staircase": True}),
]  # fmt: skip

OF_TORCH: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 7}),
    ("StepLR", {"step_size": 3, "gamma": 0.9, "last_epoch": -1}),
    ("MultiStepLR", {"milestones": [5, 20, 20, 33], "gamma": 0.3}),
    ("MultiStepLR", {"milestones": [0, 1]}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.7, "total_iters": 30}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.9, "end_factor": 0.1, "total_iters": 37}),
    ("ExponentialLR", {"gamma": 0.93}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 40, "power": 2.5}),
    ("CosineAnnealingLR", {"T_max": 12}),
    ("CosineAnnealingLR", {"T_max": 60, "eta_min": 0.001}),
    ("CosineAnnealingWarmRestarts", {"T_0": 8}),
    ("CosineAnnealingWarmRestarts", {"T_0": 5, "T_mult": 2, "eta_min": 0.0005}),
    ("CyclicLR", {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 9}),
    ("CyclicLR", {"base_lr": [0.001, 0.002], "max_lr": [0.01, 0.03], "step_size_up": 5,
                  "step_size_down": 8, "mode": "triangular2", "base_momentum": 0.7}),
    ("CyclicLR", {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 10, "mode": "exp_range",
                  "gamma": 0.97, "scale_mode": "iterations", "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 0.02, "total_steps": 50}),
    ("OneCycleLR", {"max_lr": [0.02, 0.05], "epochs": 10, "steps_per_epoch": 6,
                    "anneal_strategy": "linear", "pct_start": 0.25, "three_phase": True,
                    "div_factor": 10.0, "final_div_factor": 100.0, "max_momentum": [0.9, 0.8]}),
    ("OneCycleLR", {"max_lr": 0.02, "total_steps": 64, "cycle_momentum": False}),
]  # fmt: skip


def recorded(classes: Any, name: str, params: dict[str, Any]) -> dict[str, Any]:
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in INITIAL]
    optimizer = torch.optim.Adam(
        [{"params": [p], "lr": lr} for p, lr in zip(parameters, INITIAL, strict=True)]
    )
    scheduler = getattr(classes, name)(optimizer, **params)
    rates, momenta = [], []
    for step in range(STEPS + 1):
        if step > 0:
            optimizer.step()
            scheduler.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
        momenta.append([group["betas"][0] for group in optimizer.param_groups])
    line = {"type": name, "params": params, "initial": INITIAL, "rates": rates}
    return {**line, "momenta": momenta} if any(x != [0.9, 0.9] for x in momenta) else line


def main() -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    is_deepspeed = sys.argv[1] == "deepspeed"
    module = "deepspeed.runtime.lr_schedules" if is_deepspeed else "torch.optim.lr_scheduler"
    classes = importlib.import_module(module)
    with open(sys.argv[2], "w") as file:
        for name, params in OF_DEEPSPEED if is_deepspeed else OF_TORCH:
            file.write(json.dumps(recorded(classes, name, params), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
