// One kernel call to check or time: shape, stored numbers, page layout and a seed. A case determines its data, its
// result and the bytes that it moves. One struct serves all kernels; each reads the fields that its header names and
// rejects cases that it cannot run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validator/kernels/numbers.h"

namespace kvplan::validator {

/// How the kept tokens lie in the pages.
enum class Retained : std::uint8_t {
  kAll,        ///< every token is kept
  kMask,       ///< holes: all tokens are read; one bit for each says whether it counts
  kList,       ///< holes: a list of the kept tokens' positions is followed
  kCompacted,  ///< compacted: each KV head has its own pages, as many as its kept tokens need
};

/// How blocks move between device and pinned host memory.
enum class CopyPath : std::uint8_t { kLoop, kBatch, kKernel };
enum class CopyDirection : std::uint8_t { kIn, kOut };  ///< to the device, from the device

/// The format to which a cache's vectors are rounded (quantise.h).
enum class Format : std::uint8_t { kFp8, kInt8, kInt4, kKivi4, kKivi2, kNvfp4 };

struct Case {
  std::string kernel{"decode-attention"};  ///< a name of the catalogue
  Stored stored{Stored::kBf16};            ///< number type of the cache
  std::int32_t query_heads{32};
  std::int32_t kv_heads{8};
  std::int32_t head_size{128};
  std::int32_t page_tokens{16};         ///< a power of two
  std::vector<std::int64_t> lengths{};  ///< cached tokens of each sequence
  std::int64_t window{0};               ///< only the last `window` tokens are read; 0: all
  std::int64_t sinks{0};                ///< also the first `sinks` tokens are read
  Retained retained{Retained::kAll};
  std::int32_t kept_of_1000{1000};  ///< kept tokens of 1000, chosen separately for each KV head
  bool shuffled{true};              ///< pages lie in random order
  bool peaked{false};               ///< queries are three times as long: attention concentrates on few tokens
  float outliers{1};                ///< factor of two channels of every key
  std::int64_t budget{0};           ///< tokens that a selection keeps for each KV head
  Format format{Format::kFp8};
  CopyPath path{CopyPath::kLoop};
  CopyDirection direction{CopyDirection::kIn};
  std::int64_t descriptor_bytes{0};  ///< bytes of each block that is copied
  std::int64_t descriptors{0};
  std::int32_t rule{0};  ///< rule of splitting and pipelining; 0: the kernel's own (decode_plan.h)
  std::uint64_t seed{1};

  [[nodiscard]] std::int64_t sequences() const { return static_cast<std::int64_t>(lengths.size()); }
  /// Query heads that read one KV head.
  [[nodiscard]] std::int32_t group() const { return query_heads / kv_heads; }
};

std::string_view name_of(Stored stored);            ///< "fp16", "bf16", "fp8"
std::string_view name_of(Retained retained);        ///< "all", "mask", "list", "compacted"
std::string_view name_of(CopyPath path);            ///< "loop", "batch", "kernel"
std::string_view name_of(CopyDirection direction);  ///< "in", "out"
std::string_view name_of(Format format);            ///< "fp8", "int8", "int4", "kivi4", "kivi2", "nvfp4"

/// `batch` sequences of `length` tokens.
std::vector<std::int64_t> equal_lengths(std::int64_t batch, std::int64_t length);

/// The case in one line, without the seed: "decode-attention bf16 32/8 heads of 128, pages of 16, 4 x 1024 tokens".
std::string describe(const Case& of);

}  // namespace kvplan::validator
