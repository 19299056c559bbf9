// Mbarriers of a cluster, for text that was generated and is executed lane by lane in sequential order.
//
// Each call of an instruction is logged. A wait for a phase that is not complete, an arrival too many, bytes that were
// never announced and an mbarrier that is not initialized end the program with what was wrong.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define __device__
#define __forceinline__ inline

static struct {
    unsigned x;
} threadIdx;
static unsigned rank_of_cta;

struct Mbarrier {
    int count = 0, pending = 0, bytes = 0, phase = 0;
};
static const int CTAS = 16, MOST = 1024;
static Mbarrier mbarriers[CTAS][MOST];
alignas(8) static unsigned char memory[CTAS][8 * MOST];

static unsigned char *soundline_dynamic_shared() { return memory[rank_of_cta]; }

static void fail(char const *what) {
    std::printf("! %s\n", what);
    std::fflush(stdout);
    std::exit(0);
}

static int number_of(uint64_t *bar) { return int(bar - reinterpret_cast<uint64_t *>(memory[rank_of_cta])); }

static void arrive(char const *how, unsigned cta, uint64_t *bar, uint32_t bytes) {
    int k = number_of(bar);
    Mbarrier &at = mbarriers[cta][k];
    if (at.count == 0) fail("an arrive at no mbarrier");
    std::printf("%s %u %d %u\n", how, cta, k, bytes);
    at.bytes += int(bytes);
    if (--at.pending == 0 && at.bytes == 0) ++at.phase, at.pending = at.count;
    if (at.pending == 0) fail("all have arrived, and not all bytes are there");
}

static bool wait(uint64_t *bar, uint32_t parity) {
    int k = number_of(bar);
    Mbarrier const &at = mbarriers[rank_of_cta][k];
    if (at.count == 0) fail("a wait for no mbarrier");
    std::printf("wait %u %d %u\n", rank_of_cta, k, parity);
    if ((at.phase & 1) == int(parity)) fail("a wait for ever");
    return true;
}

// What TMA does at the mbarriers of CTAs; the bytes are announced after that.
static void copied(uint64_t *bar, unsigned ctas, int bytes) {
    for (unsigned cta = 0; cta < CTAS; ++cta)
        if (ctas >> cta & 1) mbarriers[cta][number_of(bar)].bytes -= bytes;
}

static void __syncwarp() {}

namespace ptx {
static bool elect_sync() { return threadIdx.x % 32 == 0; }
static uint32_t cluster_ctarank() { return rank_of_cta; }
static void barrier_cta_sync(int) {}
static void barrier_cluster_arrive() {}
static void barrier_cluster_wait() {}
static void fence_proxy_async() {}
static void cp_async_commit_group() {}
static void cp_async_bulk_commit_group() {}
static void wgmma_commit_group_sync_aligned() {}
static void cp_async_wait_all() {}
template <int N> static void cp_async_wait_group() {}
template <int N> static void cp_async_bulk_wait_group() {}
template <int N> static void wgmma_wait_group_sync_aligned() {}
static void fence_mbarrier_init_release_cluster() {}
static void mbarrier_init_shared_b64(uint64_t *bar, uint32_t count) {
    Mbarrier &at = mbarriers[rank_of_cta][number_of(bar)];
    if (at.count != 0) fail("an mbarrier that is initialized again");
    at = Mbarrier{int(count), int(count), 0, 0};
}
static void mbarrier_inval_shared_b64(uint64_t *bar) {
    Mbarrier &at = mbarriers[rank_of_cta][number_of(bar)];
    if (at.count == 0) fail("no mbarrier to invalidate");
    if (at.pending != at.count || at.bytes != 0) fail("an mbarrier in the middle of a phase");
    std::printf("end %u %d %d\n", rank_of_cta, number_of(bar), at.phase);
    at.count = 0;
}
static void mbarrier_arrive_shared_b64(uint64_t *bar) { arrive("arrive", rank_of_cta, bar, 0); }
static void cp_async_mbarrier_arrive_noinc_shared_b64(uint64_t *bar) { arrive("noinc", rank_of_cta, bar, 0); }
static void mbarrier_arrive_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta) {
    arrive("arrive", cta, bar, 0);
}
static void mbarrier_arrive_expect_tx_shared_b64(uint64_t *bar, uint32_t bytes) {
    arrive("expect", rank_of_cta, bar, bytes);
}
static void mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(uint64_t *bar, uint32_t cta, uint32_t bytes) {
    arrive("expect", cta, bar, bytes);
}
static bool mbarrier_try_wait_parity_shared_b64(uint64_t *bar, uint32_t parity) { return wait(bar, parity); }
static bool mbarrier_test_wait_parity_shared_b64(uint64_t *bar, uint32_t parity) { return wait(bar, parity); }
static bool mbarrier_try_wait_parity_acquire_cluster_shared_b64(uint64_t *bar, uint32_t parity) {
    return wait(bar, parity);
}
} // namespace ptx
