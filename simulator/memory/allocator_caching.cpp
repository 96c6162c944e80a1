// KV tensors from PyTorch's caching allocator (caching_pool.h), as in servers without their own memory manager: the
// tensors of a request are made once, at admission, as long as its reservation (like Hugging Face's StaticCache), and
// freed when the request leaves. Each layer has a tensor of keys and one of values; or one tensor serves all layers.
//
// A block may be longer than its tensor: its size is rounded to 512 bytes or to a division of a power of two, and up to
// 1 MiB more is not split off. That part is padding. Free blocks in segments and unreserved device memory both count as
// free; whether a request can use them shows when a request is refused.
//
// An admission that fails is tried once more after torch.cuda.empty_cache(). If that fails too, it is undone and the
// pool is as before. A pool with no held blocks can serve whatever an empty pool can, so some request always advances.
//
// Not modelled: the time of cudaMalloc and cudaFree, other users of the pool (weights, activations), several streams.
// Caches that grow by concatenation (DynamicCache) copy every tensor in every step and are not offered.
#include <array>
#include <map>
#include <optional>

#include "simulator/base/check.h"
#include "simulator/core/table_bytes.h"
#include "simulator/memory/caching_pool.h"
#include "simulator/memory/caching_pool_model.h"
#include "simulator/memory/one_range.h"
#include "simulator/memory/token_rows.h"

namespace kvplan::memory::allocator_caching {
namespace {

using core::MemoryLayout;

constexpr std::int64_t kMostAllocUnits = std::int64_t{1}
                                         << 29;  // 256 GiB; addresses are up to four times as high

constexpr std::int64_t kMostTensors = std::int64_t{1} << 14;

struct CachingSetup {
  MemoryLayout layout;
  CachingRules rules;
  std::vector<TensorRows> tensors;
  std::string_view reserve;
};

template <class Pool>
class CachingAllocator final : public core::Allocator {
 public:
  CachingAllocator(const CachingSetup& setup, const AllocatorRequest& request)
      : setup_(setup),
        workload_(*request.workload),
        max_model_len_(request.max_model_len),
        pool_(setup.rules) {}

  const MemoryLayout& layout() const override { return setup_.layout; }
  core::PoolCounts counts() const override {
    return {.free = setup_.layout.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  std::int64_t growth_tokens() const override { return 0; }
  bool fits_empty(RequestId r) const override {
    const std::int64_t tokens = tensor_tokens(r);
    const auto [known, fresh] = fits_.try_emplace(tokens, false);
    if (fresh && rounded_bytes(tokens) <= setup_.rules.capacity_bytes) {
      Pool empty(setup_.rules);
      known->second = take(empty, tokens).has_value();
    }
    return known->second;
  }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    const std::int64_t length = tensor_tokens(r);
    KVPLAN_CHECK(tokens <= length && tables_.count(r) == 0, tokens, length);
    // As long as nothing has changed, the answer is the same.
    if (refused_tokens_ == length) return false;  // and the reason is too
    const bool enough = rounded_bytes(length) <= setup_.rules.capacity_bytes - pool_.allocated_bytes();
    const auto blocks = enough ? take(pool_, length) : std::nullopt;
    if (!blocks) {
      refused_tokens_ = length;
      const bool idle_suffices = asked_alloc_units(length) <= setup_.layout.alloc_units - held_;
      refusal_ = idle_suffices ? core::Refusal::kFragmented : core::Refusal::kTooShort;
      return false;
    }
    refused_tokens_ = -1;
    Holder& holder = tables_[r];
    for (const CachingBlock& block : *blocks) {
      holder.table.push_back(core::entry_of_amount(block.address / kCachingUnit));
      holder.table.push_back(core::entry_of_amount(block.bytes / kCachingUnit));
      holder.alloc_units += block.bytes / kCachingUnit;
    }
    held_ += holder.alloc_units;
    return true;
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    KVPLAN_CHECK(tokens <= tensor_tokens(r), tokens);
    return true;
  }
  core::Refusal refusal() const override { return refusal_; }
  void release(RequestId r, std::int64_t /*written*/) override {
    const auto holder = tables_.find(r);
    for (std::size_t i = 0; i < holder->second.table.size(); i += 2)
      pool_.free(core::amount_of_entry(holder->second.table[i]) * kCachingUnit);
    held_ -= holder->second.alloc_units;
    tables_.erase(holder);
    refused_tokens_ = -1;
  }
  core::BlockTable table(RequestId r) const override {
    const auto holder = tables_.find(r);
    if (holder == tables_.end()) return {{}, 0, tensor_tokens(r)};
    return {holder->second.table, holder->second.alloc_units, tensor_tokens(r)};
  }

 private:
  std::int64_t tensor_tokens(RequestId r) const {
    return reserved_tokens(setup_.reserve, workload_, r, max_model_len_);
  }

  struct Holder {
    std::vector<BlockId> table;  // for each tensor, the address and the length of its block, in units
    std::int64_t alloc_units{0};
  };

  /// Sum of the tensors for `tokens` tokens, each rounded up to whole allocation units.
  [[nodiscard]] Wide asked_alloc_units(std::int64_t tokens) const {
    Wide alloc_units = 0;
    for (const TensorRows& t : setup_.tensors)
      alloc_units += Wide{ceil_div(tokens * t.row_bytes, kCachingUnit)} * t.tensors;
    return alloc_units;
  }
  [[nodiscard]] Wide rounded_bytes(std::int64_t tokens) const {
    Wide bytes = 0;
    for (const TensorRows& t : setup_.tensors)
      bytes += Wide{caching_rounded(tokens * t.row_bytes, setup_.rules.power2_divisions)} * t.tensors;
    return bytes;
  }

  /// Allocates blocks for the tensors of `tokens` tokens.
  std::optional<std::vector<CachingBlock>> take(Pool& pool, std::int64_t tokens) const {
    std::vector<std::int64_t> sizes;
    for (const TensorRows& t : setup_.tensors)
      sizes.insert(sizes.end(), static_cast<std::size_t>(t.tensors), tokens * t.row_bytes);
    return pool.allocate_all(sizes);
  }

  CachingSetup setup_;
  const core::Workload& workload_;
  std::int64_t max_model_len_;
  Pool pool_;
  std::map<RequestId, Holder> tables_;
  std::int64_t held_{0};
  core::Refusal refusal_{core::Refusal::kNone};
  std::int64_t refused_tokens_{-1};  // no tensors of this length fit the pool as it is
  mutable std::map<std::int64_t, bool> fits_;
};

constexpr std::array<std::string_view, 2> kGrains{"layer", "request"};
constexpr std::array<std::string_view, 5> kDivisions{"off", "2", "4", "8", "16"};
constexpr std::string_view kUnlimited = "unlimited";
constexpr std::array<Param, 6> kParams{{
    kReserveParam,
    {.name = "per",
     .help = "Tensors per request: keys and values of each layer separately, or one tensor for all",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "layer",
     .choices = kGrains},
    {.name = "expandable_segments",
     .help = "Use expandable segments: a segment grows in its own address range, instead of new segments "
             "being allocated",
     .kind = ParamKind::kFlag,
     .unit = Unit::kNone,
     .fallback = "false"},
    {.name = "max_split_size_mb",
     .help = "Blocks of at least this many MiB are not split: unlimited, or a whole number above 20 "
             "(max_split_size_mb)",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = kUnlimited},
    {.name = "roundup_power2_divisions",
     .help = "Divisions between powers of two to which sizes are rounded up; off: round up to 512 bytes "
             "(roundup_power2_divisions)",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "off",
     .choices = kDivisions},
    {.name = "garbage_collection_threshold",
     .help = "Share of the pool above which old unused segments are freed before new ones are allocated; 0: "
             "off (garbage_collection_threshold)",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "0",
     .low = 0,
     .high = 1},
}};

Result<CachingSetup> caching_setup(const Choice& choice, const AllocatorRequest& request) {
  CachingSetup setup;
  KVPLAN_TRY(setup.tensors, token_rows(request));
  if (choice.text("per") == "request") setup.tensors = {{request.token_bytes, 1}};
  KVPLAN_TRY(setup.layout, byte_layout(request));
  setup.layout.form = core::TableForm::kTensors;
  setup.layout.tensors.alloc_unit_bytes = kCachingUnit;
  std::int64_t tensors = 0;
  for (const TensorRows& t : setup.tensors) {
    setup.layout.tensors.rows.push_back({t.row_bytes, t.tensors});
    tensors += t.tensors;
  }
  if (tensors > kMostTensors)
    return bad_input("expected at most 2^14 tensors per request, found " + std::to_string(tensors))
        .at_field("model");
  setup.layout.alloc_units = setup.layout.capacity_bytes / kCachingUnit;
  if (setup.layout.alloc_units < 1 || setup.layout.alloc_units > kMostAllocUnits)
    return bad_input("expected a pool of 512 bytes to 256 GiB, found " +
                     std::to_string(setup.layout.capacity_bytes) + " bytes")
        .at_field("memory");
  setup.rules.capacity_bytes = setup.layout.alloc_units * kCachingUnit;
  setup.rules.expandable = choice.flag("expandable_segments");
  setup.rules.power2_divisions = parse_integer(choice.text("roundup_power2_divisions")).value_or(0);
  setup.rules.garbage_threshold = choice.decimal("garbage_collection_threshold");
  const std::string& split = choice.text("max_split_size_mb");
  if (split != kUnlimited) {
    const auto mebibytes = parse_integer(split);
    if (!mebibytes || *mebibytes <= 20 || *mebibytes > kMostAllocUnits)
      return bad_input("expected \"unlimited\" or a whole number above 20, found \"" + split + "\"")
          .at_field("memory.allocator.max_split_size_mb");
    setup.rules.max_split_bytes = *mebibytes * kCachingMebibyte;
  }
  setup.reserve = lasting_text(choice, kReserveParam.name);
  return setup;
}

template <class Pool>
Result<std::unique_ptr<core::Allocator>> make_caching(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const CachingSetup setup, caching_setup(choice, request));
  return std::unique_ptr<core::Allocator>(std::make_unique<CachingAllocator<Pool>>(setup, request));
}

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor =
        {.family = "allocator",
         .name = "caching",
         .summary =
             "Each request allocates its tensors at admission from a model of PyTorch's caching allocator.",
         .source = "pytorch/pytorch: c10/cuda/CUDACachingAllocator.cpp, c10/core/AllocatorConfig.h",
         .params = kParams,
         .spans = "One block holds one tensor of a request: keys or values of a layer with all KV heads, or "
                  "everything. Eviction frees nothing before the request ends."},
    .make = make_caching<CachingPool>,
    .make_model = make_caching<CachingPoolModel>,
    .shares_prefixes = false,
    .price = {.request_ns = 8'000}};  // for tensors of each request, from a list of segments

}  // namespace kvplan::memory::allocator_caching
