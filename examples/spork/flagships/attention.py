"""Attention, forward: ``python examples/spork/flagships/attention.py``.

Out = softmax(Q @ K.T / sqrt(D)) @ V for each head, without the matrix of scores in memory. A task has 64 * GROUPS
queries of one head, and takes N1 keys and values at a time. For each query the largest score so far, `largest`, and the
sum of the powers, `total`, are kept; when the largest score grows, what was added up before is scaled down.

*Roles*. The producer, a warp, asks TMA for the queries, and then for tiles of keys and of values, which have a ring
each. Each consumer, a warpgroup, has 64 queries. Its scores S and its result `sums` are accumulators of wgmma, and the
powers P are rounded to bf16 in the very registers that hold them, as left operand of the second product.

*Two products at once*. While the tensor cores multiply powers of the tile before with its values, the consumer computes
the powers of the next tile: the scores of the next tile are issued first, so that to await all groups of wgmma but the
last one is to await them. Only after that are the sums awaited and scaled.

A row of an accumulator is held by four lanes. Each adds up the powers that it has by itself; the four are added at the
end.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import soundline as sl

LOWEST = -3.4028234663852886e38  # of f32
LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Tiles:
    """The sizes that are constants of the program."""

    GROUPS: int  # consumers, of 64 queries each
    D: int  # the size of a head
    N1: int  # keys of a tile
    RING: int


REAL = Tiles(GROUPS=2, D=128, N1=128, RING=2)
SMALL = Tiles(GROUPS=1, D=64, N1=16, RING=2)
SIZES = {"HEADS": 1, "QUERIES": 64, "KEYS": 48}


def attention_of(tiles: Tiles) -> sl.spork.SporkProc:
    """The program with tiles of these sizes."""
    GROUPS, D, N1, RING = tiles.GROUPS, tiles.D, tiles.N1, tiles.RING
    M1, BLOCKS = 64 * GROUPS, D // 64  # a row of shared memory has 64 elements, 128 bytes
    SCALE = LOG2E / D**0.5
    WARPS = [
        sl.spork.CudaWarpConfig("producer", 1, setmaxnreg_dec=40),
        sl.spork.CudaWarpConfig("unused", 3, setmaxnreg_dec=40),
        sl.spork.CudaWarpConfig("consumer", 4 * GROUPS, setmaxnreg_inc=232),
    ]

    @sl.spork.proc
    def attention(
        HEADS: size,
        QUERIES: size,
        KEYS: size,
        Q: bf16[HEADS * QUERIES, D] @ CudaGmemLinear,
        K: bf16[HEADS * KEYS, D] @ CudaGmemLinear,
        V: bf16[HEADS * KEYS, D] @ CudaGmemLinear,
        Out: bf16[HEADS * QUERIES, D] @ CudaGmemLinear,
    ):
        """Out = softmax(Q @ K.T / sqrt(D)) @ V, for each head."""
        assert QUERIES % M1 == 0
        assert KEYS % N1 == 0
        Q_map = Q[:, :] @ Sm90_tensorMap(128, M1, 64)
        K_map = K[:, :] @ Sm90_tensorMap(128, N1, 64)
        V_map = V[:, :] @ Sm90_tensorMap(128, N1, 64)
        with CudaDeviceFunction(warp_config=WARPS):
            for head in cuda_tasks(0, HEADS):
                for q in cuda_tasks(0, QUERIES // M1):
                    Q_smem: bf16[BLOCKS, M1, 64] @ Sm90_SmemSwizzled(128)
                    K_smem: bf16[RING, BLOCKS, N1, 64] @ Sm90_SmemSwizzled(128)
                    V_smem: bf16[RING, BLOCKS, N1, 64] @ Sm90_SmemSwizzled(128)
                    S: f32[GROUPS, 64, N1] @ Sm90_RmemMatrixD
                    P: bf16[GROUPS, N1 // 16, 64, 16] @ Sm90_RmemMatrixA
                    sums: f32[GROUPS, 64, D] @ Sm90_RmemMatrixD
                    largest: f32[GROUPS, 64, 4] @ Sm90_RmemRows
                    total: f32[GROUPS, 64, 4] @ Sm90_RmemRows
                    own: f32[GROUPS, 64, 4] @ Sm90_RmemRows
                    found: f32[GROUPS, 64, 4] @ Sm90_RmemRows
                    scale: f32[GROUPS, 64, 4] @ Sm90_RmemRows
                    queries: barrier @ CudaMbarrier
                    keys: barrier @ CudaMbarrier
                    values: barrier @ CudaMbarrier
                    group: barrier[GROUPS] @ CudaCommitGroup
                    with CudaWarps(name="producer"):
                        with CudaAsync(tma_to_smem_async):
                            for c in seq(0, BLOCKS):
                                Sm90_copy_tensor_to_smem_2d_bf16(
                                    Q_smem[c, :, :],
                                    Q_map[
                                        QUERIES * head + M1 * q : QUERIES * head + M1 * q + M1,
                                        64 * c : 64 * c + 64,
                                    ],
                                    n0=M1,
                                    n1=64,
                                ) >> queries  # fmt: skip
                            Arrive(tma_to_smem_async, 1) >> queries
                        ReverseAwait(keys, tma_to_smem_async, ~RING)
                        with CudaAsync(tma_to_smem_async):
                            for c in seq(0, BLOCKS):
                                Sm90_copy_tensor_to_smem_2d_bf16(
                                    K_smem[0, c, :, :],
                                    K_map[KEYS * head : KEYS * head + N1, 64 * c : 64 * c + 64],
                                    n0=N1,
                                    n1=64,
                                ) >> keys  # fmt: skip
                            Arrive(tma_to_smem_async, 1) >> keys
                    with CudaWarps(name="consumer"):
                        Await(queries, cuda_generic_and_async_proxy, ~0)
                        Await(keys, cuda_generic_and_async_proxy, ~0)
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            with CudaAsync(wgmma_async):
                                Fence(wgmma_fence_1, wgmma_fence_2)
                                Sm90_zero_scale_d_f32(S[wg, :, :], N=N1)
                                for c in seq(0, BLOCKS):
                                    for i in seq(0, 4):
                                        Sm90_mma_async_bf16(
                                            S[wg, :, :],
                                            Q_smem[c, 64 * wg : 64 * wg + 64, 16 * i : 16 * i + 16],
                                            K_smem[0, c, :, 16 * i : 16 * i + 16],
                                            N=N1,
                                        )
                                Arrive(wgmma_async, 1) >> group[wg]
                            Await(group[wg], cuda_in_order, 0)
                        ReverseArrive(cuda_in_order, 1) >> keys
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            Sm90_rows_fill_f32(own[wg, :, :], LOWEST)
                            Sm90_rows_max_d_f32(own[wg, :, :], S[wg, :, :], N=N1)
                            Sm90_rows_quad_max_f32(largest[wg, :, :], own[wg, :, :])
                            Sm90_d_exp2_rows_f32(S[wg, :, :], largest[wg, :, :], SCALE, N=N1)
                            Sm90_rows_fill_f32(total[wg, :, :], 0.0)
                            Sm90_rows_add_d_f32(total[wg, :, :], S[wg, :, :], N=N1)
                            Sm90_mma_a_from_d_bf16(P[wg, :, :, :], S[wg, :, :], N=N1)
                    for j in seq(1, KEYS // N1):
                        with CudaWarps(name="producer"):
                            ReverseAwait(keys, tma_to_smem_async, ~RING)
                            with CudaAsync(tma_to_smem_async):
                                for c in seq(0, BLOCKS):
                                    Sm90_copy_tensor_to_smem_2d_bf16(
                                        K_smem[j % RING, c, :, :],
                                        K_map[
                                            KEYS * head + N1 * j : KEYS * head + N1 * j + N1,
                                            64 * c : 64 * c + 64,
                                        ],
                                        n0=N1,
                                        n1=64,
                                    ) >> keys  # fmt: skip
                                Arrive(tma_to_smem_async, 1) >> keys
                            ReverseAwait(values, tma_to_smem_async, ~RING)
                            with CudaAsync(tma_to_smem_async):
                                for c in seq(0, BLOCKS):
                                    Sm90_copy_tensor_to_smem_2d_bf16(
                                        V_smem[(j - 1) % RING, c, :, :],
                                        V_map[
                                            KEYS * head + N1 * (j - 1) : KEYS * head + N1 * (j - 1) + N1,
                                            64 * c : 64 * c + 64,
                                        ],
                                        n0=N1,
                                        n1=64,
                                    ) >> values  # fmt: skip
                                Arrive(tma_to_smem_async, 1) >> values
                        with CudaWarps(name="consumer"):
                            Await(keys, cuda_generic_and_async_proxy, ~0)
                            for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                with CudaAsync(wgmma_async):
                                    Fence(wgmma_fence_1, wgmma_fence_2)
                                    Sm90_zero_scale_d_f32(S[wg, :, :], N=N1)
                                    for c in seq(0, BLOCKS):
                                        for i in seq(0, 4):
                                            Sm90_mma_async_bf16(
                                                S[wg, :, :],
                                                Q_smem[c, 64 * wg : 64 * wg + 64, 16 * i : 16 * i + 16],
                                                K_smem[j % RING, c, :, 16 * i : 16 * i + 16],
                                                N=N1,
                                            )
                                    Arrive(wgmma_async, 1) >> group[wg]
                            Await(values, cuda_generic_and_async_proxy, ~0)
                            for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                with CudaAsync(wgmma_async):
                                    Fence(wgmma_fence_1, wgmma_fence_2)
                                    if j == 1:
                                        Sm90_zero_scale_d_f32(sums[wg, :, :], N=D)
                                    for i in seq(0, N1 // 16):
                                        Sm90_mma_async_ra_kn_bf16(
                                            sums[wg, :, :],
                                            P[wg, i, :, :],
                                            V_smem[(j - 1) % RING, :, 16 * i : 16 * i + 16, :],
                                            N=D,
                                        )
                                    Arrive(wgmma_async, 1) >> group[wg]
                                Await(group[wg], cuda_in_order, 1)
                            ReverseArrive(cuda_in_order, 1) >> keys
                            for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                                Sm90_rows_copy_f32(own[wg, :, :], largest[wg, :, :])
                                Sm90_rows_max_d_f32(own[wg, :, :], S[wg, :, :], N=N1)
                                Sm90_rows_quad_max_f32(found[wg, :, :], own[wg, :, :])
                                Sm90_rows_exp2_difference_f32(
                                    scale[wg, :, :], largest[wg, :, :], found[wg, :, :], SCALE
                                )
                                Sm90_rows_copy_f32(largest[wg, :, :], found[wg, :, :])
                                Sm90_d_exp2_rows_f32(S[wg, :, :], largest[wg, :, :], SCALE, N=N1)
                                Sm90_rows_multiply_f32(total[wg, :, :], scale[wg, :, :])
                                Sm90_rows_add_d_f32(total[wg, :, :], S[wg, :, :], N=N1)
                                Await(group[wg], cuda_in_order, 0)
                                Sm90_d_multiply_rows_f32(sums[wg, :, :], scale[wg, :, :], N=D)
                                Sm90_mma_a_from_d_bf16(P[wg, :, :, :], S[wg, :, :], N=N1)
                            ReverseArrive(cuda_in_order, 1) >> values
                    with CudaWarps(name="producer"):
                        ReverseAwait(values, tma_to_smem_async, ~RING)
                        with CudaAsync(tma_to_smem_async):
                            for c in seq(0, BLOCKS):
                                Sm90_copy_tensor_to_smem_2d_bf16(
                                    V_smem[(KEYS // N1 - 1) % RING, c, :, :],
                                    V_map[KEYS * head + KEYS - N1 : KEYS * head + KEYS, 64 * c : 64 * c + 64],
                                    n0=N1,
                                    n1=64,
                                ) >> values  # fmt: skip
                            Arrive(tma_to_smem_async, 1) >> values
                    with CudaWarps(name="consumer"):
                        Await(values, cuda_generic_and_async_proxy, ~0)
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            with CudaAsync(wgmma_async):
                                Fence(wgmma_fence_1, wgmma_fence_2)
                                if KEYS == N1:
                                    Sm90_zero_scale_d_f32(sums[wg, :, :], N=D)
                                for i in seq(0, N1 // 16):
                                    Sm90_mma_async_ra_kn_bf16(
                                        sums[wg, :, :],
                                        P[wg, i, :, :],
                                        V_smem[(KEYS // N1 - 1) % RING, :, 16 * i : 16 * i + 16, :],
                                        N=D,
                                    )
                                Arrive(wgmma_async, 1) >> group[wg]
                            Await(group[wg], cuda_in_order, 0)
                        ReverseArrive(cuda_in_order, 1) >> values
                        for wg in cuda_threads(0, GROUPS, unit=cuda_warpgroup):
                            Sm90_rows_quad_sum_f32(found[wg, :, :], total[wg, :, :])
                            Sm90_rows_recip_f32(scale[wg, :, :], found[wg, :, :])
                            Sm90_d_multiply_rows_f32(sums[wg, :, :], scale[wg, :, :], N=D)
                            Sm90_mma_write_d_columns_bf16(
                                Out[
                                    QUERIES * head + M1 * q + 64 * wg : QUERIES * head
                                    + M1 * q
                                    + 64 * wg
                                    + 64,
                                    :,
                                ],
                                sums[wg, :, :],
                                first=0,
                                columns=D,
                                N=D,
                            )
                    Fence(cuda_in_order, cuda_in_order)

    return attention


attention = attention_of(REAL)
small = attention_of(SMALL)


def arguments() -> dict[str, np.ndarray]:
    """Random numbers."""
    random = np.random.default_rng(0)
    queries, keys = ((SIZES["HEADS"] * SIZES[length], SMALL.D) for length in ("QUERIES", "KEYS"))
    return {
        "Q": random.standard_normal(queries).astype(ml_dtypes.bfloat16),
        "K": random.standard_normal(keys).astype(ml_dtypes.bfloat16),
        "V": random.standard_normal(keys).astype(ml_dtypes.bfloat16),
        "Out": np.full(queries, np.nan, ml_dtypes.bfloat16),
    }


def expected(Q: np.ndarray, K: np.ndarray, V: np.ndarray, Out: np.ndarray) -> dict[str, np.ndarray]:
    """What the arrays that the program writes hold after it, but for rounding."""
    heads, size = SIZES["HEADS"], SMALL.D
    q, k, v = (a.astype(np.float64).reshape(heads, -1, size) for a in (Q, K, V))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(size)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"Out": ((powers / powers.sum(axis=2, keepdims=True)) @ v).reshape(-1, size)}


def main() -> None:
    """Run the program sequentially at small sizes, and check that its threads compute the same."""
    arrays = arguments()
    small.run(**SIZES, **arrays)
    found = arrays["Out"].astype(np.float64)
    print("Out is the attention:", np.allclose(found, expected(**arrays)["Out"], rtol=0, atol=0.02))
    print(small.check(**SIZES).text())


if __name__ == "__main__":
    main()
