// emulator.cpp: launches, memory of the device, and what the host asks. Compiled once, for all programs.
#include <dlfcn.h>
#include <stdlib.h>

#include "faults.h"
#include "soundline_host.h"

namespace soundline_emulator {

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// Launches ---------------------------------------------------------------------------------------------------------------

constexpr size_t MOST_SHARED = 227 << 10;
constexpr int INVALID_VALUE = 1, OUT_OF_MEMORY = 2, LAUNCH_FAILURE = 719;

struct Kernel {
    std::string name;
    void const *function;
    void (*invoke)(void const *, void const *);
};
static std::vector<Kernel> kernels;

void register_kernel(char const *name, void const *function, void (*invoke)(void const *, void const *)) {
    kernels.push_back({name, function, invoke});
}

static std::vector<Region> shared_regions;  // two for each rank in the cluster: generic, asynchronous

constexpr size_t SHARED_ALIGNMENT = 1024;
static size_t rounded(size_t bytes) { return (bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT; }

static unsigned char *shared_region(size_t index, size_t bytes) {
    if (shared_regions.size() <= index) shared_regions.resize(index + 1);
    Region &region = shared_regions[index];
    if (region.mapped && region.size != bytes) {
        munmap(region.mapped, region.room);
        region.mapped = nullptr;
    }
    if (!region.mapped && !map_region(region, bytes, SHARED_ALIGNMENT)) return nullptr;
    memset(region.start, POISON, rounded(bytes));
    return reinterpret_cast<unsigned char *>(region.start);
}

constexpr size_t POISONED = 4096;  // bytes of a stack in which a register that was never written is seen

static void begin_thread() {
    machine.launch->invoke(machine.launch->function, machine.launch->args);
    thread_ends(machine.running);
    leave();
}

static void set_up_block(Block &block, unsigned rank, dim3 const &size, uint3 index, size_t first_stack) {
    unsigned const threads = size.x * size.y * size.z, warps = (threads + 31) / 32;
    block.index = index;
    block.rank = rank;
    block.fibers.resize(threads);
    block.warps.resize(warps);
    block.generic = shared_region(2 * rank, machine.launch->shared_bytes);
    block.asynchronous = shared_region(2 * rank + 1, machine.launch->shared_bytes);
    for (unsigned w = 0; w < warps; ++w) {
        block.warps[w].urgency = uint32_t(random_bits());
        block.warps[w].block = &block;
        block.warps[w].index = w;
    }
    for (unsigned i = 0; i < threads; ++i) {
        Fiber &fiber = block.fibers[i];
        fiber.block = &block;
        fiber.warp = &block.warps[i / 32];
        fiber.warp->lanes.push_back(&fiber);
        fiber.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        fiber.linear = i;
        fiber.lane = i % 32;
        fiber.stack = first_stack + i;
        fiber.top = machine.stacks.top(fiber.stack);
        memset(fiber.top - POISONED, POISON, POISONED);
        fiber.sp = first_frame(fiber.top, &begin_thread);
    }
}

template <typename Copies> static bool are_complete(Copies const &copies) {
    for (auto const &copy : copies)
        if (!copy.done) return false;
    return true;
}

static void check_end_of_cluster() {
    for (Pending const &left : machine.pending) {
        // An arrive of copies that are complete, at an mbarrier that ends with its CTA, does nothing to anybody.
        if (left.is_by_copies && are_complete(left.by->copies)) continue;
        report(left.by, left.line, "unfinished", "%s is in flight when its cluster ends: nothing waits for it", left.what);
        break;
    }
    // Up to the next multiple of its alignment, what lies behind shared memory is there, and belongs to nobody.
    size_t const bytes = machine.launch->shared_bytes;
    for (Block &block : machine.blocks)
        for (size_t i = bytes; i < rounded(bytes); ++i)
            if (block.generic[i] != POISON)
                return report(&block.fibers[0], 0, "memory", "byte %zu of the %zu bytes of dynamic shared memory was written", i,
                              bytes);
    for (Block &block : machine.blocks)
        for (auto &entry : block.mbarriers)
            if (entry.second->live) check_tx(*entry.second, entry.second->by, entry.second->line);
}

// What happens when no thread can go on does so on a fiber of its own, which a fault leaves like any other.
static Fiber service;
static size_t late;

static void begin_service() {
    happen(late);
    leave();
}
static bool land_late() {
    late = next_late();
    if (late >= machine.pending.size()) return false;
    Pending const &operation = machine.pending[late];
    service.block = operation.by->block;
    service.linear = operation.by->linear;
    service.line = operation.line;
    service.stack = machine.blocks.size() * machine.blocks[0].fibers.size();
    service.top = machine.stacks.top(service.stack);
    service.sp = first_frame(service.top, &begin_service);
    machine.running = &service;
    switch_stacks(&machine.scheduler, service.sp);
    machine.running = nullptr;
    return true;
}

static void run_threads() {
    Block const *turn = nullptr;
    while (!machine.report.made) {
        if (machine.count == 0) {
            if (machine.alive == 0) return check_end_of_cluster();
            if (!land_late()) return report_deadlock();
            continue;
        }
        Fiber *next = take_ready();
        threadIdx = next->index;
        if (next->block != turn) {
            turn = next->block;
            blockIdx = turn->index;
        }
        machine.running = next;
        switch_stacks(&machine.scheduler, next->sp);
        machine.running = nullptr;
    }
}

static void run_cluster(uint64_t number) {
    Launch const &launch = *machine.launch;
    unsigned const threads = launch.block.x * launch.block.y * launch.block.z;
    machine.blocks.clear();
    machine.blocks.resize(launch.cluster_dim);
    machine.pending.clear();
    machine.cluster_waiting.clear();
    machine.cluster_phase = machine.arrived = 0;
    machine.alive = threads * launch.cluster_dim;
    size_t ring = 1;
    while (ring < machine.alive) ring *= 2;
    machine.ring.assign(ring, nullptr);
    machine.head = machine.count = 0;
    std::vector<Fiber *> all;
    for (unsigned rank = 0; rank < launch.cluster_dim; ++rank) {
        uint64_t const linear = number * launch.cluster_dim + rank;
        uint3 const index{unsigned(linear % launch.grid.x), unsigned(linear / launch.grid.x % launch.grid.y),
                          unsigned(linear / launch.grid.x / launch.grid.y)};
        set_up_block(machine.blocks[rank], rank, launch.block, index, size_t(rank) * threads);
        if (!machine.blocks[rank].generic || !machine.blocks[rank].asynchronous)
            return report(nullptr, 0, "launch", "there is no memory for the shared memory of a block");
        for (Fiber &fiber : machine.blocks[rank].fibers) all.push_back(&fiber);
    }
    make_ready(all);
    run_threads();
}

static char const *refusal(Launch const &launch) {
    uint64_t const threads = uint64_t(launch.block.x) * launch.block.y * launch.block.z;
    if (threads < 1 || threads > 1024) return "a block has 1 to 1024 threads";
    if (launch.cluster_dim < 1 || launch.cluster_dim > 16) return "a cluster has 1 to 16 blocks";
    if (!launch.grid.x || !launch.grid.y || !launch.grid.z) return "a grid has blocks";
    if (launch.grid.x % launch.cluster_dim) return "the blocks of a grid are a multiple of those of a cluster";
    if (launch.shared_bytes > MOST_SHARED) return "a block has at most 232448 bytes of dynamic shared memory";
    return nullptr;
}

int launch(Launch const &given) {
    if (machine.report.made) return LAUNCH_FAILURE;  // an error of a kernel stays
    Launch launch = given;
    for (Kernel const &kernel : kernels)
        if (kernel.function == launch.function) launch.kernel = kernel.name.c_str();
    machine.launch = &launch;
    machine.state = machine.seed * 0x2545f4914f6cdd1dull + 1;
    if (char const *why = refusal(launch)) {
        report(nullptr, 0, "launch", "%s; got a grid of %u, blocks of %u, clusters of %u and %zu bytes", why, launch.grid.x,
               launch.block.x * launch.block.y * launch.block.z, launch.cluster_dim, launch.shared_bytes);
        machine.launch = nullptr;
        return INVALID_VALUE;
    }
    blockDim = launch.block;
    gridDim = launch.grid;
    uint64_t const clusters = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z / launch.cluster_dim;
    catch_faults();
    watch_regions();
    for (uint64_t i = 0; i < clusters && !machine.report.made; ++i) run_cluster(machine.seed == 1 ? clusters - 1 - i : i);
    forget_copies_of_regions();
    release_faults();
    machine.launch = nullptr;
    return machine.report.made ? LAUNCH_FAILURE : 0;
}

int launch_registered(void const *function, void const *args, dim3 grid, dim3 block, unsigned cluster_dim,
                      size_t shared_bytes) {
    for (Kernel const &kernel : kernels)
        if (kernel.function == function && kernel.invoke)
            return launch({kernel.name.c_str(), kernel.invoke, function, args, grid, block, cluster_dim, shared_bytes});
    report(nullptr, 0, "launch", "a function is launched that is no kernel of one parameter");
    return INVALID_VALUE;
}

// Memory -----------------------------------------------------------------------------------------------------------------

int allocate(void **to, size_t bytes) {
    Region region;
    if (!map_region(region, bytes, 256)) return OUT_OF_MEMORY;
    *to = region.start;
    allocated[region.start] = region;
    return 0;
}
int release(void *at) {
    if (!at) return 0;
    auto const found = allocated.find(static_cast<char *>(at));
    if (found == allocated.end()) return INVALID_VALUE;
    munmap(found->second.mapped, found->second.room);
    allocated.erase(found);
    return 0;
}

int attribute(int which) {
    switch (which) {
        case 0: return machine.report.made ? LAUNCH_FAILURE : 0;
        case 1: return 1024;
        case 10: return 32;
        case 16: return machine.multiprocessors;
        case 75: return 9;
        case 97: return int(MOST_SHARED);
    }
    return 0;
}

// The table for the CPU part ---------------------------------------------------------------------------------------------

static int table_allocate(void *, void **to, size_t bytes) { return allocate(to, bytes); }
static int table_release(void *, void *at) { return release(at); }
static int table_copy(void *, void *to, void const *from, size_t bytes, int) {
    if (machine.report.made) return LAUNCH_FAILURE;
    if (bytes) memcpy(to, from, bytes);
    return 0;
}
static int table_copy_rows(void *, void *to, size_t to_pitch, void const *from, size_t from_pitch, size_t width, size_t rows,
                           int) {
    if (machine.report.made) return LAUNCH_FAILURE;
    for (size_t row = 0; row < rows && width; ++row)
        memcpy(static_cast<char *>(to) + row * to_pitch, static_cast<char const *>(from) + row * from_pitch, width);
    return 0;
}
int encode_tensor_map(void *map, int type, unsigned rank, void *address, uint64_t const *sizes, uint64_t const *strides,
                      uint32_t const *box, int swizzle) {
    std::string const why = encode(map, type, rank, address, sizes, strides, box, swizzle);
    if (why.empty()) return 0;
    report(nullptr, 0, "tensor map", "a tensor map wants %s", why.c_str());
    return INVALID_VALUE;
}
static int table_tensor_map(void *, void *map, int type, unsigned rank, void *address, uint64_t const *sizes,
                            uint64_t const *strides, uint32_t const *box, int swizzle) {
    return encode_tensor_map(map, type, rank, address, sizes, strides, box, swizzle);
}
static int table_launch(void *, struct soundline_launch const *given) {
    for (Kernel const &kernel : kernels) {
        if (!kernel.invoke || (given->function ? kernel.function != given->function : kernel.name != given->kernel)) continue;
        int64_t const grid = soundline_grid(given, machine.multiprocessors);
        return launch({given->kernel, kernel.invoke, kernel.function, given->args, dim3(unsigned(grid)), dim3(given->block_dim),
                       given->cluster_dim, given->shared_bytes});
    }
    report(nullptr, 0, "launch", "the program has no kernel %s", given->kernel);
    return INVALID_VALUE;
}
static soundline_device table = {nullptr,         table_allocate,   table_release, table_copy,
                                 table_copy_rows, table_tensor_map, table_launch};

static std::string told;

}  // namespace soundline_emulator

// What Python calls --------------------------------------------------------------------------------------------------------

extern "C" {

struct soundline_device *soundline_emulated_device() { return &soundline_emulator::table; }

// Before a program is loaded: only its kernels count.
void soundline_emulated_forget_kernels() { soundline_emulator::kernels.clear(); }

// Before a run: the order of threads, when asynchronous operations happen (0 latest, 1 random, 2 at once), and how many
// multiprocessors there are. What the last run reported is forgotten, and what it allocated is released.
void soundline_emulated_begin(uint64_t seed, int order, int multiprocessors) {
    using namespace soundline_emulator;
    machine.seed = seed;
    machine.order = Order(order);
    machine.multiprocessors = multiprocessors;
    machine.report = Report();
    for (auto &entry : allocated) munmap(entry.second.mapped, entry.second.room);
    allocated.clear();
}

// Memory of the device, as a proc allocates it, until the next run begins; null where there is none.
void *soundline_emulated_memory(size_t bytes) {
    void *found = nullptr;
    return soundline_emulator::allocate(&found, bytes) == 0 ? found : nullptr;
}

// Where in the library of the program the last fault was, as the path of the library and a number; empty for nowhere.
char const *soundline_emulated_fault() {
    using namespace soundline_emulator;
    Dl_info found{};
    void *const at = reinterpret_cast<void *>(fault_counter);
    if (!at || !dladdr(at, &found) || !found.dli_fname) return "";
    told = format("%s\x1d%zu", found.dli_fname, size_t(fault_counter - reinterpret_cast<uintptr_t>(found.dli_fbase)));
    return told.c_str();
}

// What the run reported, its fields separated by \x1d; empty where nothing was.
char const *soundline_emulated_report() {
    using namespace soundline_emulator;
    Report const &from = machine.report;
    if (!from.made) return "";
    told = format("%s\x1d%s\x1d%u\x1d%u\x1d%u\x1d%d\x1d%d\x1d", from.kind.c_str(), from.kernel.c_str(), from.block[0], from.block[1],
                  from.block[2], from.has_thread ? int(from.thread) : -1, from.line);
    told += from.text + "\x1d" + from.waits;
    return told.c_str();
}
}
