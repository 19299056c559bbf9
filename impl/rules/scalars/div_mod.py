"""
Division and remainder
======================

Floor quotients and their remainders, which flatten and unflatten indices. On ``index`` nothing wraps; at a fixed width
``fits`` says where the product does not, and the engine shows it from bounds. Since x // 0 is 0 and x % 0 is x (U-04),
a divisor need not be known not to be 0 where a rule speaks of divisibility: only 0 is a multiple of 0.
"""

from soundline.spec.dtypes import index, ints
from soundline.spec.rules.language import Sides, fits, given, rule
from soundline.spec.rules.terms import Const, Value

whole = (index, *ints)


@rule(dtypes=whole)
def mod_recombine(x: Value, y: Value) -> Sides:
    """Unflattening and flattening again; by the law of Mod, whatever y is."""
    return (x // y) * y + x % y, x


@rule(dtypes=[index])
def digits_recombine(x: Value, a: Const, b: Const, c: Const) -> Sides:
    """Two digits of a position, put together again."""
    given(a > 0, b > 0, c == a * b)
    return (x // a) % b + x // c * b, x // a


@rule(dtypes=[index])
def scaled_digits_recombine(x: Value, a: Const, b: Const, c: Const, s: Const, t: Const) -> Sides:
    """The same where further digits follow."""
    given(a > 0, b > 0, c == a * b, t == s * b)
    return (x // a) % b * s + x // c * t, x // a * s


@rule(dtypes=[index])
def row_digits_recombine(w: Value, x: Value, c: Const) -> Sides:
    """A position of which the first part is counted in rows, and the rest in what is left of one."""
    return (w + x // c) * c + x % c, w * c + x


@rule(dtypes=[index])
def row_digits_recombine_beside(w: Value, x: Value, y: Value, c: Const) -> Sides:
    """The same beside another digit."""
    return (w + x // c) * c + (y + x % c), w * c + (y + x)


@rule(dtypes=[index])
def scaled_row_digits_recombine(w: Value, x: Value, c: Const, s: Const, t: Const) -> Sides:
    """The same where further digits follow."""
    given(t == c * s)
    return (w + x // c) * t + x % c * s, w * t + x * s


@rule(dtypes=[index])
def scaled_row_digits_recombine_beside(w: Value, x: Value, y: Value, c: Const, s: Const, t: Const) -> Sides:
    """The same beside another digit, where further digits follow."""
    given(t == c * s)
    return (w + x // c) * t + (y + x % c * s), w * t + (y + x * s)


@rule(dtypes=whole)
def mod_from_idiv(x: Value, y: Value) -> Sides:
    """A remainder that was written out."""
    return x - (x // y) * y, x % y


@rule(dtypes=whole)
def mul_div_cancel(x: Value, c: Const) -> Sides:
    """A multiple of a row's length is in the row of that number."""
    given(c != 0, fits(x * c))
    return (x * c) // c, x


@rule(dtypes=whole)
def mul_mod_cancel(x: Value, c: Const) -> Sides:
    """A multiple of a row's length is the first of its row."""
    given(fits(x * c))
    return (x * c) % c, 0


@rule(dtypes=whole)
def add_mul_div(x: Value, y: Value, c: Const) -> Sides:
    """Whole rows come out of a quotient."""
    given(c != 0, fits(x * c + y))
    return (x * c + y) // c, x + y // c


@rule(dtypes=whole)
def add_mul_mod(x: Value, y: Value, c: Const) -> Sides:
    """Whole rows do not change the place in a row."""
    given(fits(x * c + y))
    return (x * c + y) % c, y % c


@rule(dtypes=whole)
def mod_mod(x: Value, y: Value) -> Sides:
    """A remainder is reduced already."""
    return (x % y) % y, x % y


@rule(dtypes=whole)
def mod_idiv(x: Value, y: Value) -> Sides:
    """A remainder is less than one row."""
    return (x % y) // y, 0


@rule(dtypes=[index])
def mod_mod_divides(x: Value, c: Const, d: Const) -> Sides:
    """The inner of two remainders says nothing where the outer divides it."""
    given(c % d == 0)
    return (x % c) % d, x % d


@rule(dtypes=[index])
def idiv_idiv(x: Value, c: Const, d: Const) -> Sides:
    """Rows of rows: two quotients become one. The outer divisor must not be negative: floors do not nest below 0."""
    given(d >= 0)
    return (x // c) // d, x // (c * d)


@rule(dtypes=[index])
def mul_idiv_common(x: Value, c: Const, d: Const) -> Sides:
    """A common factor of stride and divisor, where the stride divides the divisor."""
    given(d % c == 0)
    return (x * c) // d, x // (d // c)


@rule(dtypes=[index])
def mul_idiv_multiple(x: Value, c: Const, d: Const) -> Sides:
    """A common factor of stride and divisor, where the divisor divides the stride."""
    given(c % d == 0)
    return (x * c) // d, x * (c // d)


@rule(dtypes=[index])
def mul_mod_common(x: Value, c: Const, d: Const) -> Sides:
    """A common factor of stride and modulus comes out."""
    given(d % c == 0)
    return (x * c) % d, (x % (d // c)) * c


@rule(dtypes=[index])
def add_mul_div_common(x: Value, y: Value, c: Const, d: Const) -> Sides:
    """A multiple of the divisor comes out of a quotient."""
    given(c % d == 0)
    return (x * c + y) // d, x * (c // d) + y // d


@rule(dtypes=[index])
def add_mul_mod_common(x: Value, y: Value, c: Const, d: Const) -> Sides:
    """A multiple of the modulus does not change a remainder."""
    given(c % d == 0)
    return (x * c + y) % d, y % d


@rule(dtypes=[index])
def mod_add_mod(x: Value, y: Value, z: Value) -> Sides:
    """A remainder inside a remainder by the same: only the outer one is needed."""
    return (x % z + y) % z, (x + y) % z


@rule(dtypes=whole)
def idiv_neg_neg(x: Value, y: Value) -> Sides:
    """Two signs cancel in a quotient of integers that have no least value."""
    given(fits(-x), fits(-y))
    return -x // -y, x // y
