"""The modules that enter operators in the table."""

from __future__ import annotations

import importlib

FAMILIES = (
    "shapes", "linear", "sums", "products", "functions", "special", "movement", "indexing",
    "losses", "normalization", "attention", "convolution", "resampling", "bags", "compositions",
    "distances", "optimizers", "fused_optimizers", "complex_numbers", "complex_functions",
    "triangular", "factorizations", "lu", "eigenvectors", "fourier", "random", "carrying",
    "collectives", "forms", "custom", "refusals",
)  # fmt: skip


def load() -> None:
    """Fills the table of operators. The rules of the last ones are asked last."""
    for name in FAMILIES:
        importlib.import_module(f"simmesh.torch.exact.{name}")
