#include "simulator/model/kv_format.h"

#include <array>

#include "simulator/base/units.h"

namespace kvplan::model {
namespace {

constexpr double kMostGroup = 8192;
constexpr double kMostScale = 8;

constexpr std::array<Param, 3> group_params(std::string_view group, std::string_view scale,
                                            std::string_view zero) {
  return {{{.name = "group",
            .help = "Elements of a head's vector that share a scale; 0: one scale for the whole tensor, "
                    "stored outside the cache",
            .fallback = group,
            .low = 0,
            .high = kMostGroup},
           {.name = "scale_bytes",
            .help = "Bytes per group for its scale",
            .unit = Unit::kBytes,
            .fallback = scale,
            .low = 0,
            .high = kMostScale},
           {.name = "zero_bytes",
            .help = "Bytes per group for its zero point; 0 for symmetric values",
            .unit = Unit::kBytes,
            .fallback = zero,
            .low = 0,
            .high = kMostScale}}};
}

constexpr auto kFp4Params = group_params("16", "1", "0");
constexpr auto kInt4Params = group_params("32", "2", "2");
constexpr auto kInt8Params = group_params("0", "2", "0");

constexpr std::string_view kDsMla = "fp8_ds_mla";
constexpr std::string_view kNative = "native";

/// A format and the bits of one of its elements.
struct Entry {
  Descriptor descriptor;
  std::int64_t bits;
};

constexpr std::array<Entry, 9> kEntries{{
    {{.family = "format",
      .name = "bf16",
      .summary = "2 bytes per element.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py",
      .params = {}},
     16},
    {{.family = "format",
      .name = "fp16",
      .summary = "2 bytes per element.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py",
      .params = {}},
     16},
    {{.family = "format",
      .name = "fp32",
      .summary = "4 bytes per element, as servers that were started with dtype float32.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py",
      .params = {}},
     32},
    {{.family = "format",
      .name = "fp4",
      .summary = "4 bits per element (E2M1) and a scale per group; with a 1-byte scale per 16 elements, "
                 "0.5625 bytes per element.",
      .source = "sgl-project/sglang v0.5.5, srt/model_executor/model_runner.py (profile_max_num_token)",
      .params = kFp4Params},
     4},
    {{.family = "format",
      .name = "fp8",
      .summary = "1 byte per element (E4M3 or E5M2); one scale per layer, stored outside the cache.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py",
      .params = {}},
     8},
    {{.family = "format",
      .name = kDsMla,
      .summary =
          "FP8 latent vectors (MLA) with 656 bytes per token: 512 elements in fp8, 4 scales of 4 "
          "bytes, and 64 rotary elements in bf16; of DeepSeek-V4 584: 448 elements and 8 bytes for scales.",
      .source = "vllm-project/vllm v0.15.1, vllm/v1/kv_cache_interface.py (MLAAttentionSpec)",
      .params = {}},
     8},
    {{.family = "format",
      .name = "int4",
      .summary = "4 bits per element, with a scale and a zero point per group.",
      .source = "kvplan",
      .params = kInt4Params},
     4},
    {{.family = "format",
      .name = "int8",
      .summary = "1 byte per element; without a group, one scale per layer, stored outside the cache.",
      .source = "kvplan",
      .params = kInt8Params},
     8},
    {{.family = "format",
      .name = kNative,
      .summary = "The element size of the model's weights (cache_dtype auto).",
      .source = "vllm-project/vllm v0.15.1, vllm/config/cache.py (cache_dtype auto)",
      .params = {}},
     0},
}};

const Entry& entry_of(const Choice& format) {
  for (const Entry& entry : kEntries)
    if (&entry.descriptor == &format.descriptor()) return entry;
  check_failed("the choice is of family \"format\"", __FILE__, __LINE__);
}

std::int64_t groups(const LayerCache& cache, std::int64_t group) {
  if (cache.kind == CacheKind::kLatent) return ceil_div(cache.elements(), group);
  return cache.heads * (ceil_div(cache.key_size, group) + ceil_div(cache.value_size, group));
}

Result<TokenBytes> ds_mla_bytes(const LayerCache& cache) {
  constexpr std::int64_t kLatent = 512, kRope = 64, kRopeBytes = 2, kScales = 4, kScaleBytes = 4;
  // DeepSeek-V4: seven scales of a byte, and one byte to fill (vllm-project/vllm, vllm/models/deepseek_v4).
  constexpr std::int64_t kShorter = 448, kShorterScales = 8;
  if (cache.kind == CacheKind::kLatent && cache.latent_size == kShorter && cache.rope_size == kRope)
    return TokenBytes{kShorter + kRope * kRopeBytes, kShorterScales};
  if (cache.kind != CacheKind::kLatent || cache.latent_size != kLatent || cache.rope_size != kRope)
    return bad_input("expected a model with a latent vector of 512 and 64 rotary elements").at_field(kDsMla);
  return TokenBytes{kLatent + kRope * kRopeBytes, kScales * kScaleBytes};
}

}  // namespace

Catalogue format_descriptors() {
  static constexpr auto kDescriptors = [] {
    std::array<const Descriptor*, kEntries.size()> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = &kEntries[i].descriptor;
    return out;
  }();
  return kDescriptors;
}

Choice native_format() {
  return parse_component(kNative, "format", format_descriptors()).value();
}

bool is_native(const Choice& format) {
  return format.name() == kNative;
}

Result<TokenBytes> token_bytes(const Choice& format, const LayerCache& cache, std::int64_t element_bytes) {
  const Entry& entry = entry_of(format);
  if (cache.kind == CacheKind::kNone) return TokenBytes{};
  if (is_native(format)) return TokenBytes{cache.elements() * element_bytes, 0};
  if (entry.descriptor.name == kDsMla) return ds_mla_bytes(cache);
  TokenBytes bytes{ceil_div(cache.elements() * entry.bits, 8), 0};
  if (entry.descriptor.params.empty()) return bytes;
  if (const std::int64_t group = format.integer("group"); group > 0)
    bytes.metadata = groups(cache, group) * (format.integer("scale_bytes") + format.integer("zero_bytes"));
  return bytes;
}

}  // namespace kvplan::model
