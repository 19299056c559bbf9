// reports.h: what is said of a kernel that goes wrong, and how its threads are left.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "machine.h"

namespace soundline_emulator {

inline std::string text_of(char const *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    return text;
}
[[gnu::format(printf, 1, 2)]] inline std::string format(char const *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string const text = text_of(format, arguments);
    va_end(arguments);
    return text;
}

// The first report of a launch counts; what follows it is a consequence.
inline void report(Fiber *by, int line, char const *kind, char const *format, ...) {
    Report &to = machine.report;
    if (to.made) return;
    va_list arguments;
    va_start(arguments, format);
    to.text = text_of(format, arguments);
    va_end(arguments);
    to.made = true;
    to.kind = kind;
    to.kernel = machine.launch ? machine.launch->kernel : "";
    to.line = line;
    to.waits.clear();
    to.has_thread = by != nullptr;
    if (by) {
        to.thread = by->linear;
        to.block[0] = by->block->index.x, to.block[1] = by->block->index.y, to.block[2] = by->block->index.z;
    }
}

// The thread that ran is left where it is: nothing on its stack wants to be destroyed.
inline void leave() {
    Fiber *self = machine.running;
    switch_stacks(&self->sp, machine.scheduler);
    __builtin_unreachable();
}

inline std::string describe(Mbarrier const &bar) {
    return format("the mbarrier at byte %u of the shared memory of block (%u, %u, %u) (phase %llu, %u of %u arrivals pending, "
                  "tx-count %lld)",
                  bar.at, bar.block->index.x, bar.block->index.y, bar.block->index.z,
                  static_cast<unsigned long long>(bar.phase), bar.pending, bar.count, static_cast<long long>(bar.tx));
}

inline std::string waits_of(Fiber const &fiber) {
    switch (fiber.wait) {
        case Wait::MBARRIER: return format("%s, parity %u, of %s", fiber.doing, fiber.parity, describe(*fiber.mbarrier).c_str());
        case Wait::BLOCK_BARRIER:
            return format("%s %d, where %zu of %d threads have arrived", fiber.doing, fiber.barrier,
                          fiber.block->barriers[fiber.barrier].waiting.size(), fiber.threads);
        case Wait::WARP: {
            uint32_t const missing = fiber.warp->all() & ~fiber.warp->met;
            return format("%s, where lane %d is missing", fiber.doing, missing ? __builtin_ctz(missing) : 0);
        }
        case Wait::CLUSTER_BARRIER: return format("%s, where %u of %u threads have arrived", fiber.doing, machine.arrived, machine.alive);
        default: return "nothing";
    }
}

// What every warp waits for, its lanes that wait for the same taken together: records of lines, ended by \x1e, of
// block, warp, first and last thread, lanes, line of the program and text, separated by \x1f.
inline void describe_waits(std::string &out) {
    for (Block &block : machine.blocks)
        for (Warp &warp : block.warps) {
            std::vector<bool> told(warp.lanes.size());
            for (size_t i = 0; i < warp.lanes.size(); ++i) {
                Fiber const &first = *warp.lanes[i];
                if (told[i] || first.wait == Wait::EXITED) continue;
                std::string const what = waits_of(first);
                unsigned lanes = 0;
                size_t last = i;
                for (size_t j = i; j < warp.lanes.size(); ++j) {
                    Fiber const &other = *warp.lanes[j];
                    if (other.wait == Wait::EXITED || other.line != first.line || waits_of(other) != what) continue;
                    told[j] = true;
                    last = j;
                    ++lanes;
                }
                out += format("%u\x1f%u\x1f%u\x1f%u\x1f%u\x1f%d\x1f", block.index.x, warp.index, first.linear,
                              warp.lanes[last]->linear, lanes, first.line);
                out += what;
                out += '\x1e';
            }
        }
}

inline void report_deadlock() {
    Fiber *first = nullptr;
    for (Block &block : machine.blocks)
        for (Fiber &fiber : block.fibers)
            if (!first && fiber.wait != Wait::EXITED) first = &fiber;
    if (!first) return;
    report(first, first->line, "deadlock", "no thread of the cluster can go on; this one waits at %s", waits_of(*first).c_str());
    describe_waits(machine.report.waits);
}

}  // namespace soundline_emulator
