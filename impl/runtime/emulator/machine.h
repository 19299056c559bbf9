// machine.h: threads, warps, blocks and clusters, and whose turn it is.
//
// The blocks of one cluster run together; clusters run one after another. A thread runs until it waits for something:
// then the next one of the queue of ready threads has its turn. The order is the seed's: as threads come (0), the last
// first (1), so that a warp runs as far as it can, any of them (even seeds), or the warp that counts most, which changes
// now and then (odd seeds). Where no thread is ready, the latest possible moment has come for asynchronous
// operations that somebody waits for; where there are none, the kernel hangs, and that is reported.
#pragma once

#include <string.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fibers.h"
#include "soundline_emulator.h"

namespace soundline_emulator {

struct Block;
struct Warp;
struct Mbarrier;

constexpr uint32_t SHARED_START = 1024;  // of the shared window, the first kilobyte is the system's
constexpr unsigned char POISON = 0xff;   // floats of every size: NaN

// What a thread may wait for.
enum class Wait { NOTHING, BLOCK_BARRIER, WARP, CLUSTER_BARRIER, MBARRIER, EXITED };

// When an asynchronous operation happens: at once, at some time, or as late as what waits for it allows.
enum class When : uint8_t { AT_ONCE, SOME_TIME, LATEST };

struct Copy {  // cp.async
    void *dst;
    void const *src;
    int bytes, group;
    uint64_t sequence;
    int line;
    When when;
    bool done;
};
struct Store {  // cp.async.bulk to global memory
    std::function<void()> act;
    int group, line;
    When when;
    bool done;
};

struct Fiber {
    void *sp = nullptr;
    Warp *warp = nullptr;
    Block *block = nullptr;
    uint3 index{};
    unsigned linear = 0, lane = 0;
    Wait wait = Wait::NOTHING;
    char const *doing = "";  // the instruction at which it waits
    int line = 0;            // of what it called last
    size_t stack = 0;
    char *top = nullptr;
    // What it waits for: a barrier of the block, or a phase of an mbarrier
    int barrier = 0, threads = 0;
    Mbarrier *mbarrier = nullptr;
    uint32_t parity = 0;
    bool cluster_arrived = false;
    uint64_t cluster_phase = 0;
    // Asynchronous copies and the number of groups committed
    std::vector<Copy> copies;
    int copy_groups = 0;
    uint64_t begun = 0, copied = 0;  // copies begun, and those of them that an arrive waits for
    std::vector<Store> stores;
    int store_groups = 0;
};

// A wgmma that a warp issued, and the accumulators that it has in flight.
struct Issued {
    Product product;  // d is lane 0's
    int group, line;
    When when;
    bool through_generic, done;
    float left[16][16];  // A where it is in registers
};
struct Accumulator {
    float *lanes[32];
    int n, line;
    std::vector<float> before, value;  // 16 rows of n
};
struct Snapshot {  // the stack of a lane as of its last wgmma.fence
    char *low = nullptr;
    std::vector<char> bytes;
};

struct Warp {
    Block *block = nullptr;
    unsigned index = 0;
    std::vector<Fiber *> lanes;
    // Where lanes meet
    char const *meeting = nullptr;
    int meeting_line = 0;
    uint32_t met = 0;
    void *slots[32] = {};
    // wgmma
    std::vector<Issued> issued;
    std::vector<std::unique_ptr<Accumulator>> accumulators;
    std::vector<Snapshot> snapshots;
    int groups = 0;
    uint64_t products = 0;
    uint32_t exited = 0, urgency = 0;
    unsigned registers = 0;  // of a thread, as setmaxnreg said
    int registers_line = 0;

    uint32_t all() const { return lanes.size() == 32 ? 0xffffffffu : (1u << lanes.size()) - 1; }
};

struct Mbarrier {
    Block *block = nullptr;
    uint32_t at = 0;  // offset in shared memory
    bool live = false, fenced = false;
    uint32_t count = 0, pending = 0;
    int64_t tx = 0;
    uint64_t phase = 0;
    int line = 0;  // of its initialization
    Fiber *by = nullptr;
    std::vector<Fiber *> waiting;
};

struct NamedBarrier {
    int threads = 0;
    std::vector<Fiber *> waiting;
};

// What the four warps of a warpgroup issue must be the same; the first one to issue says what.
struct Warpgroup {
    std::vector<std::pair<uint64_t, int>> products;
};

struct Block {
    uint3 index{};
    unsigned rank = 0;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<Warpgroup> warpgroups;
    unsigned exited = 0;
    unsigned char *generic = nullptr;       // shared memory as threads see it
    unsigned char *asynchronous = nullptr;  // as the asynchronous proxy sees it
    NamedBarrier barriers[16];
    std::unordered_map<uint32_t, std::unique_ptr<Mbarrier>> mbarriers;
};

// A load by the asynchronous proxy, or an arrive that waits for a thread's copies.
struct Pending {
    Fiber *by;
    std::vector<Mbarrier *> mbarriers;
    std::function<void()> act;
    char const *what;
    int line;
    When when;
    bool is_by_copies = false;
};

struct Report {
    bool made = false;
    std::string kind, kernel, text, waits;
    unsigned block[3] = {}, thread = 0;
    bool has_thread = false;
    int line = 0;
};

enum class Order { LATEST, RANDOM, EARLIEST };

struct Machine {
    Launch const *launch = nullptr;
    std::vector<Block> blocks;  // of the cluster that runs
    std::vector<Pending> pending;
    Fiber *running = nullptr;
    void *scheduler = nullptr;
    Stacks stacks;
    // The queue of those ready to run
    std::vector<Fiber *> ring;
    size_t head = 0, count = 0;
    // The barrier of the cluster
    unsigned alive = 0, arrived = 0;
    uint64_t cluster_phase = 0;
    std::vector<Fiber *> cluster_waiting;
    // What was asked for
    uint64_t seed = 0, state = 1;
    Order order = Order::LATEST;
    int multiprocessors = 4;
    Report report;
};

inline Machine machine;
inline uint64_t random_bits() {
    uint64_t x = machine.state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
inline uint64_t random_below(uint64_t bound) { return random_bits() % bound; }

// Reports ------------------------------------------------------------------------------------------------------------

[[gnu::format(printf, 4, 5)]] void report(Fiber *by, int line, char const *kind, char const *format, ...);
[[noreturn]] void leave();

// Ends the run with a report; in a thread it does not return.
#define SOUNDLINE_FAIL(...)        \
    do {                           \
        report(__VA_ARGS__);       \
        if (machine.running) leave(); \
    } while (0)

// Turns --------------------------------------------------------------------------------------------------------------

inline void make_ready(Fiber *fiber) {
    fiber->wait = Wait::NOTHING;
    size_t const mask = machine.ring.size() - 1;
    machine.ring[(machine.head + machine.count++) & mask] = fiber;
}
inline void make_ready(std::vector<Fiber *> &fibers) {
    for (Fiber *fiber : fibers) make_ready(fiber);
    fibers.clear();
}
// Of the ready threads, the first of the warp that counts most.
inline size_t most_urgent() {
    size_t const mask = machine.ring.size() - 1;
    size_t best = machine.head & mask;
    for (size_t i = 1; i < machine.count; ++i) {
        size_t const other = (machine.head + i) & mask;
        if (machine.ring[other]->warp->urgency > machine.ring[best]->warp->urgency) best = other;
    }
    return best;
}
inline Fiber *take_ready() {
    size_t const mask = machine.ring.size() - 1;
    if (machine.seed == 1) return machine.ring[(machine.head + --machine.count) & mask];
    if (machine.seed > 1) {
        size_t const other = machine.seed & 1 ? most_urgent() : (machine.head + random_below(machine.count)) & mask;
        std::swap(machine.ring[machine.head & mask], machine.ring[other]);
    }
    --machine.count;
    return machine.ring[machine.head++ & mask];
}
// Gives up the turn until somebody makes the thread ready.
inline void pause(Wait wait, char const *doing, int line) {
    Fiber *self = machine.running;
    self->wait = wait;
    self->doing = doing;
    self->line = line;
    switch_stacks(&self->sp, machine.scheduler);
}

void land_some();
// What every instruction of a thread begins with: in random orders others may have a turn, and operations happen.
inline Fiber *enter(int line) {
    Fiber *self = machine.running;
    self->line = line;
    if (machine.order == Order::RANDOM) land_some();
    if (machine.seed > 1 && (random_bits() & (machine.seed & 1 ? 15 : 3)) == 0) {
        self->warp->urgency = uint32_t(random_bits());
        make_ready(self);
        switch_stacks(&self->sp, machine.scheduler);
    }
    return self;
}
// After a thread has told others something: in random orders they may act on it before it goes on.
inline void told_others(Fiber *self) {
    if (machine.seed > 1 && (random_bits() & 3) == 0) {
        make_ready(self);
        switch_stacks(&self->sp, machine.scheduler);
    }
}
inline When when() {
    if (machine.order == Order::LATEST) return When::LATEST;
    if (machine.order == Order::EARLIEST) return When::AT_ONCE;
    return When(random_below(3));
}

// What threads wrote and no fence published may reach an asynchronous operation or not; in random orders it sometimes
// does, so that a write which comes too early is seen as well as one that comes too late.
inline bool through_generic() { return machine.order == Order::RANDOM && (random_bits() & 1); }

// Lanes of a warp meet: the last one acts for all of them, then all go on.
template <class Act>
inline void meet(char const *what, int line, uint32_t mask, void *mine, Act act) {
    Fiber *self = enter(line);
    Warp &warp = *self->warp;
    uint32_t const bit = 1u << self->lane;
    if (!(mask & bit))
        SOUNDLINE_FAIL(self, line, "warp", "%s with a mask %08x that does not name the thread itself, lane %u", what, mask,
             self->lane);
    if ((warp.met & mask) && strcmp(warp.meeting, what) != 0)
        SOUNDLINE_FAIL(self, line, "warp", "lane %u executes %s while other lanes of warp %u wait at %s", self->lane, what,
             warp.index, warp.meeting);
    if (!warp.met) {
        warp.meeting = what;
        warp.meeting_line = line;
    }
    warp.met |= bit;
    warp.slots[self->lane] = mine;
    if ((warp.met & mask) != mask) {
        if (uint32_t const gone = warp.exited & mask)
            SOUNDLINE_FAIL(self, line, "exited", "%s waits for lane %d, which has exited", what, __builtin_ctz(gone));
        pause(Wait::WARP, what, line);
        return;
    }
    uint32_t const woken = mask & ~bit;
    warp.met &= ~mask;
    act(warp);
    for (uint32_t rest = woken; rest; rest &= rest - 1) make_ready(warp.lanes[size_t(__builtin_ctz(rest))]);
}
// All 32 lanes, as the .aligned instructions want.
template <class Act>
inline void meet_all(char const *what, int line, void *mine, Act act) {
    Warp &warp = *machine.running->warp;
    if (warp.lanes.size() != 32)
        SOUNDLINE_FAIL(machine.running, line, "warp", "%s wants 32 lanes; warp %u has %zu", what, warp.index, warp.lanes.size());
    if (warp.met && warp.meeting_line != line && strcmp(warp.meeting, what) == 0)
        SOUNDLINE_FAIL(machine.running, line, "warp", "%s is executed here by lane %u and at another line by other lanes of warp %u",
             what, machine.running->lane, warp.index);
    meet(what, line, 0xffffffffu, mine, act);
}

}  // namespace soundline_emulator
