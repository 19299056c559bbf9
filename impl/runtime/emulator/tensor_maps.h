// tensor_maps.h: copies of boxes of tensors between global and shared memory, through an encoded map.
#pragma once

#include "copies.h"

namespace soundline_emulator {

constexpr int MOST_RANK = 5;
constexpr uint32_t MAP = 0x50414d54;  // what an encoded map begins with

// The fields of an encoded map. Sizes and boxes are in elements, innermost first; strides in bytes, of all dimensions
// but the innermost. Elements are read with stride 1, dimensions are not interleaved, and what is out of bounds is 0.
struct TensorMap {
    uint32_t magic;
    uint8_t type, rank, swizzle, interleave;
    uint64_t address, sizes[MOST_RANK], strides[MOST_RANK - 1];
    uint16_t box[MOST_RANK];
    uint8_t element_strides[MOST_RANK], fill;
};
static_assert(sizeof(TensorMap) <= 128, "a tensor map has 128 bytes");

inline unsigned element_bytes(int type) {
    constexpr unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < 10 ? sizes[type] : 0;
}

// Writes a map, or says why there is none.
inline std::string encode(void *to, int type, unsigned rank, void *address, uint64_t const *sizes, uint64_t const *strides,
                          uint32_t const *box, int swizzle) {
    unsigned const bytes = element_bytes(type);
    if (!bytes) return format("a type of elements from 0 to 9; got %d", type);
    if (rank < 1 || rank > MOST_RANK) return format("a rank from 1 to 5; got %u", rank);
    if (reinterpret_cast<uintptr_t>(address) % 16) return format("an address that is a multiple of 16; got %p", address);
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return format("a swizzle of 0, 32, 64 or 128 bytes; got %d", swizzle);
    TensorMap map{};
    map.magic = MAP;
    map.type = uint8_t(type);
    map.rank = uint8_t(rank);
    map.swizzle = uint8_t(swizzle);
    map.address = reinterpret_cast<uintptr_t>(address);
    for (unsigned i = 0; i < rank; ++i) {
        if (sizes[i] < 1 || sizes[i] > (uint64_t(1) << 32))
            return format("sizes from 1 to 2^32; got %llu in dimension %u", static_cast<unsigned long long>(sizes[i]), i);
        if (box[i] < 1 || box[i] > 256) return format("a box of 1 to 256 elements; got %u in dimension %u", box[i], i);
        map.sizes[i] = sizes[i];
        map.box[i] = uint16_t(box[i]);
        map.element_strides[i] = 1;
        if (i + 1 == rank) break;
        if (strides[i] % 16 || strides[i] >= (uint64_t(1) << 40))
            return format("strides that are multiples of 16 bytes, below 2^40; got %llu in dimension %u",
                          static_cast<unsigned long long>(strides[i]), i + 1);
        map.strides[i] = strides[i];
    }
    unsigned const row = box[0] * bytes;
    if (row % 16) return format("an innermost box that is a multiple of 16 bytes; got %u", row);
    if (swizzle && int(row) > swizzle) return format("an innermost box of at most %d bytes, the width of the swizzle; got %u", swizzle, row);
    if (Region *region = region_of(address)) {
        uint64_t end = sizes[0] * bytes;
        for (unsigned i = 1; i < rank; ++i) end += (sizes[i] - 1) * strides[i - 1];
        uint64_t const room = uint64_t(region->start + region->size - static_cast<char *>(address));
        if (end > room)
            return format("a tensor within its array; got one of %llu bytes where %llu are",
                          static_cast<unsigned long long>(end), static_cast<unsigned long long>(room));
        region->has_map = true;
    }
    memset(to, 0, 128);
    memcpy(to, &map, sizeof map);
    return "";
}

// The swizzle moves chunks of 16 bytes: bits of the address from the seventh on are added to those from the fourth on.
inline uint32_t swizzled(uint32_t address, int width) {
    switch (width) {
        case 32: return address ^ (address >> 3 & 0x10);
        case 64: return address ^ (address >> 3 & 0x30);
        case 128: return address ^ (address >> 3 & 0x70);
    }
    return address;
}

inline TensorMap decode(Fiber *self, void const *map, int rank, char const *what, int line) {
    TensorMap decoded;
    memcpy(&decoded, map, sizeof decoded);
    if (reinterpret_cast<uintptr_t>(map) % 64)
        SOUNDLINE_FAIL(self, line, "alignment", "%s wants a tensor map at a multiple of 64 bytes", what);
    if (decoded.magic != MAP) SOUNDLINE_FAIL(self, line, "tensor map", "%s of 128 bytes that are no encoded tensor map", what);
    if (decoded.rank != rank)
        SOUNDLINE_FAIL(self, line, "tensor map", "%s with %d coordinates through a map of rank %d", what, rank, decoded.rank);
    return decoded;
}
inline uint32_t box_bytes(TensorMap const &map) {
    uint32_t bytes = element_bytes(map.type);
    for (int i = 0; i < map.rank; ++i) bytes *= map.box[i];
    return bytes;
}

// Calls `act` for each row of a box: its offset in shared memory without swizzle, its address in global memory, and
// which of its elements are within the tensor.
template <class Act>
void rows_of(TensorMap const &map, std::vector<int> const &starts, Act act) {
    uint32_t const bytes = element_bytes(map.type), row = map.box[0] * bytes;
    uint32_t const rows = box_bytes(map) / row;
    int64_t const begin = std::max<int64_t>(0, -int64_t(starts[0]));
    int64_t const end = std::min<int64_t>(map.box[0], int64_t(map.sizes[0]) - starts[0]);
    for (uint32_t index = 0; index < rows; ++index) {
        uint32_t rest = index;
        int64_t offset = 0;
        bool inside = begin < end;
        for (int i = 1; i < map.rank; ++i) {
            int64_t const at = int64_t(starts[size_t(i)]) + rest % map.box[i];
            rest /= map.box[i];
            inside = inside && at >= 0 && at < int64_t(map.sizes[i]);
            offset += at * int64_t(map.strides[i - 1]);
        }
        char *global = reinterpret_cast<char *>(map.address) + offset + int64_t(starts[0]) * bytes;
        act(index * row, global, inside ? begin : 0, inside ? end : 0);
    }
}

inline void load_box(TensorMap const &map, std::vector<int> const &starts, uint32_t to, std::vector<Block *> const &blocks,
                     std::ptrdiff_t distance) {
    uint32_t const bytes = element_bytes(map.type), row = map.box[0] * bytes;
    std::vector<char> buffer(row);
    rows_of(map, starts, [&](uint32_t offset, char *global, int64_t begin, int64_t end) {
        std::fill(buffer.begin(), buffer.end(), 0);
        if (begin < end) memcpy(buffer.data() + begin * bytes, global + distance + begin * bytes, size_t(end - begin) * bytes);
        for (uint32_t at = 0; at < row; at += 16)
            for (Block *block : blocks) write_shared(*block, swizzled(to + offset + at, map.swizzle), buffer.data() + at, 16);
    });
}

template <class T>
void add_row(char *to, char const *from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        T sum, addend;
        memcpy(&sum, to + i * int64_t(sizeof(T)), sizeof(T));
        memcpy(&addend, from + i * int64_t(sizeof(T)), sizeof(T));
        sum = T(sum + addend);
        memcpy(to + i * int64_t(sizeof(T)), &sum, sizeof(T));
    }
}
inline float of_bf16(uint16_t x) {
    uint32_t const bits = uint32_t(x) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
inline void add_halves(char *to, char const *from, int64_t count, float (*widen)(uint16_t), uint16_t (*round)(float)) {
    for (int64_t i = 0; i < count; ++i) {
        uint16_t sum, addend;
        memcpy(&sum, to + 2 * i, 2);
        memcpy(&addend, from + 2 * i, 2);
        sum = round(widen(sum) + widen(addend));
        memcpy(to + 2 * i, &sum, 2);
    }
}
inline void add_elements(int type, char *to, char const *from, int64_t count) {
    switch (type) {
        case 0: return add_row<uint8_t>(to, from, count);
        case 1: return add_row<uint16_t>(to, from, count);
        case 2:
        case 3: return add_row<uint32_t>(to, from, count);
        case 4:
        case 5: return add_row<uint64_t>(to, from, count);
        case 6: return add_halves(to, from, count, of_f16, f16_of);
        case 7: return add_row<float>(to, from, count);
        case 8: return add_row<double>(to, from, count);
        case 9: return add_halves(to, from, count, of_bf16, bf16_of);
    }
}
inline void store_box(TensorMap const &map, std::vector<int> const &starts, uint32_t from, unsigned char const *view, bool add) {
    uint32_t const bytes = element_bytes(map.type), row = map.box[0] * bytes;
    std::vector<char> buffer(row);
    rows_of(map, starts, [&](uint32_t offset, char *global, int64_t begin, int64_t end) {
        if (begin >= end) return;
        for (uint32_t at = 0; at < row; at += 16)
            memcpy(buffer.data() + at, view + swizzled(from + offset + at, map.swizzle), 16);
        write_global(global + begin * bytes, size_t(end - begin) * bytes, [&](char *at) {
            if (add)
                add_elements(map.type, at, buffer.data() + begin * bytes, end - begin);
            else
                memcpy(at, buffer.data() + begin * bytes, size_t(end - begin) * bytes);
        });
    });
}

void tensor_load(int rank, void *dst, void const *encoded, uint64_t *at, int const *starts, int ctas, int line) {
    Fiber *self = enter(line);
    char const *const what = ctas < 0 ? "cp.async.bulk.tensor.shared::cluster.global"
                                      : "cp.async.bulk.tensor.shared::cluster.global.multicast::cluster";
    TensorMap const map = decode(self, encoded, rank, what, line);
    uint32_t const bytes = box_bytes(map);
    uint32_t const offset = shared_offset(self, dst, bytes, 128, what, line);
    uint32_t const bar = shared_offset(self, at, 8, 8, what, line);
    std::vector<Block *> blocks;
    std::vector<Mbarrier *> bars;
    uint32_t const mask = ctas < 0 ? 1u << self->block->rank : uint32_t(ctas);
    if (mask == 0) SOUNDLINE_FAIL(self, line, "cluster", "%s with a mask that names no block", what);
    for (uint32_t rank_of = 0; rank_of < 16; ++rank_of)
        if (mask >> rank_of & 1) {
            blocks.push_back(&block_of_rank(self, rank_of, what, line));
            bars.push_back(&asynchronous_mbarrier(self, *blocks.back(), bar, what, line));
        }
    std::vector<int> const from(starts, starts + rank);
    std::ptrdiff_t const distance = through_generic() ? 0 : asynchronous_distance(reinterpret_cast<void *>(map.address));
    begin({self, bars, [=] {
               load_box(map, from, offset, blocks, distance);
               for (Mbarrier *each : bars) complete_tx(self, *each, bytes, line);
           }, what, line, When::LATEST});
}
void tensor_store(int rank, void const *encoded, int const *starts, void const *src, bool add, int line) {
    Fiber *self = enter(line);
    char const *const what = add ? "cp.reduce.async.bulk.tensor.global.shared::cta" : "cp.async.bulk.tensor.global.shared::cta";
    TensorMap const map = decode(self, encoded, rank, what, line);
    uint32_t const offset = shared_offset(self, src, box_bytes(map), 128, what, line);
    std::vector<int> const to(starts, starts + rank);
    unsigned char const *view = through_generic() ? self->block->generic : self->block->asynchronous;
    begin_store(self, [=] { store_box(map, to, offset, view, add); }, line);
}

}  // namespace soundline_emulator
