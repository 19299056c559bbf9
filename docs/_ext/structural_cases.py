"""What ops that move, reduction, call and remember do at the edges: a program for each question, and the evaluator's
answer,
a value or the id of the law by which it is refused."""

from __future__ import annotations

from collections.abc import Iterator

from rst import code, law, table

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import index, int32
from soundline.spec.errors import SoundlineError
from soundline.spec.examples import namespace
from soundline.spec.uop import Op, buffer, const


def _reduction(values: str, op: str) -> str:
    return f"Op.Reduce({values}, arg=ReduceArg(Op.{op}, (0,)))"


def _empty(dtype: str) -> str:
    return f"shrink(tensor([0], {dtype}), (0,), (0,))"


OF: dict[Op, tuple[tuple[str, str], ...]] = {
    Op.Const: (
        ("a value that the dtype does not have", "const(128, int8)"),
        ("a float that the dtype does not have", "const(0.1, float32)"),
        ("an integer for a float", "const(1, float32)"),
    ),
    Op.Permute: (
        ("rank 0", "Op.Permute(const(7, int32), arg=())"),
        ("an axis twice", "Op.Permute(tensor([[1, 2]]), arg=(0, 0))"),
    ),
    Op.Flip: (("an axis of size 0", f"Op.Flip({_empty('int32')}, arg=(True,))"),),
    Op.Reshape: (
        ("another number of elements", "reshape(tensor([1, 2, 3]), (2, 2))"),
        ("one element to rank 0", "reshape(tensor([7]), ())"),
        ("no elements", f"reshape({_empty('int32')}, (3, 0))"),
    ),
    Op.Expand: (
        ("an axis that is not 1", "expand(tensor([1, 2]), (4,))"),
        ("size 1 to size 0", "expand(tensor([1]), (0,))"),
        ("another rank", "expand(const(1, int32), (2,))"),
    ),
    Op.Pad: (
        ("the fill of floats is +0.0", "pad(tensor([-0.0], float32), (0,), (2,))"),
        ("the fill of bools is False", "pad(tensor([True], bool_), (1,), (2,))"),
        ("outside of the new shape", "pad(tensor([1, 2]), (1,), (2,))"),
        ("negative offset", "pad(tensor([1, 2]), (-1,), (2,))"),
        ("nothing, padded", f"pad({_empty('int32')}, (1,), (2,))"),
    ),
    Op.Shrink: (
        ("to nothing", "shrink(tensor([1, 2]), (2,), (0,))"),
        ("beyond the end", "shrink(tensor([1, 2]), (1,), (2,))"),
        ("negative offset", "shrink(tensor([1, 2]), (-1,), (1,))"),
    ),
    Op.Index: (
        ("an index out of range", "Op.Index(tensor([5, 6, 7]), const(3, index))"),
        ("a negative index", "Op.Index(tensor([5, 6, 7]), const(-1, index))"),
        (
            "out of range, and not selected",
            "Op.Where(const(False, bool_), Op.Index(tensor([5]), const(3, index)), const(0, int32))",
        ),
        (
            "two vectors of indices: each makes an axis",
            "Op.Index(tensor([[1, 2], [3, 4]]), tensor([0, 1], index), tensor([1, 0], index))",
        ),
        ("no index", "Op.Index(tensor([5, 6]))"),
    ),
    Op.Stack: (
        ("nothing: the shape ()", "Op.Stack()"),
        ("two dtypes", "Op.Stack(const(1, int8), const(1, int32))"),
    ),
    Op.Replicated: (
        ("slices that differ", "Op.Replicated(tensor([1, 2]), arg=(0,))"),
        ("0 beside -0", "Op.Replicated(tensor([0.0, -0.0], float32), arg=(0,))"),
    ),
    Op.Slice: (
        ("beyond the end", "Op.Slice(tensor([1, 2]), const(1, index), arg=SliceArg(2, int32))"),
        ("another dtype", "Op.Slice(tensor([1, 2]), const(1, index), arg=SliceArg(4, uint8))"),
    ),
    Op.Bitcast: (
        ("NaN: the canonical bits", "Op.Bitcast(const(float('nan'), float32), arg=uint32)"),
        ("negative zero", "Op.Bitcast(const(-0.0, float32), arg=int32)"),
        ("to a smaller dtype: little endian", "Op.Bitcast(tensor([258]), arg=uint8)"),
        ("to a larger dtype that does not divide", "Op.Bitcast(tensor([1, 2, 3]), arg=int64)"),
        ("bool", "Op.Bitcast(const(True, bool_), arg=uint8)"),
    ),
    Op.Reduce: (
        ("the empty sum", _reduction(_empty("int32"), "Add")),
        ("the empty sum of floats", _reduction(_empty("float32"), "Add")),
        ("the empty product", _reduction(_empty("int32"), "Mul")),
        ("the empty maximum", _reduction(_empty("int8"), "Max")),
        ("the empty maximum of floats", _reduction(_empty("float32"), "Max")),
        ("the empty maximum of index", _reduction(_empty("index"), "Max")),
        ("order of a float sum", _reduction("tensor([1e8, -1e8, 1.0], float32)", "Add")),
        ("the same backwards", _reduction("tensor([1.0, -1e8, 1e8], float32)", "Add")),
        ("a sum of negative zeros", _reduction("tensor([-0.0, -0.0], float32)", "Add")),
        ("NaN in a maximum", _reduction("tensor([1.0, float('nan'), 2.0], float32)", "Max")),
        ("signed zeros in a maximum", _reduction("tensor([-0.0, 0.0], float32)", "Max")),
        ("overflow of a sum", _reduction("tensor([127, 1], int8)", "Add")),
        ("maximum of bools: or", _reduction("tensor([False, True], bool_)", "Max")),
        ("sum of bools", _reduction("tensor([False, True], bool_)", "Add")),
        ("rank 0, no axes", "Op.Reduce(const(7, int32), arg=ReduceArg(Op.Add, ()))"),
    ),
    Op.Function: (
        ("an argument of another dtype", "Op.Function(Op.Tuple(p), const(1.0, float32))"),
        ("too few arguments", "Op.Function(Op.Tuple(p))"),
        ("more arguments than Params", "Op.GetTuple(Op.Function(Op.Tuple(p), const(1, int32), p), arg=0)"),
    ),
    Op.GetTuple: (
        ("a negative position", "Op.GetTuple(Op.Tuple(const(1, int32)), arg=-1)"),
        ("a position that does not exist", "Op.GetTuple(Op.Tuple(const(1, int32)), arg=1)"),
    ),
    Op.Load: (
        (
            "out of range under a gate that is False",
            "Op.Load(Op.Index(buffer(0, 2, int32), const(9, index)), const(-1, int32), const(False, bool_))",
        ),
        ("never written", "Op.Load(buffer(0, 2, int32))"),
        ("a gate without an alternative", "Op.Load(buffer(0, 2, int32), const(True, bool_))"),
    ),
    Op.Store: (
        (
            "out of range under a gate that is False",
            "Op.Load(Op.After(filled, Op.Store(outside, const(5, int32), const(False, bool_))))",
        ),
        ("out of range", "Op.Sink(Op.Store(outside, const(5, int32)))"),
        (
            "the old value is read before anything is written",
            "Op.Load(Op.After(filled, Op.Store(filled, Op.Flip(Op.Load(filled), arg=(True,)))))",
        ),
        (
            "two Stores that nothing orders",
            "Op.Sink(Op.Store(filled, tensor([1, 1])), Op.Store(filled, tensor([2, 2])))",
        ),
        ("to a value", "Op.Store(tensor([1]), tensor([2]))"),
    ),
    Op.Range: (
        (
            "bound 0: nothing happens",
            "Op.Load(Op.After(filled, Op.End(Op.Store(filled, tensor([9, 9])), loop(0, 0))))",
        ),
        ("a negative bound", "loop(-1, 0)"),
    ),
    Op.Sink: (
        (
            "a Range that nothing closes",
            "Op.Sink(Op.Store(Op.Index(filled, loop(2, 0)), const(1, int32)))",
        ),
    ),
}


def rows(op: Op) -> Iterator[tuple[str, str, str]]:
    """What is asked, the program, and what the evaluator says."""
    for asked, program in OF.get(op, ()):
        yield asked, code(program), answer(program)


def answer(program: str) -> str:
    """The value of a program, or the id of the law by which it has none. `filled` is a Buffer that holds 3 and 4,
    `outside` a place beyond its end."""
    names = namespace()
    names["filled"] = filled = buffer(7, 2, int32)
    names["outside"] = Op.Index(filled, const(2, index))
    held = {7: [3, 4]}
    try:
        node = eval(program, names)
        if node.shape is None:
            return f"``{names['execute'](node, buffers=held)}``"
        return _value(names["evaluate"](node, buffers=held))
    except SoundlineError as error:
        return f"refused: {law(error.rule or '')}"


def _value(array: Array) -> str:
    shape = "" if array.shape == () else f" of shape {array.shape}"
    return f"``{', '.join(map(str, array.elements))}``{shape}" if array.elements else f"nothing{shape}"


def section(op: Op) -> str:
    """The table of an op, or an empty text."""
    found = list(rows(op))
    if not found:
        return ""
    filled = any("filled" in program for _, program, _ in found)
    note = "Computed by the evaluator when this page was built, in the names of the examples"
    note += (
        "; ``filled`` is a Buffer of two elements, 3 and 4, and ``outside`` is a place beyond its end.\n"
        if filled
        else ".\n"
    )
    return f"{note}\n{table(('case', 'program', 'value'), found, widths=(26, 52, 22))}"
