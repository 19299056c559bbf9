// global_memory.h: memory of the device, and what the asynchronous proxy sees of it.
//
// An array that a tensor map describes has a copy while a kernel runs, which asynchronous operations read, and which a
// proxy fence brings up to date. So that a fence costs nothing where no thread has written to the array, threads may not
// write to it at first: the fault of the first one who does is caught, and from then on they may, and fences copy.
#pragma once

#include <map>

#include "blocks.h"

namespace soundline_emulator {

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
constexpr bool CATCHES_FAULTS = true;
#else
constexpr bool CATCHES_FAULTS = false;
#endif

inline size_t page() { return size_t(sysconf(_SC_PAGESIZE)); }

// Memory between two pages that nobody may touch, and which begins as late as its alignment allows.
struct Region {
    char *mapped = nullptr, *start = nullptr;
    size_t room = 0, size = 0;
    bool has_map = false, writable = true;
    char *copy_mapped = nullptr, *copy = nullptr;

    size_t middle() const { return room - 2 * page(); }
};

inline bool map_region(Region &region, size_t bytes, size_t alignment) {
    size_t const used = (bytes + alignment - 1) / alignment * alignment;
    size_t const middle = (used + page() - 1) / page() * page();
    region.room = middle + 2 * page();
    region.size = bytes;
    void *at = mmap(nullptr, region.room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    region.mapped = static_cast<char *>(at);
    if (middle && mprotect(region.mapped + page(), middle, PROT_READ | PROT_WRITE) != 0) {
        munmap(region.mapped, region.room);
        region.mapped = nullptr;
        return false;
    }
    region.start = region.mapped + page() + middle - used;
    memset(region.mapped + page(), POISON, middle);
    return true;
}

inline std::map<char *, Region> allocated;  // by where they start

inline Region *region_of(void const *at) {
    char *const address = static_cast<char *>(const_cast<void *>(at));
    auto found = allocated.upper_bound(address);
    if (found == allocated.begin()) return nullptr;
    Region &region = (--found)->second;
    return address < region.mapped + region.room ? &region : nullptr;
}

inline void allow_writing(Region &region, bool allowed) {
    mprotect(region.mapped + page(), region.middle(), allowed ? PROT_READ | PROT_WRITE : PROT_READ);
}

// A kernel begins and ends.
inline void watch_regions() {
    for (auto &entry : allocated) {
        Region &region = entry.second;
        if (!CATCHES_FAULTS || !region.has_map || region.middle() == 0) continue;
        Region copy;
        if (!map_region(copy, region.middle(), page())) continue;
        region.copy_mapped = copy.mapped;
        region.copy = copy.start + (region.start - (region.mapped + page()));
        memcpy(copy.start, region.mapped + page(), region.middle());
        region.writable = false;
        allow_writing(region, false);
    }
}
inline void forget_copies_of_regions() {
    for (auto &entry : allocated) {
        Region &region = entry.second;
        if (!region.copy_mapped) continue;
        if (!region.writable) allow_writing(region, true);
        region.writable = true;
        munmap(region.copy_mapped, region.room);
        region.copy_mapped = region.copy = nullptr;
    }
}
// Whether a fault is the first write of a thread to an array, which then goes on.
inline bool first_write(void *at) {
    Region *region = region_of(at);
    if (!region || region->writable) return false;
    region->writable = true;
    allow_writing(*region, true);
    return true;
}
inline void publish_regions() {
    for (auto &entry : allocated) {
        Region &region = entry.second;
        if (region.copy && region.writable) memcpy(region.copy, region.start, region.size);
    }
}

// How far the bytes that the asynchronous proxy sees lie from those that threads see.
inline std::ptrdiff_t asynchronous_distance(void const *at) {
    Region const *region = region_of(at);
    return region && region->copy ? region->copy - region->start : 0;
}
// What the asynchronous proxy writes.
template <class Write>
inline void write_global(char *to, size_t bytes, Write write) {
    Region *region = region_of(to);
    if (!region || !region->copy) return write(to);
    char *const copy = to + (region->copy - region->start);
    if (!region->writable) allow_writing(*region, true);
    std::vector<char> const before(copy, copy + bytes);
    write(copy);
    for (size_t i = 0; i < bytes; ++i)
        if (to[i] == before[i]) to[i] = copy[i];
    if (!region->writable) allow_writing(*region, false);
}

}  // namespace soundline_emulator
