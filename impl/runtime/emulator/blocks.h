// blocks.h: shared memory, its addresses, and the barriers of warps, blocks and clusters.
#pragma once

#include <algorithm>

#include "reports.h"

namespace soundline_emulator {

// Shared memory ------------------------------------------------------------------------------------------------------

inline bool in_shared(Block const &block, void const *at, size_t bytes) {
    auto const start = reinterpret_cast<uintptr_t>(block.generic), from = reinterpret_cast<uintptr_t>(at);
    return from >= start && bytes <= machine.launch->shared_bytes && from - start <= machine.launch->shared_bytes - bytes;
}
// The offset of an address in dynamic shared memory of the thread's own block.
inline uint32_t shared_offset(Fiber *self, void const *at, size_t bytes, size_t alignment, char const *what, int line) {
    Block const &block = *self->block;
    if (!in_shared(block, at, bytes))
        SOUNDLINE_FAIL(self, line, "memory", "%s of %zu bytes outside the %zu bytes of dynamic shared memory of the block (offset %lld)",
             what, bytes, machine.launch->shared_bytes,
             static_cast<long long>(static_cast<unsigned char const *>(at) - block.generic));
    uint32_t const offset = uint32_t(static_cast<unsigned char const *>(at) - block.generic);
    if (offset % alignment)
        SOUNDLINE_FAIL(self, line, "alignment", "%s wants an address in shared memory that is a multiple of %zu bytes; got offset %u", what,
             alignment, offset);
    return offset;
}
inline void check_global(Fiber *self, void const *at, size_t alignment, char const *what, int line) {
    if (reinterpret_cast<uintptr_t>(at) % alignment)
        SOUNDLINE_FAIL(self, line, "alignment", "%s wants an address in global memory that is a multiple of %zu bytes; got %p", what,
             alignment, at);
}

unsigned char *dynamic_shared() { return machine.running->block->generic; }
uint32_t shared_address(void const *at, int line) {
    return shared_offset(machine.running, at, 0, 1, "cvta.to.shared", line) + SHARED_START;
}
// In the window of a cluster, the bits above those of an offset are the rank of the block.
uint32_t cluster_address(void const *at, uint32_t cta, int line) {
    return shared_address(at, line) | cta << 24;
}
uint32_t cluster_rank() { return machine.running->block->rank; }

inline Block &block_of_rank(Fiber *self, uint32_t rank, char const *what, int line) {
    if (rank >= machine.blocks.size())
        SOUNDLINE_FAIL(self, line, "cluster", "%s names block %u of a cluster of %zu", what, rank, machine.blocks.size());
    Block &block = machine.blocks[rank];
    if (block.exited == block.fibers.size())
        SOUNDLINE_FAIL(self, line, "exited", "%s reaches the shared memory of block %u of the cluster, which has exited", what, rank);
    return block;
}

void publish_regions();

// A copy of shared memory is what asynchronous operations see; a fence brings it up to date. Which thread wrote what is
// not known: a fence publishes all that has been written before it.
void proxy_fence(int line) {
    Fiber *self = enter(line);
    Block &block = *self->block;
    memcpy(block.asynchronous, block.generic, machine.launch->shared_bytes);
    publish_regions();
    for (auto &entry : block.mbarriers)
        if (entry.second->by == self) entry.second->fenced = true;
}
// Where threads have written and no fence has followed, what the asynchronous proxy writes is lost to them: theirs may
// arrive after it.
inline void write_shared(Block &block, uint32_t offset, void const *from, size_t bytes) {
    unsigned char *const generic = block.generic + offset, *const asynchronous = block.asynchronous + offset;
    if (memcmp(generic, asynchronous, bytes) == 0) {
        memcpy(generic, from, bytes);
    } else {
        for (size_t i = 0; i < bytes; ++i)
            if (generic[i] == asynchronous[i]) generic[i] = static_cast<unsigned char const *>(from)[i];
    }
    memcpy(asynchronous, from, bytes);
}

// Barriers -----------------------------------------------------------------------------------------------------------

inline void check_exited(Block &block, NamedBarrier &barrier, int id) {
    if (barrier.waiting.empty() || block.exited == 0 || barrier.threads != int(block.fibers.size())) return;
    Fiber *first = barrier.waiting.front();
    report(first, first->line, "exited", "%s %d waits for all %d threads of the block, of which %u have exited", first->doing, id,
         barrier.threads, block.exited);
}

void block_barrier(int id, int threads, int line) {
    Fiber *self = enter(line);
    Block &block = *self->block;
    char const *const what = "barrier.cta.sync";
    if (id < 0 || id > 15) SOUNDLINE_FAIL(self, line, "barrier", "%s wants a barrier from 0 to 15; got %d", what, id);
    int const all = int(block.fibers.size());
    if (threads == 0) threads = all;
    if (threads != all && (threads < 0 || threads % 32))
        SOUNDLINE_FAIL(self, line, "barrier", "%s %d wants a number of threads that is a multiple of 32; got %d", what, id, threads);
    if (threads > all)
        SOUNDLINE_FAIL(self, line, "barrier", "%s %d is to wait for %d threads of a block of %d", what, id, threads, all);
    NamedBarrier &barrier = block.barriers[id];
    if (barrier.waiting.empty()) {
        barrier.threads = threads;
    } else if (barrier.threads != threads) {
        SOUNDLINE_FAIL(self, line, "barrier", "%s %d with %d threads, while thread %u waits at it with %d (line %d)", what, id, threads,
             barrier.waiting.front()->linear, barrier.threads, barrier.waiting.front()->line);
    }
    if (int(barrier.waiting.size()) + 1 == threads) {
        make_ready(barrier.waiting);
        return;
    }
    self->barrier = id;
    self->threads = threads;
    barrier.waiting.push_back(self);
    self->doing = what;
    check_exited(block, barrier, id);
    if (machine.report.made) leave();
    pause(Wait::BLOCK_BARRIER, what, line);
}

constexpr char const *SYNCWARP = "__syncwarp";

void warp_barrier(uint32_t mask, int line) {
    Warp &warp = *machine.running->warp;
    meet(SYNCWARP, line, mask & warp.all() & ~warp.exited, nullptr, [](Warp &) {});
}

bool elect(int line) {
    meet_all("elect.sync", line, nullptr, [](Warp &) {});
    return machine.running->lane == 0;
}

void set_registers(int registers, bool more, int line) {
    char const *const what = more ? "setmaxnreg.inc.sync.aligned" : "setmaxnreg.dec.sync.aligned";
    meet_all(what, line, nullptr, [registers, line](Warp &warp) {
        warp.registers = unsigned(registers);
        warp.registers_line = line;
    });
}
// When a block ends: its warps have not asked for more than there is, in which case one of them would wait for ever, and
// the warps of a warpgroup have asked for the same.
constexpr unsigned REGISTERS = 65536;

inline void check_registers_of(Block &block) {
    unsigned const at_launch = std::min(255u, REGISTERS / unsigned(block.fibers.size()) / 8 * 8);
    unsigned all = 0;
    Warp *asked = nullptr;
    for (Warp &warp : block.warps) {
        Warp const &first = block.warps[warp.index / 4 * 4];
        if (warp.registers != first.registers)
            return report(warp.lanes[0], std::max(warp.registers_line, first.registers_line), "registers",
                          "setmaxnreg by some warps of a warpgroup and not by all, or of different numbers");
        if (warp.registers && (!asked || warp.registers > asked->registers)) asked = &warp;
        all += 32 * (warp.registers ? warp.registers : at_launch);
    }
    if (asked && all > REGISTERS)
        report(asked->lanes[0], asked->registers_line, "registers",
               "setmaxnreg waits for ever: the warps of the block ask for %u registers, and there are %u", all, REGISTERS);
}

// The barrier of a cluster waits for all its threads that have not exited.
inline void complete_cluster_barrier() {
    if (machine.arrived == 0 || machine.arrived < machine.alive) return;
    machine.arrived = 0;
    ++machine.cluster_phase;
    make_ready(machine.cluster_waiting);
}
void cluster_barrier_arrive(int line) {
    Fiber *self = enter(line);
    if (self->cluster_arrived)
        SOUNDLINE_FAIL(self, line, "barrier", "barrier.cluster.arrive twice without barrier.cluster.wait between");
    self->cluster_arrived = true;
    self->cluster_phase = machine.cluster_phase;
    ++machine.arrived;
    complete_cluster_barrier();
}
void cluster_barrier_wait(int line) {
    Fiber *self = enter(line);
    if (!self->cluster_arrived) SOUNDLINE_FAIL(self, line, "barrier", "barrier.cluster.wait without barrier.cluster.arrive before it");
    self->cluster_arrived = false;
    if (machine.cluster_phase != self->cluster_phase) return;
    machine.cluster_waiting.push_back(self);
    pause(Wait::CLUSTER_BARRIER, "barrier.cluster.wait", line);
}

// A thread ends ------------------------------------------------------------------------------------------------------

inline void check_meeting(Warp &warp, Fiber *self) {
    if (!warp.met) return;
    if (strcmp(warp.meeting, SYNCWARP) != 0) {
        Fiber *first = warp.lanes[__builtin_ctz(warp.met)];
        report(first, first->line, "exited", "%s waits for lane %u, which has exited", warp.meeting, self->lane);
    } else if (warp.met == (warp.all() & ~warp.exited)) {
        for (uint32_t rest = warp.met; rest; rest &= rest - 1) make_ready(warp.lanes[__builtin_ctz(rest)]);
        warp.met = 0;
    }
}
inline void check_unfinished(Fiber *self) {
    for (Copy const &copy : self->copies)
        if (!copy.done && copy.sequence >= self->copied) {
            report(self, copy.line, "unfinished", "cp.async is in flight when its thread ends: nothing waits for it");
            return;
        }
    for (Store const &store : self->stores)
        if (!store.done) {
            report(self, store.line, "unfinished", "a bulk copy to global memory is in flight when its thread ends: nothing waits for it");
            return;
        }
    for (Issued const &one : self->warp->issued)
        if (!one.done) {
            report(self, one.line, "unfinished", "wgmma.mma_async is in flight when its warp ends: nothing waits for it");
            return;
        }
}
inline void thread_ends(Fiber *self) {
    Block &block = *self->block;
    check_unfinished(self);
    self->wait = Wait::EXITED;
    if (++block.exited == block.fibers.size()) check_registers_of(block);
    self->warp->exited |= 1u << self->lane;
    check_meeting(*self->warp, self);
    for (int id = 0; id < 16; ++id) check_exited(block, block.barriers[id], id);
    --machine.alive;
    if (self->cluster_arrived && self->cluster_phase == machine.cluster_phase) --machine.arrived;
    complete_cluster_barrier();
}

}  // namespace soundline_emulator
