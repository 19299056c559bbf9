// warps.h: what the lanes of a warp do together: shuffles, ldmatrix and mma, with fragments by the layouts of PTX.
#pragma once

#include "tensor_maps.h"

namespace soundline_emulator {

// Conversions ----------------------------------------------------------------------------------------------------------

float of_f16(uint16_t half) {
    uint32_t const sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t mantissa = half & 0x3ff, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {
        float const value = float(mantissa) * 0x1p-24f;
        memcpy(&bits, &value, 4);
        bits |= sign;
    }
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
uint16_t f16_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t const sign = uint16_t(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return 0x7fff;
    if (bits >= 0x477ff000) return sign | 0x7c00;  // rounds to 2^16
    if (bits < 0x38800000) {                       // subnormal: in units of 2^-24
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude = magnitude * 0x1p24f + 0x1p23f;  // the sum rounds to an integer, ties to even
        memcpy(&bits, &magnitude, 4);
        return uint16_t(sign | (bits - 0x4b000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return uint16_t(sign | ((bits >> 13) - (112 << 10)));
}
uint16_t bf16_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
// Of an operand of tf32, the core takes 19 bits; the other 13 have no effect.
inline float of_tf32(uint32_t word) {
    word &= 0xffffe000;
    float value;
    memcpy(&value, &word, 4);
    return value;
}
inline float widened(Type type, uint16_t half) { return type == F16 ? of_f16(half) : of_bf16(half); }

// Shuffles -------------------------------------------------------------------------------------------------------------

uint32_t shuffle(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane, int line) {
    struct Mine {
        uint32_t value, from, result;
    };
    uint32_t const self = machine.running->lane;
    uint32_t from = lane & 31;
    if (mode == BFLY) from = self ^ lane;
    if (mode == UP) from = self >= lane ? self - lane : self;
    if (mode == DOWN) from = self + lane < 32 ? self + lane : self;
    if (from > 31) from = self;
    Mine mine{value, from, value};
    char const *const what[] = {"shfl.sync.idx", "shfl.sync.bfly", "shfl.sync.up", "shfl.sync.down"};
    meet(what[mode], line, mask & machine.running->warp->all(), &mine, [mask, line](Warp &warp) {
        uint32_t const there = mask & warp.all();
        for (size_t i = 0; i < warp.lanes.size(); ++i) {
            if (!(there >> i & 1)) continue;
            Mine &to = *static_cast<Mine *>(warp.slots[i]);
            if (!(there >> to.from & 1))
                SOUNDLINE_FAIL(machine.running, line, "warp", "lane %zu reads lane %u by shfl.sync, which takes no part", i, to.from);
            to.result = static_cast<Mine *>(warp.slots[to.from])->value;
        }
    });
    return mine.result;
}

// Fragments of mma -----------------------------------------------------------------------------------------------------

void load_matrices(int count, bool transposed, uint32_t *words, void const *row, int line) {
    struct Mine {
        uint32_t *words;
        void const *row;
    } mine{words, row};
    char const *const what = "ldmatrix.sync.aligned";
    if (int(machine.running->lane) < 8 * count) shared_offset(machine.running, row, 16, 16, what, line);
    meet_all(what, line, &mine, [count, transposed](Warp &warp) {
        for (int matrix = 0; matrix < count; ++matrix) {
            uint16_t elements[8][8];
            for (int i = 0; i < 8; ++i) memcpy(elements[i], static_cast<Mine *>(warp.slots[8 * matrix + i])->row, 16);
            for (int lane = 0; lane < 32; ++lane) {
                int const group = lane >> 2, pair = lane % 4 * 2;
                uint32_t const low = transposed ? elements[pair][group] : elements[group][pair];
                uint32_t const high = transposed ? elements[pair + 1][group] : elements[group][pair + 1];
                static_cast<Mine *>(warp.slots[lane])->words[matrix] = low | high << 16;
            }
        }
    });
}

// Sums are taken from the accumulator on, in ascending order of k, every product and sum rounded to f32.
void multiply(Type type, int k, float *d, uint32_t const *a, uint32_t const *b, int line) {
    struct Mine {
        float *d;
        uint32_t const *a, *b;
    } mine{d, a, b};
    char const *const what = "mma.sync.aligned.m16n8";
    meet_all(what, line, &mine, [type, k](Warp &warp) {
        float left[16][16], right[16][8], sums[16][8];
        for (int lane = 0; lane < 32; ++lane) {
            Mine const &from = *static_cast<Mine *>(warp.slots[lane]);
            int const group = lane >> 2, number = lane % 4;
            for (int i = 0; i < 4; ++i) sums[group + 8 * (i >> 1)][number * 2 + (i & 1)] = from.d[i];
            if (type == TF32) {
                for (int i = 0; i < k / 2; ++i) left[group + 8 * (i & 1)][number + 4 * (i >> 1)] = of_tf32(from.a[i]);
                for (int i = 0; i < k / 4; ++i) right[number + 4 * i][group] = of_tf32(from.b[i]);
            } else {
                for (int i = 0; i < k / 2; ++i)
                    left[group + 8 * (i >> 1 & 1)][number * 2 + (i & 1) + 8 * (i >> 2)] =
                        widened(type, uint16_t(from.a[i >> 1] >> 16 * (i & 1)));
                for (int i = 0; i < k / 4; ++i)
                    right[number * 2 + (i & 1) + 8 * (i >> 1)][group] = widened(type, uint16_t(from.b[i >> 1] >> 16 * (i & 1)));
            }
        }
        for (int row = 0; row < 16; ++row)
            for (int i = 0; i < k; ++i)
                for (int column = 0; column < 8; ++column) sums[row][column] += left[row][i] * right[i][column];
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i)
                static_cast<Mine *>(warp.slots[lane])->d[i] = sums[(lane >> 2) + 8 * (i >> 1)][lane % 4 * 2 + (i & 1)];
    });
}

}  // namespace soundline_emulator
