// copies.h: asynchronous copies. What they write lands, and what they read is read, at once, at some time, or as late as
// the wait for them allows.
#pragma once

#include <algorithm>

#include "mbarriers.h"

namespace soundline_emulator {

// cp.async: by threads, in groups --------------------------------------------------------------------------------------

inline void land(Copy &copy) {
    if (!copy.done) memcpy(copy.dst, copy.src, size_t(copy.bytes));
    copy.done = true;
}
inline void forget_copies(Fiber &fiber) {
    auto &copies = fiber.copies;
    copies.erase(std::remove_if(copies.begin(), copies.end(), [](Copy const &copy) { return copy.done; }), copies.end());
}
void copy_async(void *dst, void const *src, int bytes, int line) {
    Fiber *self = enter(line);
    shared_offset(self, dst, size_t(bytes), size_t(bytes), "cp.async", line);
    check_global(self, src, size_t(bytes), "cp.async", line);
    self->copies.push_back({dst, src, bytes, self->copy_groups, self->begun++, line, when(), false});
    if (self->copies.back().when == When::AT_ONCE) land(self->copies.back());
}
void copy_commit(int line) { ++enter(line)->copy_groups; }
void copy_wait(int pending, int line) {
    Fiber *self = enter(line);
    int const below = pending < 0 ? self->copy_groups + 1 : self->copy_groups - pending;
    bool all = true;
    for (Copy &copy : self->copies)
        if (copy.group < below)
            land(copy);
        else
            all = false;
    if (all)
        self->copies.clear();
    else
        forget_copies(*self);
}

// Arrives as soon as all copies that its thread has begun are there.
void copy_arrive(uint64_t *at, int line) {
    Fiber *self = enter(line);
    char const *const what = "cp.async.mbarrier.arrive.noinc";
    Mbarrier &bar = own_mbarrier(self, at, what, line);
    uint64_t const limit = self->copied = self->begun;  // copies that it begins later are none of this arrive's
    auto act = [self, &bar, limit, what, line] {
        for (Copy &copy : self->copies)
            if (copy.sequence < limit) land(copy);
        forget_copies(*self);
        arrive_at(self, bar, what, line);
    };
    When const moment = when();
    if (moment == When::AT_ONCE)
        act();
    else
        machine.pending.push_back({self, {&bar}, act, what, line, moment, true});
}

// Operations of the asynchronous proxy --------------------------------------------------------------------------------

// Runs what was begun: an operation that is to happen at once, or later.
inline void begin(Pending operation) {
    operation.when = when();
    if (operation.when == When::AT_ONCE)
        operation.act();
    else
        machine.pending.push_back(std::move(operation));
}
inline void happen(size_t which) {
    Pending const operation = std::move(machine.pending[which]);
    machine.pending.erase(machine.pending.begin() + std::ptrdiff_t(which));
    operation.act();
}

void land_products(Warp &warp, size_t upto);

// In a random order, some of what may happen at some time does.
inline void land_some() {
    uint64_t const dice = random_bits();
    if (dice & 3) return;
    Fiber *self = machine.running;
    if (!machine.pending.empty()) {
        size_t const which = (dice >> 8) % machine.pending.size();
        if (machine.pending[which].when == When::SOME_TIME) happen(which);
    }
    if (!self->copies.empty()) {
        Copy &copy = self->copies[(dice >> 16) % self->copies.size()];
        if (copy.when == When::SOME_TIME) land(copy);
    }
    if (!self->stores.empty()) {
        Store &store = self->stores[(dice >> 24) % self->stores.size()];
        if (store.when == When::SOME_TIME && !store.done) {
            store.act();
            store.done = true;
        }
    }
    auto &issued = self->warp->issued;
    if (!issued.empty()) {
        size_t const which = (dice >> 32) % issued.size();
        if (issued[which].when == When::SOME_TIME) land_products(*self->warp, which + 1);
    }
    if (machine.report.made) leave();
}

// Nobody can go on: the moment has come for what somebody waits for, then for anything else. Which of the operations it
// is; as many as there are where there is none.
inline size_t next_late() {
    auto &pending = machine.pending;
    std::vector<size_t> wanted;
    for (size_t i = 0; i < pending.size(); ++i)
        for (Mbarrier const *bar : pending[i].mbarriers)
            if (!bar->waiting.empty()) {
                wanted.push_back(i);
                break;
            }
    if (pending.empty()) return 0;
    bool const random = machine.order == Order::RANDOM;
    if (wanted.empty()) return random ? random_below(pending.size()) : 0;
    return wanted[random ? random_below(wanted.size()) : 0];
}

inline Mbarrier &asynchronous_mbarrier(Fiber *self, Block &block, uint32_t offset, char const *what, int line) {
    Mbarrier &bar = mbarrier_at(self, block, offset, what, line);
    check_fenced(self, bar, what, line);
    return bar;
}
inline void check_bulk(Fiber *self, void const *global, uint32_t bytes, char const *what, int line) {
    check_global(self, global, 16, what, line);
    if (bytes % 16) SOUNDLINE_FAIL(self, line, "alignment", "%s wants a multiple of 16 bytes; got %u", what, bytes);
}

void bulk_load(void *dst, void const *src, uint32_t bytes, uint64_t *at, int line) {
    Fiber *self = enter(line);
    char const *const what = "cp.async.bulk.shared::cluster.global";
    uint32_t const offset = shared_offset(self, dst, bytes, 16, what, line);
    check_bulk(self, src, bytes, what, line);
    Block &block = *self->block;
    Mbarrier &bar = asynchronous_mbarrier(self, block, shared_offset(self, at, 8, 8, what, line), what, line);
    std::ptrdiff_t const distance = through_generic() ? 0 : asynchronous_distance(src);
    begin({self, {&bar}, [=, &block, &bar] {
               write_shared(block, offset, static_cast<char const *>(src) + distance, bytes);
               complete_tx(self, bar, bytes, line);
           }, what, line, When::LATEST});
}

// Copies to global memory wait in the groups of their thread.
inline void begin_store(Fiber *self, std::function<void()> act, int line) {
    When const moment = when();
    if (moment == When::AT_ONCE) act();
    self->stores.push_back({std::move(act), self->store_groups, line, moment, moment == When::AT_ONCE});
}
void bulk_store(void *dst, void const *src, uint32_t bytes, int line) {
    Fiber *self = enter(line);
    char const *const what = "cp.async.bulk.global.shared::cta";
    uint32_t const offset = shared_offset(self, src, bytes, 16, what, line);
    check_bulk(self, dst, bytes, what, line);
    Block const &block = *self->block;
    unsigned char const *view = through_generic() ? block.generic : block.asynchronous;
    begin_store(self, [=] {
        write_global(static_cast<char *>(dst), bytes, [=](char *at) { memcpy(at, view + offset, bytes); });
    }, line);
}
void bulk_commit(int line) { ++enter(line)->store_groups; }
void bulk_wait(int pending, int line) {
    Fiber *self = enter(line);
    auto &stores = self->stores;
    for (Store &store : stores)
        if (store.group < self->store_groups - pending && !store.done) {
            store.act();
            store.done = true;
        }
    stores.erase(std::remove_if(stores.begin(), stores.end(), [](Store const &store) { return store.done; }), stores.end());
}

}  // namespace soundline_emulator
