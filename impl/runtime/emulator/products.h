// products.h: wgmma. A warp issues its share, 16 rows of the accumulator, and waits for that alone.
//
// What a product reads in shared memory is read when it happens, which may be as late as the wait for its group; what
// it adds reaches the registers at that wait. Registers are variables of the program: at wgmma.fence the stack of each
// lane is kept, and a product whose accumulator, or whose A in registers, differs from what was kept then is reported,
// as is an accumulator that was written while products on it were in flight.
#pragma once

#include "warps.h"

namespace soundline_emulator {

// Descriptors ------------------------------------------------------------------------------------------------------------

// A matrix in shared memory, as the 64 bits say: where it starts, two distances, and how addresses are swizzled.
struct Descriptor {
    uint32_t start, leading, stride, base;
    int swizzle;
};
inline Descriptor described(uint64_t bits) {
    constexpr int widths[] = {0, 128, 64, 32};
    auto const field = [bits](int at, int size) { return uint32_t(bits >> at & ((1u << size) - 1)); };
    return {field(0, 14) << 4, field(16, 14) << 4, field(32, 14) << 4, field(49, 3), widths[bits >> 62]};
}

// Where the element lies that is `line` along M or N and `k` along K. Rows of 16 bytes make core matrices of 8 rows:
// without a swizzle each stands alone, 128 bytes; with one, as many stand side by side as its width has.
inline uint32_t address_of(Descriptor const &matrix, bool transposed, unsigned bytes, uint32_t line, uint32_t k) {
    uint32_t const per = 16 / bytes, width = matrix.swizzle ? uint32_t(matrix.swizzle) : 16;
    uint32_t offset;
    if (!transposed) {
        offset = line % 8 * width + line / 8 * matrix.stride + k % per * bytes;
        offset += k / per * (matrix.swizzle ? 16 : matrix.leading);
    } else if (matrix.swizzle) {
        uint32_t const across = width / bytes;
        offset = line % across * bytes + line / across * matrix.leading + k % 8 * width + k / 8 * matrix.stride;
    } else {
        offset = line % per * bytes + line / per * matrix.stride + k % 8 * 16 + k / 8 * matrix.leading;
    }
    uint32_t const address = matrix.start + offset;
    // The pattern repeats from where it starts, which the base offset says in rows of 128 bytes.
    uint32_t const pattern = address - (matrix.base << 7);
    return address ^ (swizzled(pattern, matrix.swizzle) ^ pattern);
}
inline float element(Fiber *self, Issued const &one, Descriptor const &matrix, bool transposed, uint32_t line, uint32_t k) {
    unsigned const bytes = one.product.type == TF32 ? 4 : 2;
    uint32_t const address = address_of(matrix, transposed, bytes, line, k) & 0x3ffff;
    if (address < SHARED_START || address - SHARED_START + bytes > machine.launch->shared_bytes) {
        report(self, one.line, "memory",
               "wgmma.mma_async reads byte %lld of %zu bytes of dynamic shared memory (descriptor: start %u, leading %u, stride %u)",
               static_cast<long long>(address) - SHARED_START, machine.launch->shared_bytes, matrix.start, matrix.leading,
               matrix.stride);
        return 0;
    }
    unsigned char const *at = (one.through_generic ? self->block->generic : self->block->asynchronous) + (address - SHARED_START);
    if (bytes == 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        return of_tf32(word);
    }
    uint16_t half;
    memcpy(&half, at, 2);
    return widened(one.product.type, half);
}

// Accumulators -----------------------------------------------------------------------------------------------------------

// The element i of a lane: columns come in eights, as in mma.
inline int row_of(int lane, int i) { return (lane >> 2) + 8 * (i >> 1 & 1); }
inline int column_of(int lane, int i) { return (i >> 2) * 8 + lane % 4 * 2 + (i & 1); }

inline void gather(Accumulator const &from, std::vector<float> &to) {
    to.resize(size_t(16 * from.n));
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < from.n / 2; ++i)
            to[size_t(row_of(lane, i) * from.n + column_of(lane, i))] = from.lanes[lane][i];
}
inline bool lives(Fiber const &lane, void const *at, size_t bytes) {
    char const *const from = static_cast<char const *>(at);
    bool const on_stack = from >= machine.stacks.bottom(lane.stack) && from < lane.top;
    char const *const low = static_cast<char const *>(&lane == machine.running ? __builtin_frame_address(0) : lane.sp);
    return !on_stack || (from >= low && from + bytes <= lane.top);
}
// What a wait writes to registers is what the fence before it has seen.
inline void keep(Warp &warp, size_t lane, void const *at, size_t bytes) {
    if (lane >= warp.snapshots.size()) return;
    Snapshot &kept = warp.snapshots[lane];
    char const *const from = static_cast<char const *>(at);
    if (kept.low && from >= kept.low && from + bytes <= kept.low + kept.bytes.size())
        memcpy(kept.bytes.data() + (from - kept.low), at, bytes);
}
inline void write_back(Warp &warp, Accumulator &from) {
    Fiber *self = machine.running;
    for (int lane = 0; lane < 32; ++lane)
        if (!lives(*warp.lanes[size_t(lane)], from.lanes[lane], size_t(from.n) * 2))
            SOUNDLINE_FAIL(self, from.line, "wgmma", "the accumulator of wgmma.mma_async no longer exists where its group is waited for");
    std::vector<float> now;
    gather(from, now);
    if (memcmp(now.data(), from.before.data(), now.size() * sizeof(float)) != 0)
        SOUNDLINE_FAIL(self, from.line, "wgmma", "the accumulator of wgmma.mma_async was written while the product was in flight");
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < from.n / 2; ++i)
            from.lanes[lane][i] = from.value[size_t(row_of(lane, i) * from.n + column_of(lane, i))];
        keep(warp, size_t(lane), from.lanes[lane], size_t(from.n) * 2);
    }
}
inline Accumulator *in_flight(Warp &warp, float const *d) {
    for (auto &each : warp.accumulators)
        if (each->lanes[0] == d) return each.get();
    return nullptr;
}

// Products ---------------------------------------------------------------------------------------------------------------

// Sums are taken from the accumulator on, in ascending order of k, every product and sum rounded to f32.
inline void land(Warp &warp, Issued &one) {
    Product const &product = one.product;
    Fiber *self = warp.lanes[0];
    int const k = product.type == TF32 ? 8 : 16, n = product.n;
    uint32_t const first = 16 * (warp.index % 4);
    Descriptor const a = described(product.a), b = described(product.b);
    if (!product.registers)
        for (uint32_t row = 0; row < 16; ++row)
            for (int i = 0; i < k; ++i) one.left[row][i] = element(self, one, a, false, first + row, uint32_t(i));
    float right[16][256];
    for (int column = 0; column < n; ++column)
        for (int i = 0; i < k; ++i) right[i][column] = element(self, one, b, product.transposed, uint32_t(column), uint32_t(i));
    Accumulator &to = *in_flight(warp, product.d);
    for (int row = 0; row < 16; ++row) {
        float *sums = to.value.data() + row * n;
        if (!product.scale_d) std::fill(sums, sums + n, 0.0f);
        for (int i = 0; i < k; ++i) {
            float const left = one.left[row][i];
            for (int column = 0; column < n; ++column) sums[column] += left * right[i][column];
        }
    }
    one.done = true;
}
// Products of a warp happen in the order in which they were issued.
inline void land_products(Warp &warp, size_t upto) {
    for (size_t i = 0; i < upto; ++i)
        if (!warp.issued[i].done) land(warp, warp.issued[i]);
}

void wgmma_fence(int line) {
    meet_all("wgmma.fence.sync.aligned", line, __builtin_frame_address(0), [](Warp &warp) {
        warp.snapshots.resize(32);
        for (size_t lane = 0; lane < 32; ++lane) {
            Snapshot &to = warp.snapshots[lane];
            to.low = static_cast<char *>(warp.slots[lane]);
            to.bytes.assign(to.low, warp.lanes[lane]->top);
        }
    });
}

// Registers must be what they were at the fence.
inline void check_registers(Warp &warp, size_t lane, void const *at, size_t bytes, char const *which, int line) {
    if (warp.snapshots.empty())
        SOUNDLINE_FAIL(machine.running, line, "wgmma", "wgmma.mma_async without wgmma.fence before it");
    Snapshot const &kept = warp.snapshots[lane];
    char const *const from = static_cast<char const *>(at);
    if (from < kept.low || from + bytes > kept.low + kept.bytes.size()) return;
    if (memcmp(at, kept.bytes.data() + (from - kept.low), bytes) != 0)
        SOUNDLINE_FAIL(warp.lanes[lane], line, "wgmma", "%s of wgmma.mma_async was written after the last wgmma.fence", which);
}
inline void check_uniform(Warp &warp, Product const &first, int line) {
    for (size_t lane = 1; lane < 32; ++lane) {
        Product const &other = *static_cast<Product *>(warp.slots[lane]);
        if (other.a != first.a || other.b != first.b || other.scale_d != first.scale_d)
            SOUNDLINE_FAIL(warp.lanes[lane], line, "wgmma", "wgmma.mma_async with operands that differ between lanes");
    }
}
// The four warps of a warpgroup issue the same products.
inline void check_warpgroup(Warp &warp, Product const &product, int line) {
    Block &block = *warp.block;
    if (block.warps.size() % 4) SOUNDLINE_FAIL(machine.running, line, "wgmma", "wgmma.mma_async wants whole warpgroups");
    if (block.warpgroups.empty()) block.warpgroups.resize(block.warps.size() / 4);
    auto &products = block.warpgroups[warp.index / 4].products;
    uint64_t const mine = product.a * 0x9e3779b97f4a7c15ull ^ product.b;
    if (warp.products == products.size())
        products.push_back({mine, line});
    else if (products[warp.products].first != mine || products[warp.products].second != line)
        SOUNDLINE_FAIL(machine.running, line, "wgmma", "wgmma.mma_async differs from that of another warp of the warpgroup (line %d)",
                       products[warp.products].second);
    ++warp.products;
}
inline void take_left(Warp &warp, Issued &one, int line) {
    for (size_t lane = 0; lane < 32; ++lane) {
        uint32_t const *words = static_cast<Product *>(warp.slots[lane])->registers;
        check_registers(warp, lane, words, 16, "A in registers", line);
        int const group = int(lane) >> 2, number = int(lane) % 4;
        for (int i = 0; i < 4; ++i) {
            int const row = group + 8 * (i & 1), half = i >> 1;
            if (one.product.type == TF32) {
                one.left[row][number + 4 * half] = of_tf32(words[i]);
            } else {
                one.left[row][number * 2 + 8 * half] = widened(one.product.type, uint16_t(words[i]));
                one.left[row][number * 2 + 1 + 8 * half] = widened(one.product.type, uint16_t(words[i] >> 16));
            }
        }
    }
}
inline void issue(Warp &warp, int line) {
    Product const &product = *static_cast<Product *>(warp.slots[0]);
    check_uniform(warp, product, line);
    check_warpgroup(warp, product, line);
    warp.issued.push_back({product, warp.groups, line, when(), through_generic(), false, {}});
    Issued &one = warp.issued.back();
    if (product.registers) take_left(warp, one, line);
    for (size_t lane = 0; lane < 32; ++lane) {
        float *d = static_cast<Product *>(warp.slots[lane])->d;
        check_registers(warp, lane, d, product.scale_d ? size_t(product.n) * 2 : 0, "the accumulator", line);
    }
    if (!in_flight(warp, product.d)) {
        auto fresh = std::make_unique<Accumulator>();
        fresh->n = product.n;
        fresh->line = line;
        for (size_t lane = 0; lane < 32; ++lane) fresh->lanes[lane] = static_cast<Product *>(warp.slots[lane])->d;
        gather(*fresh, fresh->before);
        fresh->value = fresh->before;
        warp.accumulators.push_back(std::move(fresh));
    } else if (in_flight(warp, product.d)->n != product.n) {
        SOUNDLINE_FAIL(machine.running, line, "wgmma", "two products of different N are in flight on one accumulator");
    }
    if (one.when == When::AT_ONCE) land_products(warp, warp.issued.size());
}

void wgmma_multiply(Product const &product, int line) {
    meet_all("wgmma.mma_async.sync.aligned", line, const_cast<Product *>(&product), [line](Warp &warp) { issue(warp, line); });
}
void wgmma_commit(int line) {
    meet_all("wgmma.commit_group.sync.aligned", line, nullptr, [](Warp &warp) { ++warp.groups; });
}
void wgmma_wait(int pending, int line) {
    meet_all("wgmma.wait_group.sync.aligned", line, nullptr, [pending](Warp &warp) {
        auto &issued = warp.issued;
        size_t upto = 0;
        while (upto < issued.size() && issued[upto].group < warp.groups - pending) ++upto;
        land_products(warp, upto);
        issued.erase(issued.begin(), issued.begin() + std::ptrdiff_t(upto));
        auto const waited = [&](std::unique_ptr<Accumulator> const &each) {
            for (Issued const &one : issued)
                if (one.product.d == each->lanes[0]) return false;
            write_back(warp, *each);
            return true;
        };
        auto &all = warp.accumulators;
        all.erase(std::remove_if(all.begin(), all.end(), waited), all.end());
        if (machine.report.made) leave();
    });
}

}  // namespace soundline_emulator
