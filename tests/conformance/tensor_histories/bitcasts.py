# ruff: noqa: F821  # the brackets of annotations name sizes and ranges, not types
"""Bitcasts between item sizes: views of bytes, serialization, words and halves, of numpy, tinygrad, XLA and LLVM."""

from soundline.verify import (
    Bool,
    Flags,
    Perm,
    Shape,
    Size,
    Tensor,
    Value,
    float32,
    float64,
    given,
    index,
    int8,
    int16,
    int32,
    no_flags,
    stack,
    uint8,
    uint16,
    uint32,
    uint64,
    where,
)

from .form import Histories

HISTORIES = Histories()
right, wrong, vacuous = HISTORIES.right, HISTORIES.wrong, HISTORIES.vacuous


# There and back ---------------------------------------------------------------------------------------------------


@right()
def bytes_and_back(x: Tensor[float32]):
    """Serialization: words as bytes and again as words; every NaN is one."""
    return x.bitcast(uint8).bitcast(float32), x


@right()
def bytes_of_any_dtype_and_back(x: Tensor):
    """numpy, view(uint8).view(dtype)."""
    return x.bitcast(uint8).bitcast(x.dtype), x


@wrong()
def floats_and_back(x: Tensor[uint8]):
    """Bytes read as floats lose the bits of a NaN."""
    return x.bitcast(float32).bitcast(uint8), x


@right()
def words_of_halves_and_back(x: Tensor[int16, "n"], n: Size):
    """XLA, bitcast-convert to a wider type: the last axis shrinks."""
    given(n % 2 == 0)
    return x.reshape((1, n)), x.bitcast(int32).bitcast(int16).reshape((1, n))


@wrong()
def words_of_odd_halves_and_back(x: Tensor[int16, "n"], n: Size):
    """The same with a half left over."""
    return x.reshape((1, n)), x.bitcast(int32).bitcast(int16).reshape((1, n))


@wrong()
def words_of_an_even_number_of_bytes(x: Tensor[uint8, "n"], n: Size):
    """The condition of halves is too little for words."""
    given(n % 2 == 0)
    return x.reshape((1, n)), x.bitcast(uint32).bitcast(uint8).reshape((1, n))


@right()
def by_way_of_halves(x: Tensor[uint8, "n"], n: Size):
    """LLVM, a bitcast of a bitcast."""
    given(n % 8 == 0)
    return x.bitcast(uint16).bitcast(uint64), x.bitcast(uint64)


@right()
def bytes_of_gathered_words_and_back(x: Tensor[uint16, "n"], i: Tensor[index, "k"]):
    """What is read outside stays invalid."""
    return x.index(i), x.index(i).bitcast(uint8).bitcast(uint16)


@right()
def sum_of_bytes_by_way_of_halves(x: Tensor[uint8, "n"], n: Size):
    """A checksum does not see how the bytes are held."""
    given(n % 2 == 0)
    return x.bitcast(uint16).bitcast(uint8).sum(0), x.sum(0)


# Which bits -------------------------------------------------------------------------------------------------------


@right()
def low_half_first(x: Tensor[uint32, "n"], n: Size, i: Value[index]):
    """Little endian: the first half is the low one."""
    given(i >= 0, i < n)
    return x.bitcast(uint16).index(2 * i), x.index(i).cast(uint16)


@right()
def high_half_with_its_sign(x: Tensor[int32, "n"], n: Size, i: Value[index]):
    """The second half, with the sign of the word."""
    given(i >= 0, i < n)
    return x.bitcast(int16).index(2 * i + 1).cast(int32), x.index(i) >> 16


@wrong()
def high_half_first(x: Tensor[uint32, "n"], n: Size, i: Value[index]):
    """Big endian."""
    given(i >= 0, i < n)
    return x.bitcast(uint16).index(2 * i + 1), x.index(i).cast(uint16)


@right()
def half_of_two_bytes(x: Tensor[uint8, "n"], n: Size, i: Value[index]):
    """A wider item by arithmetic, the lowest byte first."""
    given(i >= 0, i < n // 2, n % 2 == 0)
    return x.bitcast(uint16).index(i), x.index(2 * i).cast(uint16) + x.index(2 * i + 1).cast(uint16) * 256


@wrong()
def half_of_two_bytes_in_reverse(x: Tensor[uint8, "n"], n: Size, i: Value[index]):
    """The same in network order."""
    given(i >= 0, i < n // 2, n % 2 == 0)
    return x.bitcast(uint16).index(i), x.index(2 * i + 1).cast(uint16) + x.index(2 * i).cast(uint16) * 256


@wrong()
def half_of_two_signed_bytes(x: Tensor[int8, "n"], n: Size, i: Value[index]):
    """A signed low byte spreads its sign."""
    given(i >= 0, i < n // 2, n % 2 == 0)
    return x.bitcast(int16).index(i), x.index(2 * i).cast(int16) + x.index(2 * i + 1).cast(int16) * 256


@right()
def byte_swap(x: Tensor[uint32, "n"], n: Size):
    """LLVM, bswap: bytes turned around in each word."""
    swapped = (x << 24) | ((x & 0xFF00) << 8) | ((x >> 8) & 0xFF00) | (x >> 24)
    return x.bitcast(uint8).reshape((n, 4)).flip((False, True)).reshape((4 * n,)).bitcast(uint32), swapped


@right()
def rotation_by_half_a_word(x: Tensor[uint32, "n"], n: Size):
    """LLVM, fshl by 16: halves exchanged."""
    halves = x.bitcast(uint16).reshape((n, 2)).flip((False, True))
    return halves.reshape((2 * n,)).bitcast(uint32), (x << 16) | (x >> 16)


@right()
def sign_of_a_double_in_its_high_word(x: Tensor[float64, "n"], n: Size):
    """fdlibm reads the sign of a double in its high word."""
    high = x.bitcast(uint32).reshape((n, 2)).shrink((0, 1), (n, 1)).reshape((n,))
    return high >> 31, (x.bitcast(uint64) >> 63).cast(uint32)


@wrong()
def narrowing_as_a_bitcast(x: Tensor[int16, "n"], n: Size):
    """The second byte is not what a cast keeps."""
    return x.bitcast(int8).reshape((n, 2)).shrink((0, 1), (n, 1)).reshape((n,)), x.cast(int8)


@wrong()
def every_other_byte(x: Tensor[int8, "n"], n: Size):
    """Low bytes are every other byte, not the first half of them."""
    given(n % 2 == 0)
    return x.bitcast(int16).cast(int8), x.shrink((0,), (n // 2,))


# Movement and ops -------------------------------------------------------------------------------------------------


@right()
def bytes_of_flipped_rows(x: Tensor[int32, "m", "n"]):
    """Other axes are not touched by a bitcast."""
    return x.flip((True, False)).bitcast(uint8), x.bitcast(uint8).flip((True, False))


@wrong()
def bytes_of_flipped(x: Tensor[int32, "n"]):
    """A bitcast to bytes makes the last axis four times as long: flipping that turns each word around."""
    return x.flip((True,)).bitcast(uint8), x.bitcast(uint8).flip((True,))


@wrong()
def bytes_of_flipped_axes(x: Tensor[float32], f: Flags):
    """The same with any flags."""
    return x.flip(f).bitcast(int8), x.bitcast(int8).flip(f)


@right()
def bytes_of_unflipped_axes(x: Tensor[float32], f: Flags):
    """The same with none."""
    given(no_flags(f))
    return x.flip(f).bitcast(int8), x.bitcast(int8).flip(f)


@right()
def words_of_flipped_bytes(x: Tensor[uint32, "n"], n: Size):
    """Words turned around, as bytes: words and not bytes change places."""
    return x.flip((True,)).bitcast(uint8), x.bitcast(uint8).reshape((n, 4)).flip((True, False)).reshape(
        (4 * n,)
    )


@right()
def bytes_of_transposed_matrices(x: Tensor[int32, "m", "n", "k"]):
    """A permutation that leaves the last axis where it is."""
    return x.permute((1, 0, 2)).bitcast(uint8), x.bitcast(uint8).permute((1, 0, 2))


@wrong()
def bytes_of_a_transposed_matrix(x: Tensor[int32, "m", "n"]):
    """One that does not."""
    return x.permute((1, 0)).bitcast(uint8), x.bitcast(uint8).permute((1, 0))


@wrong()
def bytes_of_permuted(x: Tensor[float32], p: Perm):
    """Any permutation."""
    return x.permute(p).bitcast(int8), x.bitcast(int8).permute(p)


@right()
def bytes_of_shrunk(x: Tensor[int32, "n"], a: Size, k: Size):
    """tinygrad, a slice of a buffer at another dtype: offsets are counted in its elements."""
    return x.shrink((a,), (k,)).bitcast(uint16), x.bitcast(uint16).shrink((2 * a,), (2 * k,))


@wrong()
def bytes_of_shrunk_with_unscaled_offset(x: Tensor[int32, "n"], a: Size, k: Size):
    """The same with the offset in the old elements."""
    return x.shrink((a,), (k,)).bitcast(uint16), x.bitcast(uint16).shrink((a,), (2 * k,))


@right()
def words_of_a_slice_of_bytes(x: Tensor[float32, "n"], a: Size, k: Size):
    """safetensors, a tensor inside a file that is mapped as bytes."""
    return x.bitcast(uint8).shrink((4 * a,), (4 * k,)).bitcast(float32), x.shrink((a,), (k,))


@wrong()
def words_of_an_unaligned_slice(x: Tensor[uint8, "n"], n: Size, k: Size):
    """A slice that begins inside a word."""
    given(n % 4 == 0)
    return x.shrink((2,), (4 * k,)).bitcast(uint32), x.bitcast(uint32).shrink((0,), (k,))


@right()
def words_of_padded_bytes(x: Tensor[uint8, "n"], a: Size, k: Size, n: Size):
    """A padding by whole words."""
    given(n % 4 == 0)
    return x.pad((4 * a,), (4 * k,)).bitcast(uint32), x.bitcast(uint32).pad((a,), (k,))


@wrong()
def bytes_of_padded_with_unscaled_offset(x: Tensor[int32, "n"], a: Size, k: Size):
    """A padding counted in the old elements."""
    return x.pad((a,), (k,)).bitcast(uint16), x.bitcast(uint16).pad((a,), (2 * k,))


@right()
def bytes_of_flattened(x: Tensor[int32, "m", "n"], m: Size, n: Size):
    """tinygrad, a view of another dtype of what is contiguous."""
    return x.bitcast(uint8).reshape((m * n * 4,)), x.reshape((m * n,)).bitcast(uint8)


@right()
def bytes_of_repeated_rows(x: Tensor[int32, 1, "n"], m: Size, n: Size):
    """A broadcast of rows."""
    return x.expand((m, n)).bitcast(uint8), x.bitcast(uint8).expand((m, 4 * n))


@wrong()
def bytes_of_repeated(x: Tensor[uint16], s: Shape):
    """A broadcast of all axes."""
    return x.expand(s).bitcast(uint8), x.bitcast(uint8).expand(s)


@right()
def bytes_of_gathered_rows(x: Tensor[int32, "m", "n"], i: Tensor[index, "k"]):
    """An embedding table held as bytes."""
    return x.index(i).bitcast(uint8), x.bitcast(uint8).index(i)


@right()
def bytes_of_a_stack(x: Tensor[int32, "n"], y: Tensor[int32, "n"]):
    """A new leading axis."""
    return stack(x, y).bitcast(uint8), stack(x.bitcast(uint8), y.bitcast(uint8))


@right()
def bytes_of_a_choice(c: Bool, x: Tensor[int32], y: Tensor[int32]):
    """One choice for all bytes."""
    given(x.shape == y.shape)
    return where(c, x, y).bitcast(uint8), where(c, x.bitcast(uint8), y.bitcast(uint8))


@right()
def bytes_of_xor(x: Tensor[int32], y: Tensor[int32]):
    """LLVM, bitwise logic does not see where words end."""
    given(x.shape == y.shape)
    return (x ^ y).bitcast(uint8), x.bitcast(uint8) ^ y.bitcast(uint8)


@wrong()
def bytes_of_sum(x: Tensor[int32], y: Tensor[int32]):
    """A sum carries from byte to byte."""
    given(x.shape == y.shape)
    return (x + y).bitcast(uint8), x.bitcast(uint8) + y.bitcast(uint8)


@wrong()
def bytes_of_row_sums(x: Tensor[uint16, "m", "n"]):
    """So does a reduction."""
    return x.sum(0).bitcast(uint8), x.bitcast(uint8).sum(0)


# Gathers ----------------------------------------------------------------------------------------------------------


@right()
def element_of_gathered(x: Tensor["n"], i: Tensor[index, "k"], k: Size, a: Value[index], b: Value[index]):
    """An index that is read at one place, which two conditions say."""
    given(a >= 0, a < k, a <= b, b <= a)
    return x.index(i).index(a), x.index(i.index(b))


@wrong()
def later_element_of_gathered(
    x: Tensor["n"], i: Tensor[index, "k"], k: Size, a: Value[index], b: Value[index]
):
    """One that may be read behind it."""
    given(a >= 0, a < k, a <= b, b < k)
    return x.index(i).index(a), x.index(i.index(b))


# Rules that say nothing -------------------------------------------------------------------------------------------


@vacuous()
def word_of_three_bytes(x: Tensor[uint8, 3]):
    """Three bytes are no words."""
    return x.bitcast(uint32), x.bitcast(uint32).flip((True,))
