// mbarriers.h: barriers in shared memory, with a phase, pending arrivals and a tx-count.
//
// A phase completes when no arrival is pending and the tx-count is 0. `try_wait` of a parity waits while the phase of
// that parity has not completed: phase 0 has parity 0, and a fresh mbarrier counts as one whose phase of parity 1 has.
#pragma once

#include "global_memory.h"

namespace soundline_emulator {

constexpr int64_t MOST = (1 << 20) - 1;  // of arrivals, and of the tx-count either way

// What the eight bytes hold is the emulator's affair; other bytes there mean that something else was written.
inline uint64_t token(Mbarrier const &bar) { return 0x736c6d6261720000ull + bar.at + (uint64_t(bar.live) << 32); }

inline Mbarrier &mbarrier_at(Fiber *self, Block &block, uint32_t offset, char const *what, int line) {
    auto const found = block.mbarriers.find(offset);
    if (found == block.mbarriers.end() || !found->second->live)
        SOUNDLINE_FAIL(self, line, "mbarrier", "%s of byte %u of shared memory, where no mbarrier is initialized", what, offset);
    Mbarrier &bar = *found->second;
    uint64_t held;
    memcpy(&held, block.generic + offset, 8);
    if (held != token(bar))
        SOUNDLINE_FAIL(self, line, "mbarrier", "%s of %s, whose bytes were overwritten", what, describe(bar).c_str());
    return bar;
}
inline Mbarrier &own_mbarrier(Fiber *self, uint64_t *bar, char const *what, int line) {
    return mbarrier_at(self, *self->block, shared_offset(self, bar, 8, 8, what, line), what, line);
}

inline void complete_phase(Mbarrier &bar) {
    if (bar.pending != 0 || bar.tx != 0) return;
    ++bar.phase;
    bar.pending = bar.count;
    make_ready(bar.waiting);
}
inline void count_tx(Fiber *self, Mbarrier &bar, int64_t bytes, char const *what, int line) {
    bar.tx += bytes;
    if (bar.tx > MOST || bar.tx < -MOST)
        SOUNDLINE_FAIL(self, line, "mbarrier", "%s makes the tx-count of %s leave its range of 20 bits", what, describe(bar).c_str());
}
inline void arrive_at(Fiber *self, Mbarrier &bar, char const *what, int line) {
    if (bar.pending == 0)
        SOUNDLINE_FAIL(self, line, "mbarrier", "%s at %s: more arrivals than it was initialized for", what, describe(bar).c_str());
    --bar.pending;
    complete_phase(bar);
}
inline void complete_tx(Fiber *self, Mbarrier &bar, int64_t bytes, int line) {
    count_tx(self, bar, -bytes, "complete_tx", line);
    complete_phase(bar);
}

void mbarrier_init(uint64_t *at, uint32_t count, int line) {
    Fiber *self = enter(line);
    char const *const what = "mbarrier.init";
    uint32_t const offset = shared_offset(self, at, 8, 8, what, line);
    auto &slot = self->block->mbarriers[offset];
    if (!slot) slot = std::make_unique<Mbarrier>();
    Mbarrier &bar = *slot;
    if (bar.live)
        SOUNDLINE_FAIL(self, line, "mbarrier", "mbarrier.init of %s, which line %d initialized and nobody invalidated",
                       describe(bar).c_str(), bar.line);
    if (count < 1 || count > MOST)
        SOUNDLINE_FAIL(self, line, "mbarrier", "mbarrier.init wants a count from 1 to %lld; got %u", static_cast<long long>(MOST), count);
    bar.block = self->block;
    bar.at = offset;
    bar.live = true;
    bar.fenced = false;
    bar.count = bar.pending = count;
    bar.tx = 0;
    bar.phase = 0;
    bar.line = line;
    bar.by = self;
    uint64_t const held = token(bar);
    memcpy(self->block->generic + offset, &held, 8);
    memcpy(self->block->asynchronous + offset, &held, 8);
}
inline void check_tx(Mbarrier const &bar, Fiber *self, int line) {
    if (bar.tx != 0)
        report(self, line, "mbarrier", "%s ends with bytes that were %s", describe(bar).c_str(),
               bar.tx > 0 ? "expected and never came" : "never expected");
}
void mbarrier_inval(uint64_t *at, int line) {
    Fiber *self = enter(line);
    Mbarrier &bar = own_mbarrier(self, at, "mbarrier.inval", line);
    if (!bar.waiting.empty())
        SOUNDLINE_FAIL(self, line, "mbarrier", "mbarrier.inval of %s, at which thread %u waits", describe(bar).c_str(),
                       bar.waiting.front()->linear);
    for (Pending const &operation : machine.pending)
        for (Mbarrier const *target : operation.mbarriers)
            if (target == &bar)
                SOUNDLINE_FAIL(self, line, "mbarrier", "mbarrier.inval of %s while %s of line %d is in flight", describe(bar).c_str(),
                               operation.what, operation.line);
    check_tx(bar, self, line);
    if (machine.report.made) leave();
    bar.live = false;
    memset(self->block->generic + bar.at, POISON, 8);
    memset(self->block->asynchronous + bar.at, POISON, 8);
}
void mbarrier_init_fence(int line) {
    Fiber *self = enter(line);
    for (auto &entry : self->block->mbarriers)
        if (entry.second->by == self) entry.second->fenced = true;
}
// Another block and the asynchronous proxy see an mbarrier only after a fence by the thread that initialized it.
inline void check_fenced(Fiber *self, Mbarrier const &bar, char const *what, int line) {
    if (!bar.fenced)
        SOUNDLINE_FAIL(self, line, "mbarrier",
                       "%s of %s, initialized at line %d without fence.mbarrier_init or fence.proxy.async after it", what,
                       describe(bar).c_str(), bar.line);
}

void mbarrier_arrive(uint64_t *at, int cta, int64_t expect, int line) {
    Fiber *self = enter(line);
    char const *const what = expect >= 0 ? "mbarrier.arrive.expect_tx" : "mbarrier.arrive";
    uint32_t const offset = shared_offset(self, at, 8, 8, what, line);
    Block &block = cta < 0 ? *self->block : block_of_rank(self, uint32_t(cta), what, line);
    Mbarrier &bar = mbarrier_at(self, block, offset, what, line);
    if (&block != self->block) check_fenced(self, bar, what, line);
    if (expect >= 0) count_tx(self, bar, expect, what, line);
    arrive_at(self, bar, what, line);
    told_others(self);
}

bool mbarrier_wait(uint64_t *at, uint32_t parity, int line) {
    Fiber *self = enter(line);
    char const *const what = "mbarrier.try_wait.parity";
    if (parity > 1) SOUNDLINE_FAIL(self, line, "mbarrier", "%s wants a parity of 0 or 1; got %u", what, parity);
    Mbarrier *bar = &own_mbarrier(self, at, what, line);
    // What polls sees the phase of that moment: it can miss one that came and went.
    while ((bar->phase & 1) == parity) {
        self->mbarrier = bar;
        self->parity = parity;
        bar->waiting.push_back(self);
        pause(Wait::MBARRIER, what, line);
        bar = &own_mbarrier(self, at, what, line);
    }
    return true;
}

}  // namespace soundline_emulator
