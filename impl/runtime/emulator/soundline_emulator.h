// soundline_emulator.h: what a compiled program and the emulator know of each other.
//
// The program is compiled against soundline_ptx.cuh and cuda_runtime.h, which call the functions of this file; the
// emulator, which is compiled once for all programs, has their bodies. Every function of a thread takes the line of the
// program that calls it, for reports.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};

struct soundline_device;

namespace soundline_emulator {

// What the thread whose turn it is knows of itself.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

// One launch, of a kernel that `invoke` calls with `args` for each thread.
struct Launch {
    char const *kernel;
    void (*invoke)(void const *function, void const *args);
    void const *function, *args;
    dim3 grid, block;
    unsigned cluster_dim;
    size_t shared_bytes;
};

enum Type { F16, BF16, F32, F64, U32, S32, U64, TF32 };

// Blocks ---------------------------------------------------------------------------------------------------------
unsigned char *dynamic_shared();
uint32_t shared_address(void const *at, int line);
uint32_t cluster_address(void const *at, uint32_t cta, int line);
uint32_t cluster_rank();
void block_barrier(int id, int threads, int line);  // threads 0: the whole block
void warp_barrier(uint32_t mask, int line);
void cluster_barrier_arrive(int line);
void cluster_barrier_wait(int line);
void proxy_fence(int line);
void proxy_fence_of_shared(int line);
void mbarrier_init_fence(int line);
bool elect(int line);
void set_registers(int registers, bool more, int line);

// mbarriers ------------------------------------------------------------------------------------------------------
void mbarrier_init(uint64_t *bar, uint32_t count, int line);
void mbarrier_inval(uint64_t *bar, int line);
void mbarrier_arrive(uint64_t *bar, int cta, int64_t expect, int line);  // cta -1: its own; expect -1: none
bool mbarrier_wait(uint64_t *bar, uint32_t parity, int line);

// Asynchronous copies --------------------------------------------------------------------------------------------
void copy_async(void *dst, void const *src, int bytes, int line);
void copy_commit(int line);
void copy_wait(int pending, int line);  // -1: all, committed or not
void copy_arrive(uint64_t *bar, int line);
void bulk_load(void *dst, void const *src, uint32_t bytes, uint64_t *bar, int line);
void bulk_store(void *dst, void const *src, uint32_t bytes, int line);
void tensor_load(int rank, void *dst, void const *map, uint64_t *bar, int const *starts, int ctas, int line);
void tensor_store(int rank, void const *map, int const *starts, void const *src, bool add, int line);
void bulk_commit(int line);
void bulk_wait(int pending, int line);

// Warps ----------------------------------------------------------------------------------------------------------
void load_matrices(int count, bool transposed, uint32_t *words, void const *row, int line);
void multiply(Type type, int k, float *d, uint32_t const *a, uint32_t const *b, int line);
enum Shuffle { IDX, BFLY, UP, DOWN };
uint32_t shuffle(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane, int line);

// wgmma ----------------------------------------------------------------------------------------------------------
struct Product {
    Type type;
    int n;
    bool transposed;
    int scale_d;
    float *d;
    uint32_t const *registers;  // A in registers, else 0
    uint64_t a, b;              // descriptors
};
void wgmma_fence(int line);
void wgmma_multiply(Product const &product, int line);
void wgmma_commit(int line);
void wgmma_wait(int pending, int line);

// Conversions and atomic operations -------------------------------------------------------------------------------
uint16_t f16_of(float);
float of_f16(uint16_t);
uint16_t bf16_of(float);

// The host's side ------------------------------------------------------------------------------------------------
int allocate(void **to, size_t bytes);
int release(void *at);
int launch(Launch const &);
int launch_registered(void const *function, void const *args, dim3 grid, dim3 block, unsigned cluster_dim,
                      size_t shared_bytes);
int encode_tensor_map(void *map, int type, unsigned rank, void *address, uint64_t const *sizes, uint64_t const *strides,
                      uint32_t const *box, int swizzle);
int attribute(int which);
void register_kernel(char const *name, void const *function, void (*invoke)(void const *, void const *));

// A kernel of one parameter can be called by whoever has its bytes; one of several is only named.
template <class A>
void invoke_one(void const *function, void const *args) {
    reinterpret_cast<void (*)(A)>(const_cast<void *>(function))(*static_cast<A const *>(args));
}
template <class A>
void registered(char const *name, void (*kernel)(A)) {
    register_kernel(name, reinterpret_cast<void const *>(kernel), &invoke_one<A>);
}
template <class... A>
void registered(char const *name, void (*kernel)(A...)) {
    register_kernel(name, reinterpret_cast<void const *>(kernel), nullptr);
}

}  // namespace soundline_emulator

// The table of functions that the CPU part of a program is given.
extern "C" struct soundline_device *soundline_emulated_device();
