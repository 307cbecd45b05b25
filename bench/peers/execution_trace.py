"""How long does Python's json module take to read an execution trace, and to summarise it?

Each node becomes a dictionary. Prints one JSON object a line, {"name": ..., "us": ...}, where name
is that of our own benchmark of the same work. The figure is the least of several runs.
"""

import gzip
import json
import os
import time
from collections.abc import Iterator
from typing import Any

CASES = os.path.join(os.path.dirname(__file__), "../../tests/cases/replay")
TRACE = os.path.join(CASES, "resnet_2gpu_et.1.1.0.json.gz")
RUNS = 5
Node = dict[str, Any]


def read(path: str) -> dict[int, Node]:
    """Returns the nodes of a trace by id, each as a dictionary."""
    with gzip.open(path) as file:
        trace = json.load(file)
    nodes = {}
    for node in trace["nodes"]:
        fields = {attribute["name"]: attribute["value"] for attribute in node["attrs"]}
        nodes[node["id"]] = {
            "id": node["id"],
            "name": node["name"],
            "parent": node["ctrl_deps"],
            "inputs": node["inputs"],
            "outputs": node["outputs"],
            **fields,
        }
    return nodes


def tensors(
    value: Any, type_text: str, shape: Any
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yields the tensors of an argument with their shapes; lists hold several."""
    if type_text.startswith("Tensor("):
        yield tuple(value), tuple(shape)
    elif "Tensor(" in type_text and isinstance(value, list):
        inner = type_text[type_text.index("[") + 1 : -1]
        types, depth, begin = [], 0, 0
        for place, letter in enumerate(inner + ","):
            depth += (letter in "[(") - (letter in "])")
            if letter == "," and depth == 0:
                types.append(inner[begin:place])
                begin = place + 1
        for entry in zip(value, types, shape):
            yield from tensors(*entry)


def is_operator(node: Node) -> bool:
    """Says whether a replay runs a node."""
    if node["name"] == "record_param_comms" or node.get("kernel_backend") == "triton":
        return True
    return bool(node["op_schema"]) and not node["name"].startswith("c10d::")


def summarize(nodes: dict[int, Node]) -> dict[str, Any]:
    """Returns the figures of our own summary, but for those that cost next to nothing."""
    children: dict[int, list[int]] = {}
    ids = sorted(nodes)
    for identifier in ids[1:]:
        children.setdefault(nodes[identifier]["parent"], []).append(identifier)
    operators, steps, rest = [], [], [ids[0]]
    while rest:
        node = nodes[rest.pop()]
        if is_operator(node):
            operators.append(node["id"])
            continue
        if "ProfilerStep#" in node["name"]:
            steps.append(node["id"])
        rest.extend(children.get(node["id"], ()))
    shapes: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    threads: dict[int, int] = {}
    undefined = 0
    for identifier in ids:
        node = nodes[identifier]
        threads[node["tid"]] = threads.get(node["tid"], 0) + 1
        for side in (node["inputs"], node["outputs"]):
            for value, type_text, shape in zip(side["values"], side["types"], side["shapes"]):
                for tensor, sizes in tensors(value, type_text, shape):
                    if tensor[1] == 0 or tensor[5:] == ("",):
                        undefined += 1
                    else:
                        shapes.setdefault(tensor, set()).add(sizes)
    return {
        "operators": len(operators),
        "steps": sorted(steps),
        "orphans": sum(node["parent"] not in nodes for node in nodes.values()),
        "all_operators": sum(map(is_operator, nodes.values())),
        "threads": threads,
        "tensor_tuples": len(shapes),
        "tensor_ids": len({tensor[0] for tensor in shapes}),
        "storages": len({(tensor[1], tensor[5:]) for tensor in shapes}),
        "undefined_tensors": undefined,
        "tuples_with_two_shapes": sum(len(several) > 1 for several in shapes.values()),
    }


def main() -> None:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        summary = summarize(read(TRACE))
        times.append(time.perf_counter() - start)
    assert summary["operators"] == 3711 and summary["tensor_tuples"] == 5442, summary
    print(json.dumps({"name": "execution_trace/read_and_summarize", "us": min(times) * 1e6}))


if __name__ == "__main__":
    main()
