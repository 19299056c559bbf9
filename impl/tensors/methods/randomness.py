"""
Random numbers
==============

Random tensors by Threefry (U-12): element i of a draw is made of the 64 bits of counter i, counted in row-major order,
under a key. A key is an integer, or a scalar Tensor of uint64; equal keys give equal numbers, on every machine. Without
a key the next one of a sequence is taken, which `manual_seed` starts again: key n is Threefry of counter n under the
seed.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np

from soundline.impl.arrays import storage
from soundline.impl.arrays.promotion import DTypeLike, check_dtype
from soundline.impl.tensors.core import lines
from soundline.impl.tensors.core.arithmetic import cast
from soundline.impl.tensors.core.values import Values
from soundline.impl.tensors.methods.creation import Creation, checked_sizes
from soundline.impl.tensors.methods.elementwise import Elementwise
from soundline.impl.tensors.methods.movement import refuse
from soundline.spec.dtypes import DType, float32, int32, int64, uint64
from soundline.spec.uop import Op, UOp, broadcast_to, const, reshape

Key = Any
"""An integer from 0 to 2^64 - 1, a scalar Tensor of uint64, or None for the next key of the sequence."""

_BITS: Final = 64


class _Sequence:
    """The keys that are taken where none is given."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = 0
        self.count = 0

    def start(self, seed: int) -> None:
        self.seed, self.count = seed, 0

    def next(self) -> UOp:
        with self.lock:
            number = self.count
            self.count += 1
        return Op.Threefry(_word(number), _word(self.seed))


_SEQUENCE = _Sequence()


def manual_seed(seed: int) -> None:
    """Restart the sequence of random keys; `seed` is an integer from 0 to 2^64 - 1."""
    if not _is_word(seed):
        raise refuse("manual_seed", "an integer from 0 to 2^64 - 1", repr(seed))
    _SEQUENCE.start(seed)


def _word(value: int) -> UOp:
    """A number of 64 bits in storage of its own, so that draws with other keys are the same program."""
    return storage.keep(np.array(value, np.uint64))


def _is_word(value: Any) -> bool:
    return isinstance(value, int | np.integer) and 0 <= int(value) < 2**_BITS


def _key(where: str, key: Key) -> UOp:
    if key is None:
        return _SEQUENCE.next()
    if isinstance(key, Values) and key.dtype is uint64 and key.shape == ():
        return key.uop
    if _is_word(key):
        return _word(key)
    raise refuse(where, "a key from 0 to 2^64 - 1, or a scalar Tensor of uint64", repr(key))


def bits(key: UOp, count: int, start: int = 0) -> UOp:
    """The random bits of `count` counters from `start` on."""
    counters = lines.line(count, uint64)
    if start:
        counters = Op.Add(counters, broadcast_to(const(start, uint64), (count,)))
    return Op.Threefry(counters, broadcast_to(key, (count,)))


def _unit(random: UOp, dtype: DType) -> UOp:
    """The first bits as a float in [0, 1): as many as the dtype holds of every number there, so nothing is rounded."""
    shape = random.shape or ()
    digits = dtype.mantissa_bits + 1
    leading = Op.Shr(random, broadcast_to(const(_BITS - digits, uint64), shape))
    return Op.Mul(cast(leading, dtype), broadcast_to(const(2.0**-digits, dtype), shape))


class Randomness(Creation, Elementwise):
    """Random tensors."""

    __slots__ = ()

    @classmethod
    def random_keys(cls, key: Key, count: int) -> Self:
        """`count` keys made of one, as a tensor of uint64."""
        return cls.of(bits(_key("random_keys", key), checked_sizes("random_keys", (count,))[0]))

    @classmethod
    def rand(cls, *shape: int | Sequence[int], dtype: DTypeLike = float32, key: Key = None) -> Self:
        """Uniform in [0, 1): multiples of 2^-p, where p is the number of significant bits of the dtype."""
        sizes = checked_sizes("rand", shape)
        dtype = check_dtype(dtype)
        if not dtype.is_float or dtype.bits < 16:
            raise refuse("rand", "a float of at least 16 bits", dtype)
        random = bits(_key("rand", key), math.prod(sizes))
        return cls.of(reshape(_unit(random, dtype), sizes))

    @classmethod
    def uniform(
        cls,
        *shape: int | Sequence[int],
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike = float32,
        key: Key = None,
    ) -> Self:
        """low + (high - low)·u of uniform u in [0, 1)."""
        return cls.rand(*shape, dtype=dtype, key=key) * (high - low) + low

    @classmethod
    def randn(cls, *shape: int | Sequence[int], dtype: DTypeLike = float32, key: Key = None) -> Self:
        """Normal, of mean 0 and deviation 1: √(-2·ln u)·cos 2πv, with u and v of two draws, u in (0, 1].

        No number is beyond √(2p·ln 2), where p is the number of significant bits: 5.7 for float32.
        """
        sizes = checked_sizes("randn", shape)
        dtype = check_dtype(dtype)
        if not dtype.is_float or dtype.bits < 16:
            raise refuse("randn", "a float of at least 16 bits", dtype)
        home = dtype if dtype.bits >= 32 else float32
        random, count = _key("randn", key), math.prod(sizes)
        u = 1.0 - cls.of(_unit(bits(random, count), home))
        v = cls.of(_unit(bits(random, count, count), home))
        found = (u.log() * -2.0).sqrt() * (v * (2.0 * math.pi)).cos()
        return found.reshape(sizes).cast(dtype)

    @classmethod
    def normal(
        cls,
        *shape: int | Sequence[int],
        mean: float = 0.0,
        std: float = 1.0,
        dtype: DTypeLike = float32,
        key: Key = None,
    ) -> Self:
        """mean + std·z of normal z."""
        return cls.randn(*shape, dtype=dtype, key=key) * std + mean

    @classmethod
    def randint(
        cls, low: int, high: int, shape: int | Sequence[int], dtype: DTypeLike = int32, key: Key = None
    ) -> Self:
        """Integers from low to high, exclusive: 64 random bits modulo how many there are of them."""
        sizes = checked_sizes("randint", (shape,))
        dtype = check_dtype(dtype)
        if not dtype.is_int or not dtype.min <= low < high <= int(dtype.max) + 1:
            raise refuse("randint", f"low < high inside {dtype}", (low, high))
        random = bits(_key("randint", key), math.prod(sizes))
        number = high - low
        if number < 2**_BITS:
            random = Op.Mod(random, broadcast_to(const(number, uint64), random.shape or ()))
        wide = cast(random, uint64 if dtype is uint64 else int64)
        offset = broadcast_to(const(low, wide.dtype), wide.shape or ())
        return cls.of(reshape(cast(Op.Add(wide, offset) if low else wide, dtype), sizes))

    @classmethod
    def randperm(cls, count: int, key: Key = None) -> Self:
        """The integers from 0 to count - 1 in a random order, as int64: that of random bits, see `argsort`."""
        (size,) = checked_sizes("randperm", (count,))
        return cls.of(bits(_key("randperm", key), size)).argsort(0)

    @classmethod
    def bernoulli(cls, probability: float, shape: int | Sequence[int], key: Key = None) -> Self:
        """Bools that are True with a probability between 0 and 1."""
        if not 0.0 <= probability <= 1.0:
            raise refuse("bernoulli", "a probability between 0 and 1", probability)
        return cls.rand(shape, key=key) < probability
