"""Wrong twins of ``impl/rules/scalars/div_mod.py``."""

from soundline.verify import *


@rule(dtypes=[index])
def mod_recombine_wrong(x: Value, y: Value):
    """The truncating remainder with the floor quotient."""
    return (x // y) * y + cmod(x, y), x


@rule(dtypes=[index])
def mod_from_idiv_wrong(x: Value, y: Value):
    """The truncating quotient with the floor remainder."""
    return x - cdiv(x, y) * y, x % y


@rule(dtypes=[index])
def mul_div_cancel_wrong(x: Value, c: Const):
    """Without the condition on zero."""
    return (x * c) // c, x


@rule(dtypes=[int8])
def mul_mod_cancel_wrong(x: Value, c: Const):
    """Without the condition: the product wraps."""
    return (x * c) % c, 0


@rule(dtypes=[index])
def add_mul_div_wrong(x: Value, y: Value, c: Const):
    """Without the condition on zero."""
    return (x * c + y) // c, x + y // c


@rule(dtypes=[int8])
def add_mul_mod_wrong(x: Value, y: Value, c: Const):
    """Without the condition: the sum wraps."""
    return (x * c + y) % c, y % c


@rule(dtypes=[index])
def mod_mod_wrong(x: Value, y: Value, z: Value):
    """Two moduli that have nothing to do with each other."""
    return (x % y) % z, x % y


@rule(dtypes=[index])
def mod_idiv_wrong(x: Value, y: Value):
    """The truncating remainder, which may be negative."""
    return cmod(x, y) // y, 0


@rule(dtypes=[index])
def mod_mod_divides_wrong(x: Value, c: Const, d: Const):
    """Without divisibility."""
    return (x % c) % d, x % d


@rule(dtypes=[index])
def idiv_idiv_wrong(x: Value, c: Const, d: Const):
    """Without the condition on the sign of the outer divisor."""
    return (x // c) // d, x // (c * d)


@rule(dtypes=[index])
def mul_idiv_common_wrong(x: Value, c: Const, d: Const):
    """Without divisibility."""
    return (x * c) // d, x // (d // c)


@rule(dtypes=[index])
def mul_idiv_multiple_wrong(x: Value, c: Const, d: Const):
    """Divisibility the wrong way round."""
    given(d % c == 0)
    return (x * c) // d, x * (c // d)


@rule(dtypes=[index])
def mul_mod_common_wrong(x: Value, c: Const, d: Const):
    """Without divisibility."""
    return (x * c) % d, (x % (d // c)) * c


@rule(dtypes=[index])
def add_mul_div_common_wrong(x: Value, y: Value, c: Const, d: Const):
    """Without divisibility."""
    return (x * c + y) // d, x * (c // d) + y // d


@rule(dtypes=[index])
def add_mul_mod_common_wrong(x: Value, y: Value, c: Const, d: Const):
    """Without divisibility."""
    return (x * c + y) % d, y % d


@rule(dtypes=[int8])
def mod_add_mod_wrong(x: Value, y: Value, z: Value):
    """Narrowed to a width at which sums wrap."""
    return (x % z + y) % z, (x + y) % z


@rule(dtypes=[int8])
def idiv_neg_neg_wrong(x: Value, y: Value):
    """Without the condition: the least value has no opposite."""
    return -x // -y, x // y


@rule(dtypes=[index])
def digits_recombine_wrong(x: Value, a: Const, b: Const, c: Const):
    """Digits that are not neighbours."""
    given(a > 0, b > 0, c == a + b)
    return (x // a) % b + x // c * b, x // a


@rule(dtypes=[index])
def scaled_digits_recombine_wrong(x: Value, a: Const, b: Const, c: Const, s: Const, t: Const):
    """Digits of other bases."""
    given(a > 0, b > 0, c == a * b)
    return (x // a) % b * s + x // c * t, x // a * s


@rule(dtypes=[index])
def row_digits_recombine_wrong(w: Value, x: Value, c: Const, d: Const):
    """A remainder of another row."""
    given(c > 1, d > c)
    return (w + x // c) * c + x % d, w * c + x


@rule(dtypes=[index])
def row_digits_recombine_beside_wrong(w: Value, x: Value, y: Value, c: Const):
    """The other digit counted in rows."""
    return (w + x // c) * c + (y + x % c), (w + y) * c + x


@rule(dtypes=[index])
def scaled_row_digits_recombine_wrong(w: Value, x: Value, c: Const, s: Const, t: Const):
    """A scale that is none of the row."""
    given(t == c + s)
    return (w + x // c) * t + x % c * s, w * t + x * s


@rule(dtypes=[index])
def scaled_row_digits_recombine_beside_wrong(w: Value, x: Value, y: Value, c: Const, s: Const, t: Const):
    """The row's number lost."""
    given(t == c * s)
    return (w + x // c) * t + (y + x % c * s), w * t + (y + x % c * s)
