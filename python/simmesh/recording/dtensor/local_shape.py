"""Records the kind ``local_shape``: shape and offset of the part at each coordinate of a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from simmesh.recording import placements, ranks

ANSWERS = ("local", "oracle")


def answer(case: Mapping[str, Any], settings: ranks.Settings = ranks.Settings()) -> dict[str, Any]:
    """Returns the case with the parts that the installed PyTorch computes."""

    def body(rank: int) -> dict[str, Any] | None:
        mesh = ranks.mesh_of(case["mesh"])
        coordinate = mesh.get_coordinate()
        if coordinate is None:
            return None
        words = [placements.read(word) for word in case["placements"]]
        shape, offset = compute_local_shape_and_global_offset(
            tuple(case["tensor"]["shape"]), mesh, words
        )
        return {"coordinate": coordinate, "part": {"shape": list(shape), "offset": list(offset)}}

    results = ranks.on_ranks(body, ranks.world_of(dict(case)), settings)
    parts = sorted(
        (result for result in results if result is not None), key=lambda part: part["coordinate"]
    )
    question = {name: value for name, value in case.items() if name not in ANSWERS}
    return {**question, "local": [part["part"] for part in parts]}


def question(seed: int, shape: Sequence[int]) -> dict[str, Any]:
    """A random shape with random placements."""
    random = Random(f"local_shape {seed}")
    sizes = [random.choice([0, 1, 3, 5, 7, 31, 64]) for _ in range(random.randint(1, 3))]
    words = ["R", *(f"S({dim})" for dim in range(len(sizes)))]
    return {
        "kind": "local_shape",
        "id": f"recorded/{'x'.join(map(str, shape))}/local_shape/{seed}",
        "mesh": {"shape": list(shape)},
        "tensor": {"shape": sizes},
        "placements": [random.choice(words) for _ in shape],
    }
