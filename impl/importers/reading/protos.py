"""
ONNX's messages
===============

The one place that reads ONNX's own data structures. The package `onnx` is imported when a model is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from soundline.impl.importers.reading.errors import ExtraMissing
from soundline.impl.importers.reading.node import DTYPES, NUMBERS, Refusal, dtype_name
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.dtypes import DType, to_numpy
from soundline.spec.errors import UsageError


def package() -> Any:
    """The package `onnx`; raises `ExtraMissing` where it is not installed."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise ExtraMissing(f"ONNX models need the package onnx: {error}", hint="pip install onnx") from None
    return onnx


def model_of(source: Any) -> Any:
    """A ModelProto from a path, from bytes, or as it is; raises `UsageError` for what is none."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        return source
    try:
        if isinstance(source, bytes):
            return onnx.load_from_string(source)
        if isinstance(source, str | Path):
            return onnx.load(str(source))
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(source)!r}") from None
    except Exception as error:  # noqa: BLE001  # protobuf's own error, whose class depends on its version
        raise UsageError(f"this is not an ONNX model: {error}") from None
    raise UsageError(
        f"a {type(source).__name__} is not an ONNX model", hint="give a path, bytes or a ModelProto"
    )


def opsets_of(imports: Sequence[Any]) -> dict[str, int]:
    """The version of each operator set."""
    return {"" if o.domain == "ai.onnx" else o.domain: o.version for o in imports}


def array(proto: Any) -> npt.NDArray[Any]:
    """The contents of a TensorProto; raises `Refusal` for a dtype that we do not have."""
    if proto.data_type not in DTYPES:
        raise Refusal(f"{dtype_name(proto.data_type)} is not supported")
    found: npt.NDArray[Any] = package().numpy_helper.to_array(proto)
    wanted = to_numpy(DTYPES[proto.data_type])
    return found if found.dtype == wanted else found.view(wanted)


def attributes(proto: Any) -> dict[str, Any]:
    """The attributes of a node as Python values, tensors and graphs as they are."""
    get = package().helper.get_attribute_value
    return {a.name: get(a) for a in proto.attribute}


def signature(info: Any, sizes: Mapping[str, int]) -> tuple[DType, tuple[int, ...]]:
    """The dtype and shape of an input; `sizes` gives those that have a name. Raises `Refusal`."""
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Refusal(
            f"a value of {kind.removesuffix('_type')} type is not a tensor" if kind else "it has no type"
        )
    tensor = info.type.tensor_type
    if tensor.elem_type not in DTYPES:
        raise Refusal(f"{dtype_name(tensor.elem_type)} is not supported")
    if not tensor.HasField("shape"):
        raise Refusal("its shape is not known")
    shape = []
    for k, d in enumerate(tensor.shape.dim):
        if d.HasField("dim_value"):
            shape.append(d.dim_value)
        elif d.dim_param in sizes:
            shape.append(sizes[d.dim_param])
        else:
            raise Refusal(f"its size {d.dim_param or k} is not known; give sizes={{...}}")
    return DTYPES[tensor.elem_type], tuple(shape)


# Functions --------------------------------------------------------------------------------------------------------


def _schema(proto: Any, opset: int) -> Any:
    """The standard's entry for the operator of a node, or None."""
    onnx = package()
    try:
        return onnx.defs.get_schema(proto.op_type, opset, proto.domain)
    except onnx.defs.SchemaError:
        return None


def is_defined_by_function(proto: Any, opset: int) -> bool:
    """Whether the standard may define the operator of a node by a function."""
    schema = _schema(proto, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_body(proto: Any, opset: int, operands: Sequence[Tensor | None]) -> Any:
    """The function by which the standard defines a node, or None."""
    schema = _schema(proto, opset)
    if schema is None:
        return None
    onnx = package()
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= opset]
        text = schema.get_function_with_opset_version(max(versions)) if versions else schema.function_body
    elif schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
        if not versions:
            return None
        types = [_type_proto(x).SerializeToString() for x in operands]
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions), _with_defaults(proto, schema).SerializeToString(), types
        )
    else:
        return None
    if not isinstance(text, bytes):
        return text
    body = onnx.FunctionProto()
    body.ParseFromString(text)
    return body if body.node else None


def _type_proto(x: Tensor | None) -> Any:
    onnx = package()
    return (
        onnx.TypeProto() if x is None else onnx.helper.make_tensor_type_proto(NUMBERS[x.dtype], list(x.shape))
    )


def _with_defaults(proto: Any, schema: Any) -> Any:
    """A node with the standard's defaults for the attributes that it leaves out."""
    node = package().NodeProto()
    node.CopyFrom(proto)
    given = {a.name for a in proto.attribute}
    node.attribute.extend(
        a.default_value for n, a in schema.attributes.items() if n not in given and a.default_value.name
    )
    return node


def instantiated(function: Any, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, int]]:
    """The nodes of a function with its attributes put in, and its operator sets."""
    onnx = package()
    values = {a.name: a for a in function.attribute_proto}
    values |= {n: onnx.helper.make_attribute(n, v) for n, v in given.items() if v is not None}
    values = _standard_defaults(function) | values
    nodes = [_bound(n, values) for n in function.node]
    return nodes, opsets_of(function.opset_import)


def _standard_defaults(function: Any) -> dict[str, Any]:
    """The defaults of the attributes of an operator that is named like a function of the standard."""
    onnx = package()
    try:
        schema = onnx.defs.get_schema(function.name, domain=function.domain)
    except onnx.defs.SchemaError:
        return {}
    return {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}


def _bound(node: Any, values: Mapping[str, Any]) -> Any:
    """A node with the attributes that refer to those of its function replaced."""
    onnx = package()
    if not any(a.ref_attr_name or a.type == a.GRAPH for a in node.attribute):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for a in node.attribute:
        if a.ref_attr_name and a.ref_attr_name not in values:
            continue
        copy = made.attribute.add()
        copy.CopyFrom(values[a.ref_attr_name] if a.ref_attr_name else a)
        copy.name = a.name
        if copy.type == copy.GRAPH:
            inner = [_bound(n, values) for n in copy.g.node]
            del copy.g.node[:]
            copy.g.node.extend(inner)
    return made
