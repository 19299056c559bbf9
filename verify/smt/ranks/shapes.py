"""
Shapes that are one
===================

A reshape mixes the axes of a class, and its condition is about products. Much of what it does is undone without looking
at an axis, and this needs to know which vectors of a rule are the same vector, at every rank. That is known from the
conditions ``s == t``, from a product that is 1 (sizes are not negative, so each of them is 1), and on the left side
from elementwise ops, whose operands have one shape. Nothing here is guessed from an instance.

With that, both sides are *simplified*:

- a reshape of a reshape is one reshape,
- a reshape to the shape that is there already is nothing, and so is a permutation of axes of size 1,
- an elementwise op of reshapes of one shape to one shape is a reshape of the op,
- a reshape that stands outside on both sides, of one shape to one shape, is taken off.

What is simplified says more, so its proof is a proof of the rule: on the left side a condition under which it is valid
may go, and everything assumed follows from what was assumed before; on the right side a condition may only go that
follows from the left side and the conditions, by the equations of products collected here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from soundline.spec.dtypes import DType, all_dtypes, bool_, index
from soundline.spec.ops.node import Op
from soundline.spec.ops.table import group_of
from soundline.spec.rules.language import Rule
from soundline.spec.rules.spellings import SPELLED
from soundline.spec.rules.terms import Tensor, Term, Value, Variable, Vector, rebuilt, show, subterms, value
from soundline.verify.smt.ranks.conditions import Uniform, stated

SHIFT = "±"
"""Stands between a class and a number in the name of the class whose ranks are that much higher."""

ONES = "1"
"""The vector that is 1 on every axis."""

_MARKERS = frozenset(group_of("marker"))
ELEMENTWISE = frozenset((*group_of("elementwise", "decomposed"), Op.CDiv, Op.CMod, Op.Bitcast))

LEAVES_OUT = (Op.Where, Op.Index, Op.Shrink)
"""The ops that do not need every element of what they take."""

Class = str | int | None
Classes = Mapping[str, str | int]


def class_of(term: Any, classes: Classes) -> Class:
    """The rank class of a term; None for a scalar and for what fits every rank."""
    if not isinstance(term, Term) or term.head in ("entry", "product", "everywhere", "every axis"):
        return None
    if term.head == "var":
        return classes.get(term.args[0])
    if term.head == "entries":
        return len(term.args)
    if term.head is Op.Reshape:
        return class_of(term.args[1], classes)
    if term.head is Op.Index:
        scalars = sum(class_of(i, classes) is None for i in term.args[1:])
        return shifted(class_of(term.args[0], classes), -scalars)
    if term.head is Op.Stack:
        return shifted(_first_class(term.args, classes), 1)
    return _first_class(term.args, classes)


def shifted(rank_class: Class, by: int) -> Class:
    """The class of ranks that are higher by a number than those of a class."""
    if not isinstance(rank_class, str):
        return None if rank_class is None else (rank_class + by or None)
    name, _, before = rank_class.partition(SHIFT)
    by += int(before or 0)
    return f"{name}{SHIFT}{by}" if by else name


def _first_class(terms: Iterable[Any], classes: Classes) -> Class:
    return next((c for a in terms if (c := class_of(a, classes)) is not None), None)


def is_elementwise(term: Term) -> bool:
    """Whether a value term applies an op at every position."""
    return term.head == "op" or term.head in ELEMENTWISE or term.head in SPELLED


def changes_items(term: Term, rule: Rule, dtypes: Iterable[DType] = ()) -> bool:
    """Whether a term may be a Bitcast between item sizes, so that its last axis is another; by default at any dtype."""
    if term.head is not Op.Bitcast:
        return False
    stored = [d for d in dtypes or rule.dtypes or all_dtypes if d.is_int or d.is_float]
    sizes = {(_item_size(term.args[0], rule, d), _item_size(term, rule, d)) for d in stored}
    return any(source != target or source is None for source, target in sizes)


def _item_size(term: Term, rule: Rule, dtype: DType) -> int | None:
    """How many bytes an element of a value has at a dtype of the rule; None where that is not known."""
    inside = dtype_inside(term, rule)
    return None if inside is None else (inside[0] if inside else dtype).itemsize


class Shapes:
    """The vectors of a rule, and which of them are one."""

    def __init__(self, rule: Rule, classes: Classes) -> None:
        self.rule = rule
        self.classes = classes
        self._equal: dict[str, str] = {}
        self._products: dict[str, str] = {}
        self._uniform = Uniform(rule)
        for condition in stated(rule):
            self._learn(condition)
        for term in subterms(rule.left):
            if is_elementwise(term):
                keys = self.operands(term)
                for key in keys[1:]:
                    _union(self._equal, keys[0], key)
        for term in subterms(rule.left):
            if term.head is Op.Reshape:
                self._one_product(self.shape(term.args[0]), self.key(term.args[1]))
        for condition in stated(rule):
            if condition.head is Op.CmpEq and all(a.head == "product" for a in condition.args):
                self._one_product(*(self.key(a.args[0]) for a in condition.args))
        self._learn_of_copies(rule)

    def _learn_of_copies(self, rule: Rule) -> None:
        """Learn that a shape is kept where what is repeated has as many elements afterwards, and some.

        For each axis keeps its size, or has size 1 and gets one that is no 0. None gets a smaller one, so that the
        product would grow if some axis did.
        """
        some = [self.key(v) for c in stated(rule) if (v := _with_elements(c)) is not None]
        for term in subterms(rule.left):
            if term.head is Op.Expand:
                before, after = self.shape(term.args[0]), self.shape(term)
                if self.one_product(before, after) and any(self.one_product(after, v) for v in some):
                    _union(self._equal, before, after)

    def _learn(self, condition: Term) -> None:
        if condition.head == "every axis" and condition.args[0] is Op.CmpEq:
            beside = class_of(Vector("two", condition.args[1:]), self.classes)
            _union(self._equal, *(self.key(v, beside) for v in condition.args[1:]))
        vector = of_one_element(condition)
        if vector is not None:
            _union(self._equal, self.key(vector), ONES)

    def _one_product(self, a: str, b: str) -> None:
        _union(self._products, _find(self._equal, a), _find(self._equal, b))

    # keys -------------------------------------------------------------------------------------------------------

    def key(self, vector: Any, beside: Class = None) -> str:
        """A vector written so that one text is one vector; `beside` is the class of what it stands with.

        Vectors of ones of several classes have one text: their products are one, and `same` tells them apart.
        """
        if not isinstance(vector, Term):
            return show(vector)
        if class_of(vector, self.classes) is None and show(vector) != ONES:
            return f"{show(vector)} at {beside}"
        if vector.head == "shape of":
            return self.shape(vector.args[0])
        if vector.head == "permuted":
            inside = self.key(vector.args[0])
            return inside if self.same(inside, ONES) else f"{inside}.permute({show(vector.args[1])})"
        return show(vector)

    def shape(self, value: Term) -> str:
        """The shape of a value, as the text of a vector."""
        head, args = value.head, value.args
        if head == "var":
            return f"{args[0]}.shape"
        if head is Op.Permute:
            inside = self.shape(args[0])
            return inside if self.same(inside, ONES) else f"{inside}.permute({show(args[1])})"
        if head in (Op.Reshape, Op.Expand, Op.Pad, Op.Shrink):
            new = args[2 if head in (Op.Pad, Op.Shrink) else 1]
            return self.key(new, class_of(args[0], self.classes))
        if head == "fill":
            return self.key(args[1])
        if head is Op.Flip or head in _MARKERS:
            return self.shape(args[0])
        if head is Op.Reduce and (over := self._uniform.of(args[2])) is not None:
            return ONES if over else self.shape(args[0])
        if self._is_elementwise(value):
            return next(iter(self.operands(value)), f"shape of {show(value)}")
        return f"shape of {show(value)}"

    def _is_elementwise(self, value: Term) -> bool:
        return is_elementwise(value) and not changes_items(value, self.rule)

    def operands(self, value: Term) -> list[str]:
        """The shapes of the operands that have axes."""
        tensors = (a for a in value.args if isinstance(a, Value) and class_of(a, self.classes) is not None)
        return [self.shape(a) for a in tensors]

    def same(self, a: str, b: str) -> bool:
        """Whether two vectors are known to be one."""
        return _find(self._equal, a) == _find(self._equal, b)

    def is_shape_of(self, vector: Vector, value: Term) -> bool:
        """Whether a vector is known to be the shape of a value."""
        alike = class_of(vector, self.classes) == class_of(value, self.classes)
        return alike and self.same(self.shape(value), self.key(vector))

    def one_shape(self, values: Sequence[Term]) -> bool:
        """Whether values are known to have one shape."""
        first, *rest = values
        return all(
            class_of(first, self.classes) == class_of(v, self.classes)
            and self.same(self.shape(first), self.shape(v))
            for v in rest
        )

    def one_product(self, a: str, b: str) -> bool:
        """Whether two shapes are known to have equally many elements."""
        x, y = (_find(self._products, _find(self._equal, v)) for v in (a, b))
        return x == y

    # simplification ---------------------------------------------------------------------------------------------

    def simplified(self, term: Value, *, left: bool) -> Value:
        """One side of a rule, with the reshapes that no axis needs to be looked at for undone."""
        term = rebuilt(term, lambda a: self.simplified(a, left=left) if isinstance(a, Value) else a)
        if term.head is Op.Reshape:
            return self._reshape(term.args[0], term.args[1], term, left=left)
        if term.head is Op.Permute and self.same(self.shape(term.args[0]), ONES):
            return term.args[0]  # type: ignore[no-any-return]  # a value
        return self._pulled(term) if self._is_elementwise(term) else term

    def _reshape(self, source: Value, target: Vector, term: Value, *, left: bool) -> Value:
        while source.head is Op.Reshape and (
            left or self.one_product(self.shape(source.args[0]), self.key(source.args[1]))
        ):
            source = source.args[0]
        if self.is_shape_of(target, source):
            return source
        return term if source is term.args[0] else Value(Op.Reshape, (source, target))

    def _pulled(self, term: Value) -> Value:
        """An elementwise op of reshapes, as a reshape of the op."""
        tensors = [a for a in term.args if isinstance(a, Value) and class_of(a, self.classes) is not None]
        if not tensors or any(t.head is not Op.Reshape for t in tensors):
            return term
        if not self.one_shape(tensors) or not self.one_shape([t.args[0] for t in tensors]):
            return term
        args = (a.args[0] if any(a is t for t in tensors) else a for a in term.args)
        return Value(Op.Reshape, (type(term)(term.head, tuple(args)), tensors[0].args[1]))

    def stripped(self, left: Value, right: Value) -> tuple[Value, Value]:
        """Both sides without the reshape that stands outside on both."""
        while left.head is right.head is Op.Reshape:
            inner = left.args[0], right.args[0]
            if not self.one_shape((left, right)) or not self.one_shape(inner):
                break
            left, right = inner
        return left, right


def with_one_name(rule: Rule, classes: Classes, op: Op) -> tuple[Rule, Classes]:
    """The rule with an input in place of each Reshape, or Reduce, that stands on both sides; and the classes then.

    This says more: a value that is valid on the left side may be any value of its shape and dtype. One that may have
    invalid elements, which the left side may leave out, keeps them and its name.
    """
    on_the_right = {show(t) for t in _values(rule.right) if t.head is op}
    leaves_out = any(t.head in LEAVES_OUT for t in subterms(rule.left))
    names: dict[str, Tensor] = {}
    kinds, given = dict(rule.kinds), list(rule.given)
    for term in _values(rule.left):
        inside = dtype_inside(term, rule) if term.head is op else None
        rank_class = class_of(term, classes)
        if (
            not isinstance(rank_class, str)
            or SHIFT in rank_class
            or (leaves_out and may_be_invalid(term, rule))
        ):
            continue
        if show(term) in on_the_right and inside is not None:
            names[show(term)] = input_ = Tensor("var", (f"<{show(term)}>",))
            classes = {**classes, input_.args[0]: rank_class}
            kinds[input_.args[0]] = Variable("Tensor", inside)
            given.append(Value("every axis", (Op.CmpEq, Vector("shape of", (input_,)), shape_made(term))))

    left, right = replaced(rule.left, names), replaced(rule.right, names)
    return replace(rule, left=left, right=right, given=tuple(given), kinds=kinds), classes


def replaced(term: Term, new: Mapping[str, Value]) -> Any:
    """A term with values in the place of the parts that are written like that."""
    text = show(term)
    return new[text] if text in new else rebuilt(term, lambda a: replaced(a, new))


def may_be_invalid(term: Term, rule: Rule) -> bool:
    """Whether a value may have invalid elements: of a gather, or of a maximum of nothing."""
    for part in subterms(term):
        if part.head in (Op.Index, "body", "over", "invalid"):
            return True
        if part.head is Op.Reduce and part.args[1] not in (Op.Add, Op.Mul):
            inside = dtype_inside(part, rule)
            if inside is None or index in (inside or rule.dtypes or ()):
                return True
    return False


def _values(term: Term) -> Iterator[Term]:
    """A value and the values of which it is made, but not those that only lend it a shape."""
    yield term
    for arg in term.args:
        if isinstance(arg, Value):
            yield from _values(arg)


def shape_made(term: Term) -> Vector:
    """The shape of a Reshape or a Reduce, as a vector."""
    if term.head is Op.Reshape:
        return term.args[1]  # type: ignore[no-any-return]  # its second argument is one
    one = Vector("everywhere", (value(1),))
    return Vector("where", (term.args[2], one, Vector("shape of", (term.args[0],))))


def dtype_inside(term: Term, rule: Rule) -> tuple[DType, ...] | None:
    """What is in the brackets of an input with the dtype of a value; None where that is not known."""
    head, args = term.head, term.args
    if head == "var":
        return _declared_inside(rule.kinds[args[0]])
    if head in (Op.Cast, Op.Bitcast):
        if isinstance(args[1], Term) and args[1].head == "dtype of":
            return dtype_inside(args[1].args[0], rule)
        return (args[1],) if isinstance(args[1], DType) else None
    if isinstance(head, Op) and head.name.startswith("Cmp"):
        return (bool_,)
    operands = args[1:] if head is Op.Where else args
    if not is_elementwise(term):
        operands = args[:1] if isinstance(head, Op) else ()
    values = [a for a in operands if isinstance(a, Value)]
    return next((found for a in values if (found := dtype_inside(a, rule)) is not None), None)


def _declared_inside(kind: Variable) -> tuple[DType, ...] | None:
    """What the annotation of a variable says of its dtype: nothing where that is the rule's."""
    inside = tuple(n for n in kind.inside if isinstance(n, DType))
    if kind.kind == "Tensor" or inside:
        return inside
    return () if kind.kind in ("Value", "Const", "Interval") and not kind.inside else None


def may_be_float(term: Term, rule: Rule, dtypes: Sequence[DType]) -> bool:
    """Whether a value is a float at some of the rule's dtypes, or at one that is not known."""
    inside = dtype_inside(term, rule)
    return inside is None or any(d.is_float for d in inside or dtypes)


def of_one_element(condition: Term) -> Vector | None:
    """The vector of which a condition says that its product is 1."""
    if condition.head is not Op.CmpEq:
        return None
    for one, other in (condition.args, condition.args[::-1]):
        if one.head == "product" and other.head == "literal" and other.args[0] == 1:
            vector = one.args[0]
            return vector if _is_shape(vector) else None
    return None


def _with_elements(condition: Term) -> Vector | None:
    """The vector of which a condition says that its product is greater than 0."""
    said = show(condition)
    for term in condition.args:
        if (
            isinstance(term, Term)
            and term.head == "product"
            and condition.head in (Op.CmpGt, Op.CmpGe, Op.CmpLt)
        ):
            text = show(term)
            if said in (f"({text} > 0)", f"({text} >= 1)", f"(0 < {text})"):
                return term.args[0]  # type: ignore[no-any-return]  # the argument of a product is one
    return None


def _is_shape(vector: Vector) -> bool:
    """Whether no entry of a vector can be negative."""
    if vector.head == "permuted":
        return _is_shape(vector.args[0])
    return vector.head == "shape of" or type(vector).__name__ == "Shape"


def _find(parent: dict[str, str], x: str) -> str:
    while x in parent:
        x = parent[x]
    return x


def _union(parent: dict[str, str], a: str, b: str) -> None:
    a, b = _find(parent, a), _find(parent, b)
    if a != b:
        parent[max(a, b)] = min(a, b)
