// Decode attention on CUDA (decode_arguments.h says what it computes). One thread block works on one piece of the plan.
//
// Each warp takes every kWarps-th tile of the piece's tokens and runs alone until the end. It copies the keys and
// values of its tiles into its own part of shared memory, kStages - 1 tiles ahead, with 16-byte asynchronous copies;
// their addresses come from the page table (one lane looks up one token; entries are read one tile before they are
// needed). It multiplies on the tensor cores; the query heads of one KV head are the 16 rows of a product. At the end
// the block joins its warps' results in the order of the warps.
//
// Which element of a row is which k of a product is free as long as both sides agree: a lane takes 16 consecutive bytes
// of a key for its part of two products (four for fp8), so keys need no matrix load, and fp8 keys no shuffles. Values
// are loaded transposed; for fp8, two channels travel as one 16-bit number and are separated by a byte permutation.
// e4m3 becomes fp16, which holds every such number exactly.
//
// Chunks of 16 bytes are swizzled within a row, so that neither reading a key's chunks for eight tokens nor a
// transposed load has bank conflicts.
#include <cuda_runtime.h>

#include <cmath>

#include "validator/kernels/cuda/cuda_launch.h"
#include "validator/kernels/cuda/tensor_cores.cuh"
#include "validator/kernels/decode_plan.h"

namespace kvplan::validator {
namespace {

constexpr unsigned kAll = 0xFFFF'FFFFU;

/// One pipeline: warps of a block, tiles under way of each warp, blocks on a multiprocessor.
struct Pipeline {
  int warps, stages, blocks;
};
constexpr Pipeline kPipelines[kDecodeVariants] = {{4, 3, 2}, {4, 2, 3}, {4, 6, 1}, {8, 3, 1}};

template <Stored kStored, int kSize>
struct Layout {
  static constexpr bool kFp8 = kStored == Stored::kFp8;
  static constexpr bool kBfloat = kStored == Stored::kBf16;
  static_assert(!kFp8 || !kBfloat);
  static constexpr int kTile = kFp8 ? 32 : 16;  // tokens
  static constexpr int kRowBytes = kSize * (kFp8 ? 1 : 2);
  static constexpr int kChunks = kRowBytes / 16;    // of a row
  static constexpr int kRowsAtOnce = 32 / kChunks;  // that one copy of a warp covers
  static constexpr int kCopies = kTile / kRowsAtOnce;
  static constexpr int kTileBytes = kTile * kRowBytes;  // of keys, or of values
  static constexpr int kElements = kFp8 ? 16 : 8;       // of a chunk
  static constexpr int kSteps = kSize / 16;             // products over a key
  static constexpr int kStepsOfChunk = kElements / 4;
  static constexpr int kColumns = kTile / 8;  // products side by side for the scores of a tile
  static constexpr int kOuts = kSize / 8;     // products side by side for the result

  /// Where chunk `chunk` of row `row` is within a tile, in bytes.
  static __device__ __forceinline__ int place(int row, int chunk) {
    const int turn = kChunks == 4 ? (row >> 1) & 3 : ((row & 1) << 2) | ((row >> 1) & 3);
    return row * kRowBytes + (chunk ^ turn) * 16;
  }
};

/// What a lane knows of one token of a tile that is not copied yet.
struct Token {
  int row;      ///< of the pools; -1: behind the end
  bool counts;  ///< neither behind the end nor masked
};

__device__ __forceinline__ Token look_up(const DecodeArguments& a, const DecodeReader& reader, int v,
                                         int end) {
  if (v >= end) return {-1, false};
  int place = v < reader.sinks ? v : v + reader.skip;
  bool counts = true;
  if (a.read_by == ReadBy::kList) place = __ldg(a.list + reader.first + v);
  if (a.read_by == ReadBy::kMask) counts = (__ldg(a.mask + reader.first + (v >> 5)) >> (v & 31) & 1U) != 0;
  const int page = __ldg(a.table + reader.table + (place >> a.page_shift));
  return {page * a.page_rows + reader.kv_head * a.head_rows + (place & ((1 << a.page_shift) - 1)), counts};
}

template <class L>
__device__ __forceinline__ void copy_tile(const DecodeArguments& a, const Token& token, std::uint32_t keys,
                                          int lane) {
  const int chunk = lane % L::kChunks;
#pragma unroll
  for (int i = 0; i < L::kCopies; ++i) {
    const int in_tile = i * L::kRowsAtOnce + lane / L::kChunks;
    const int row = __shfl_sync(kAll, token.row, in_tile);
    const std::int64_t offset = static_cast<std::int64_t>(row < 0 ? 0 : row) * L::kRowBytes + chunk * 16;
    const std::uint32_t to = keys + L::place(in_tile, chunk);
    copy_16(to, static_cast<const char*>(a.k) + offset, row >= 0);
    copy_16(to + L::kTileBytes, static_cast<const char*>(a.v) + offset, row >= 0);
  }
}

/// A lane's part of the queries: rows lane / 4 and lane / 4 + 8, in the order of elements that the keys are read in.
template <class L>
__device__ __forceinline__ void load_queries(const DecodeArguments& a, const DecodePiece& piece, int sequence,
                                             int size, int lane, std::uint32_t (&q)[L::kSteps][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int head = lane / 4 + 8 * half;
    const auto* row = static_cast<const std::uint16_t*>(a.q) +
                      (static_cast<std::int64_t>(sequence) * a.query_heads + piece.head + head) * size;
#pragma unroll
    for (int step = 0; step < L::kSteps; ++step) {
      const int chunk = 4 * (step / L::kStepsOfChunk) + lane % 4;
      const int element = chunk * L::kElements + 4 * (step % L::kStepsOfChunk);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        std::uint32_t bits = 0;
        if (head < piece.heads) bits = *reinterpret_cast<const std::uint32_t*>(row + element + 2 * pair);
        if constexpr (L::kFp8)  // they came as bf16
          bits = packed<false>(__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF'0000U));
        q[step][half + 2 * pair] = bits;
      }
    }
  }
}

template <class L>
__device__ __forceinline__ void score_tile(const std::uint32_t (&q)[L::kSteps][4], std::uint32_t keys,
                                           int lane, float (&scores)[L::kColumns][4]) {
#pragma unroll
  for (int column = 0; column < L::kColumns; ++column) {
#pragma unroll
    for (float& score : scores[column]) score = 0;
    const int row = column * 8 + lane / 4;
#pragma unroll
    for (int step = 0; step < L::kSteps; step += L::kStepsOfChunk) {
      const uint4 x = load_shared_16(keys + L::place(row, 4 * (step / L::kStepsOfChunk) + lane % 4));
      if constexpr (L::kFp8) {
        const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int i = 0; i < 4; ++i)
          multiply_add<false>(scores[column], q[step + i], halves_of_fp8(words[i] & 0xFFFFU),
                              halves_of_fp8(words[i] >> 16));
      } else {
        multiply_add<L::kBfloat>(scores[column], q[step], x.x, x.y);
        multiply_add<L::kBfloat>(scores[column], q[step + 1], x.z, x.w);
      }
    }
  }
}

template <class L>
__device__ __forceinline__ void add_values(const float (&p)[L::kColumns][4], std::uint32_t values, int lane,
                                           float (&sums)[L::kOuts][4]) {
  if constexpr (L::kFp8) {
    std::uint32_t first[4], second[4];
    first[0] = packed<false>(p[0][0], p[0][1]);
    first[1] = packed<false>(p[0][2], p[0][3]);
    first[2] = packed<false>(p[1][0], p[1][1]);
    first[3] = packed<false>(p[1][2], p[1][3]);
    second[0] = packed<false>(p[2][0], p[2][1]);
    second[1] = packed<false>(p[2][2], p[2][3]);
    second[2] = packed<false>(p[3][0], p[3][1]);
    second[3] = packed<false>(p[3][2], p[3][3]);
#pragma unroll
    for (int chunk = 0; chunk < L::kChunks; ++chunk) {
      const uint4 x = load_transposed(values + L::place(lane, chunk));
      const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
      std::uint32_t even[4], odd[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t apart = __byte_perm(words[i], 0, 0x3120);
        even[i] = halves_of_fp8(apart & 0xFFFFU);
        odd[i] = halves_of_fp8(apart >> 16);
      }
      multiply_add<false>(sums[2 * chunk], first, even[0], even[1]);
      multiply_add<false>(sums[2 * chunk + 1], first, odd[0], odd[1]);
      multiply_add<false>(sums[2 * chunk], second, even[2], even[3]);
      multiply_add<false>(sums[2 * chunk + 1], second, odd[2], odd[3]);
    }
  } else {
    std::uint32_t a[4];
    a[0] = packed<L::kBfloat>(p[0][0], p[0][1]);
    a[1] = packed<L::kBfloat>(p[0][2], p[0][3]);
    a[2] = packed<L::kBfloat>(p[1][0], p[1][1]);
    a[3] = packed<L::kBfloat>(p[1][2], p[1][3]);
    const int row = lane % 16;
#pragma unroll
    for (int chunk = 0; chunk < L::kChunks; chunk += 2) {
      const uint4 x = load_transposed(values + L::place(row, chunk + lane / 16));
      multiply_add<L::kBfloat>(sums[chunk], a, x.x, x.y);
      multiply_add<L::kBfloat>(sums[chunk + 1], a, x.z, x.w);
    }
  }
}

/// Channel of column `n` of product `out`.
template <class L>
__device__ __forceinline__ int channel_of(int out, int n) {
  return L::kFp8 ? (out / 2) * 16 + 2 * n + out % 2 : out * 8 + n;
}

/// Softmax so far of rows lane / 4 and lane / 4 + 8; `weight` is this lane's part of the sum.
struct Running {
  float most[2], weight[2];
};

template <class L>
__device__ __forceinline__ void weigh(Running& running, float scale, std::uint32_t counts, int lane,
                                      float (&scores)[L::kColumns][4], float (&sums)[L::kOuts][4]) {
  float most[2] = {running.most[0], running.most[1]};
#pragma unroll
  for (int column = 0; column < L::kColumns; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = column * 8 + 2 * (lane % 4) + (i & 1);
      float& score = scores[column][i];
      score = (counts >> token & 1U) != 0 ? score * scale : -INFINITY;
      most[i / 2] = fmaxf(most[i / 2], score);
    }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    most[half] = fmaxf(most[half], __shfl_xor_sync(kAll, most[half], 1));
    most[half] = fmaxf(most[half], __shfl_xor_sync(kAll, most[half], 2));
  }
  if (__any_sync(kAll, most[0] > running.most[0] || most[1] > running.most[1])) {
    float shrink[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      shrink[half] =
          running.most[half] == -INFINITY ? 0.0F : power_of_two_of(running.most[half] - most[half]);
      running.weight[half] *= shrink[half];
      running.most[half] = most[half];
    }
#pragma unroll
    for (int out = 0; out < L::kOuts; ++out)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[out][i] *= shrink[i / 2];
  }
  const float base[2] = {most[0] == -INFINITY ? 0.0F : most[0], most[1] == -INFINITY ? 0.0F : most[1]};
#pragma unroll
  for (int column = 0; column < L::kColumns; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[column][i] = power_of_two_of(scores[column][i] - base[i / 2]);
      running.weight[i / 2] += scores[column][i];
    }
}

template <class L>
__device__ __forceinline__ void write_logits(const DecodeArguments& a, const DecodePiece& piece, int sequence,
                                             int first, float scale, std::uint32_t counts, int lane,
                                             const float (&scores)[L::kColumns][4]) {
#pragma unroll
  for (int column = 0; column < L::kColumns; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = column * 8 + 2 * (lane % 4) + (i & 1), head = lane / 4 + 8 * (i / 2);
      if (head >= piece.heads || first + token >= piece.end) continue;
      a.logits[(static_cast<std::int64_t>(sequence) * a.query_heads + piece.head + head) * a.logit_stride +
               first + token] = (counts >> token & 1U) != 0 ? scores[column][i] * scale : -INFINITY;
    }
}

__device__ __forceinline__ void store_number(void* out, std::int64_t at, float x, bool half) {
  if (half)
    static_cast<__half*>(out)[at] = __float2half_rn(x);
  else
    static_cast<__nv_bfloat16*>(out)[at] = __float2bfloat16_rn(x);
}

/// All warps' results are in shared memory: [warp][16][2] and [warp][16][size].
template <int kSize, int kWarps>
__device__ __forceinline__ void join_warps(const DecodeArguments& a, const DecodePiece& piece, int sequence,
                                           const float* ml, const float* rows) {
  for (int i = threadIdx.x; i < piece.heads * kSize; i += kWarps * 32) {
    const int head = i / kSize, d = i % kSize;
    float most = -INFINITY, weight = 0, sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, ml[(w * kHeadsOfPiece + head) * 2]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float own = ml[(w * kHeadsOfPiece + head) * 2];
      const float factor = own == -INFINITY ? 0.0F : power_of_two_of(own - most);
      weight += factor * ml[(w * kHeadsOfPiece + head) * 2 + 1];
      sum += factor * rows[(w * kHeadsOfPiece + head) * kSize + d];
    }
    if (piece.row >= 0) {
      const std::int64_t row = piece.row + head;
      a.partial_rows[row * kSize + d] = sum;
      if (d == 0) {
        a.partial_ml[2 * row] = most;
        a.partial_ml[2 * row + 1] = weight;
      }
      continue;
    }
    const std::int64_t row = static_cast<std::int64_t>(sequence) * a.query_heads + piece.head + head;
    store_number(a.out, row * kSize + d, weight > 0 ? sum * (a.value_scale / weight) : 0.0F,
                 a.stored == Stored::kFp16);
    if (d == 0) a.lse[row] = weight > 0 ? most + log2f(weight) : -INFINITY;
  }
}

template <Stored kStored, int kSize, int kWarps, int kStages, int kBlocks>
__global__ void __launch_bounds__(kWarps * 32, kBlocks) decode(const __grid_constant__ DecodeArguments a) {
  using L = Layout<kStored, kSize>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ std::uint32_t counts[kWarps][kStages];
  const DecodePiece piece = a.pieces[blockIdx.x];
  const DecodeReader& reader = piece.of;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t own = shared_address(shared) + warp * (kStages * 2 * L::kTileBytes);

  std::uint32_t q[L::kSteps][4];
  load_queries<L>(a, piece, reader.sequence, kSize, lane, q);
  float sums[L::kOuts][4] = {};
  Running running{{-INFINITY, -INFINITY}, {0, 0}};

  int first = piece.begin + warp * L::kTile;  // of the tile that is computed
  int ahead = first;                          // of the next tile that is looked up
  const auto look = [&] {
    const Token token = look_up(a, reader, ahead + lane % L::kTile, piece.end);
    ahead += kWarps * L::kTile;
    return token;
  };
  int begun = first, filling = 0;  // tile and stage of the next copies
  const auto begin_copies = [&](const Token& of) {
    if (begun < piece.end) {
      const std::uint32_t bits = __ballot_sync(kAll, of.counts);
      if (lane == 0) counts[warp][filling] = bits;
      copy_tile<L>(a, of, own + filling * (2 * L::kTileBytes), lane);
    }
    commit_copies();
    begun += kWarps * L::kTile;
    filling = filling + 1 == kStages ? 0 : filling + 1;
  };
  Token early[kStages - 1];  // looked up side by side, so that the first copies wait for the table once
#pragma unroll
  for (Token& token : early) token = look();
  Token token = look();
#pragma unroll
  for (const Token& of : early) begin_copies(of);
  int stage = 0;
  for (; first < piece.end; first += kWarps * L::kTile) {
    begin_copies(token);
    if (begun < piece.end) token = look();
    wait_copies<kStages - 1>();
    __syncwarp();
    const std::uint32_t keys = own + stage * (2 * L::kTileBytes), bits = counts[warp][stage];
    float scores[L::kColumns][4];
    score_tile<L>(q, keys, lane, scores);
    if (a.logits != nullptr)
      write_logits<L>(a, piece, reader.sequence, first, a.score_scale, bits, lane, scores);
    weigh<L>(running, a.score_scale, bits, lane, scores, sums);
    add_values<L>(scores, keys + L::kTileBytes, lane, sums);
    stage = stage + 1 == kStages ? 0 : stage + 1;
    __syncwarp();
  }
  wait_copies<0>();
  begin_dependents();
  __syncthreads();

  float* const ml = reinterpret_cast<float*>(shared);
  float* const rows = ml + kWarps * kHeadsOfPiece * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int head = warp * kHeadsOfPiece + lane / 4 + 8 * half;
    float weight = running.weight[half];
    weight += __shfl_xor_sync(kAll, weight, 1);
    weight += __shfl_xor_sync(kAll, weight, 2);
    if (lane % 4 == 0) {
      ml[head * 2] = running.most[half];
      ml[head * 2 + 1] = weight;
    }
#pragma unroll
    for (int out = 0; out < L::kOuts; ++out)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        rows[head * kSize + channel_of<L>(out, 2 * (lane % 4) + i)] = sums[out][2 * half + i];
  }
  __syncthreads();
  join_warps<kSize, kWarps>(a, piece, reader.sequence, ml, rows);
}

constexpr int kCombineThreads = 128;

/// A block is one query head of an item.
__global__ void __launch_bounds__(kCombineThreads) combine(const __grid_constant__ CombineArguments a) {
  __shared__ float weights[kMostSplits];
  __shared__ float reduced[kCombineThreads / 32];
  const CombineItem item = a.items[blockIdx.x];
  const int head = blockIdx.y;
  if (head >= item.heads) return;
  wait_for_dependence();
  const auto row_of = [&](int split) {
    return static_cast<std::int64_t>(item.row) + split * item.heads + head;
  };
  float most = -INFINITY;
  for (int s = threadIdx.x; s < item.splits; s += kCombineThreads) {
    weights[s] = a.partial_ml[2 * row_of(s)];
    most = fmaxf(most, weights[s]);
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(kAll, most, lanes));
  if (threadIdx.x % 32 == 0) reduced[threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kCombineThreads / 32; ++w) most = fmaxf(most, reduced[w]);
  __syncthreads();
  float weight = 0;
  for (int s = threadIdx.x; s < item.splits; s += kCombineThreads) {
    weights[s] = weights[s] == -INFINITY ? 0.0F : power_of_two_of(weights[s] - most);
    weight += weights[s] * a.partial_ml[2 * row_of(s) + 1];
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) weight += __shfl_xor_sync(kAll, weight, lanes);
  if (threadIdx.x % 32 == 0) reduced[threadIdx.x / 32] = weight;
  __syncthreads();
  weight = 0;
#pragma unroll
  for (int w = 0; w < kCombineThreads / 32; ++w) weight += reduced[w];
  const std::int64_t to = static_cast<std::int64_t>(item.sequence) * a.query_heads + item.head + head;
  if (threadIdx.x < a.head_size) {
    float sum = 0;
#pragma unroll 8
    for (int s = 0; s < item.splits; ++s)
      sum += weights[s] * a.partial_rows[row_of(s) * a.head_size + threadIdx.x];
    store_number(a.out, to * a.head_size + threadIdx.x, weight > 0 ? sum * (a.value_scale / weight) : 0.0F,
                 a.stored == Stored::kFp16);
  }
  if (threadIdx.x == 0) a.lse[to] = weight > 0 ? most + log2f(weight) : -INFINITY;
}

template <Stored kStored, int kSize, int kVariant>
cudaError_t launch_variant(const DecodeArguments& a, cudaStream_t stream) {
  using L = Layout<kStored, kSize>;
  constexpr Pipeline kPipeline = kPipelines[kVariant];
  constexpr int kTiles = kPipeline.warps * kPipeline.stages * 2 * L::kTileBytes;
  constexpr int kJoin = kPipeline.warps * kHeadsOfPiece * (kSize + 2) * 4;
  constexpr int kShared = kTiles > kJoin ? kTiles : kJoin;
  const auto kernel = decode<kStored, kSize, kPipeline.warps, kPipeline.stages, kPipeline.blocks>;
  const cudaError_t set = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  if (set != cudaSuccess) return set;
  kernel<<<a.piece_count, kPipeline.warps * 32, kShared, stream>>>(a);
  return cudaGetLastError();
}

template <Stored kStored>
cudaError_t launch_stored(const DecodeArguments& a, cudaStream_t stream) {
  if (a.head_size == 64) return launch_variant<kStored, 64, 0>(a, stream);
  switch (a.variant) {
    case 1:
      return launch_variant<kStored, 128, 1>(a, stream);
    case 2:
      return launch_variant<kStored, 128, 2>(a, stream);
    case 3:
      return launch_variant<kStored, 128, 3>(a, stream);
    default:
      return launch_variant<kStored, 128, 0>(a, stream);
  }
}

}  // namespace

cudaError_t launch_on_cuda(const DecodeArguments& a, cudaStream_t stream) {
  if (a.piece_count == 0) return cudaSuccess;
  if (a.stored == Stored::kFp8) return launch_stored<Stored::kFp8>(a, stream);
  return a.stored == Stored::kBf16 ? launch_stored<Stored::kBf16>(a, stream)
                                   : launch_stored<Stored::kFp16>(a, stream);
}

cudaError_t launch_on_cuda(const CombineArguments& a, cudaStream_t stream) {
  if (a.item_count == 0) return cudaSuccess;
  // On Hopper and later it may begin while the last pieces end; it waits for their results itself.
  int device = 0, major = 0;
  cudaError_t got = cudaGetDevice(&device);
  if (got == cudaSuccess) got = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (got != cudaSuccess) return got;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(a.item_count, a.most_heads);
  config.blockDim = dim3(kCombineThreads);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, combine, a);
}

}  // namespace kvplan::validator
