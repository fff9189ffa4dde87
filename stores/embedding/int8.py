"""The packaged model, made to multiply in int8.

Its graph keeps each weight matrix as int8 with a scale per column and widens it to float32 before
the product, so that every sentence reads 42 MB of weights and waits for memory. Rewritten, the
activations are quantised as they come (``DynamicQuantizeLinear``, which ONNX defines), and the
product is taken of bytes: a short sentence takes less than a third of the time. The weights
themselves stay as they are.
"""

from pathlib import Path
from typing import Any, NamedTuple


class _Weights(NamedTuple):
    """Names in the graph: of a matrix of int8 and of its scales, one per column."""

    matrix: str
    scales: str


def with_integer_products(model_file: Path) -> bytes:
    """The model, each product with int8 weights taken in integers; serialised.

    Raises: ValueError if there is no such product: the package is not the one we know.
    """
    # Imported here: only a process that embeds should pay for it.
    import onnx

    model = onnx.load(str(model_file))
    weights = _widened(model.graph)
    nodes: list[Any] = []
    quantised: set[str] = set()  # activations that are quantised already: three products share one
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            activation = node.input[0]
            if activation not in quantised:
                quantised.add(activation)
                nodes.append(_quantise(activation))
            nodes += _integer_product(activation, weights[node.input[1]], node.output[0])
        else:
            nodes.append(node)
    if not quantised:
        raise ValueError(f"{model_file}: no product with int8 weights in it")
    # What widened the weights has no reader left; onnxruntime drops it.
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def _widened(graph: Any) -> dict[str, _Weights]:
    """Where int8 weights stand as float32, by that name: ``Mul(Cast(matrix), scales)``."""
    stored = {tensor.name for tensor in graph.initializer}
    cast_from = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Cast" and node.input[0] in stored
    }
    return {
        node.output[0]: _Weights(cast_from[node.input[0]], node.input[1])
        for node in graph.node
        if node.op_type == "Mul" and node.input[0] in cast_from and node.input[1] in stored
    }


def _quantise(activation: str) -> Any:
    from onnx import helper

    outputs = [f"{activation}/{part}" for part in ("bytes", "scale", "zero")]
    return helper.make_node("DynamicQuantizeLinear", [activation], outputs)


def _integer_product(activation: str, weights: _Weights, output: str) -> list[Any]:
    from onnx import TensorProto, helper

    data, scale, zero = (f"{activation}/{part}" for part in ("bytes", "scale", "zero"))
    whole, wide, scales = (f"{output}/{part}" for part in ("whole", "wide", "scales"))
    return [
        helper.make_node("MatMulInteger", [data, weights.matrix, zero], [whole]),
        helper.make_node("Cast", [whole], [wide], to=TensorProto.FLOAT),
        helper.make_node("Mul", [scale, weights.scales], [scales]),
        helper.make_node("Mul", [wide, scales], [output]),
    ]
