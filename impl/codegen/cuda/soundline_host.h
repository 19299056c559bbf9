/* soundline_host.h: what the CPU part of a compiled program asks of whoever runs its device part.
 *
 * A compiled proc takes a `struct soundline_device`, a table of six functions. Three providers exist: the CUDA runtime
 * (soundline_cuda_runtime.cuh), the emulator, and the driver that Python uses. This header is C11 and C++.
 *
 * Every function returns SOUNDLINE_OK (0), or a code of the provider that is not 0, which the proc returns in its turn
 * after it released what it allocated. Codes from 1001 to 1099 are those of the list below.
 *
 * Order. All that is asked of one device happens in the order in which it is asked, as if in one stream. `allocate`,
 * `launch` and `release` may return before the work is done; a copy to the device returns when the
 * host's bytes may be overwritten, and a copy from the device returns when they have arrived. So the CPU never waits
 * elsewhere, and a failure of a kernel may be reported by a later function.
 */
#ifndef SOUNDLINE_HOST_H
#define SOUNDLINE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of copies. */
enum { SOUNDLINE_HOST_TO_DEVICE = 1, SOUNDLINE_DEVICE_TO_HOST = 2 };

/* What a compiled proc returns. */
enum {
    SOUNDLINE_OK = 0,
    SOUNDLINE_TOO_LARGE = 1001,     /* a control value does not fit the 32 bits that the device computes with */
    SOUNDLINE_ASSERTION = 1002,     /* an `assert` of the program is false */
    SOUNDLINE_OUT_OF_MEMORY = 1003, /* the host has no memory for an array of the program */
    SOUNDLINE_NEGATIVE_SIZE = 1004, /* a size is negative */
    SOUNDLINE_GAPS = 1005,          /* a window with gaps where a kernel or a tensor map takes none */
    SOUNDLINE_MISALIGNED = 1006     /* an array in global memory does not begin at a multiple of 16 bytes */
};

/* Types of elements of a tensor map: the values of CUtensorMapDataType. */
enum {
    SOUNDLINE_TENSOR_UINT8 = 0,
    SOUNDLINE_TENSOR_UINT16 = 1,
    SOUNDLINE_TENSOR_UINT32 = 2,
    SOUNDLINE_TENSOR_INT32 = 3,
    SOUNDLINE_TENSOR_UINT64 = 4,
    SOUNDLINE_TENSOR_INT64 = 5,
    SOUNDLINE_TENSOR_FLOAT16 = 6,
    SOUNDLINE_TENSOR_FLOAT32 = 7,
    SOUNDLINE_TENSOR_FLOAT64 = 8,
    SOUNDLINE_TENSOR_BFLOAT16 = 9
};

/* One launch of a kernel. `args` is valid only during the call. */
struct soundline_launch {
    char const *kernel;       /* its name, `<proc>_device<k>` */
    void const *function;     /* the address of the kernel where it is linked in, else 0 */
    void const *args;         /* its only parameter, a `<kernel>_Args` */
    size_t args_bytes;
    unsigned block_dim;       /* threads of a block */
    unsigned cluster_dim;     /* blocks of a cluster; 1 is a launch without clusters */
    unsigned blocks_per_sm;   /* blocks that share a multiprocessor */
    unsigned shared_bytes;    /* dynamic shared memory of a block */
    int64_t tasks;            /* how many tasks there are, at least 1; clusters take them in turns */
};

struct soundline_device {
    void *state;              /* what the provider wants to be given back */
    int (*allocate)(void *state, void **to, size_t bytes);      /* bytes may be 0; aligned to 256 bytes */
    int (*release)(void *state, void *at);
    int (*copy)(void *state, void *to, void const *from, size_t bytes, int kind);
    /* `rows` rows of `width` bytes; a pitch is the distance of rows in bytes */
    int (*copy_rows)(void *state, void *to, size_t to_pitch, void const *from, size_t from_pitch, size_t width,
                     size_t rows, int kind);
    /* Writes the 128 bytes of a tensor map to `map`, which is aligned to 64 bytes, as cuTensorMapEncodeTiled does with
     * element strides of 1, no interleaving and zeros out of bounds. `type` is one of SOUNDLINE_TENSOR_…; `sizes` (rank),
     * `strides_bytes` (rank - 1, since the innermost dimension is contiguous) and `box` (rank) begin with the innermost
     * dimension; `swizzle` is the width of the pattern in bytes: 0, 32, 64 or 128. */
    int (*tensor_map)(void *state, void *map, int type, unsigned rank, void *address, uint64_t const *sizes,
                      uint64_t const *strides_bytes, uint32_t const *box, int swizzle);
    int (*launch)(void *state, struct soundline_launch const *launch);
};

/* A tensor map in the arguments of a kernel; `soundline::tensor_map` on the device. */
struct soundline_tensor_map {
#ifdef __cplusplus
    alignas(64) unsigned char bytes[128];
#else
    _Alignas(64) unsigned char bytes[128];
#endif
};

/* How many blocks a launch starts: as many clusters as the device holds at a time, but no more than there are tasks. */
static inline int64_t soundline_grid(struct soundline_launch const *launch, int64_t multiprocessors) {
    int64_t clusters = multiprocessors * launch->blocks_per_sm / launch->cluster_dim;
    if (clusters < 1) clusters = 1;
    if (clusters > launch->tasks) clusters = launch->tasks;
    return clusters * launch->cluster_dim;
}

/* What generated programs use -------------------------------------------------------------------------------------- */

/* The address of a kernel, where the file with the kernels is linked to the one with the CPU part. */
#ifdef SOUNDLINE_LINKED
#define SOUNDLINE_KERNEL(kernel) ((void const *)(uintptr_t)(kernel))
#else
#define SOUNDLINE_KERNEL(kernel) ((void const *)0)
#endif

/* Division of the law: towards the lesser integer, and by 0 the quotient is 0. */
static inline int64_t soundline_floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t soundline_floor_mod(int64_t a, int64_t b) {
    if (b == 0) return a;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}

/* Whether the device can compute with an integer of control. */
static inline bool soundline_fits(int64_t value) {
    int64_t const room = 1 << 16; /* for what a kernel adds, up to the end of its last tile */
    return INT32_MIN + room <= value && value <= INT32_MAX - room;
}

/* Multiplies a number of tasks by the iterations of one more loop. */
static inline int soundline_tasks(int64_t *tasks, int64_t lo, int64_t hi) {
    if (!soundline_fits(lo) || !soundline_fits(hi)) return SOUNDLINE_TOO_LARGE;
    *tasks *= hi > lo ? hi - lo : 0;
    return soundline_fits(*tasks) ? SOUNDLINE_OK : SOUNDLINE_TOO_LARGE;
}

/* The bytes of an array of some sizes; refuses a negative size, and more bytes than can be counted. */
static inline int soundline_bytes(size_t *bytes, size_t item, int rank, int64_t const *sizes) {
    bool empty = false;
    for (int k = 0; k < rank; k++) {
        if (sizes[k] < 0) return SOUNDLINE_NEGATIVE_SIZE;
        empty = empty || sizes[k] == 0;
    }
    *bytes = empty ? 0 : item;
    for (int k = 0; k < rank && !empty; k++) {
        if ((uint64_t)sizes[k] > (uint64_t)(PTRDIFF_MAX / *bytes)) return SOUNDLINE_TOO_LARGE;
        *bytes *= (size_t)sizes[k];
    }
    return SOUNDLINE_OK;
}

/* A tensor map of a window; of one without elements nothing is asked, since no kernel copies a box of it. */
static inline int soundline_map(struct soundline_device const *device, struct soundline_tensor_map *map, int type,
                                unsigned rank, void *address, uint64_t const *sizes, uint64_t const *strides_bytes,
                                uint32_t const *box, int swizzle) {
    for (size_t k = 0; k < sizeof map->bytes; k++) map->bytes[k] = 0;
    for (unsigned k = 0; k < rank; k++) {
        if (sizes[k] == 0) return SOUNDLINE_OK;
    }
    return device->tensor_map(device->state, map, type, rank, address, sizes, strides_bytes, box, swizzle);
}

#endif
