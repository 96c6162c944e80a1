// Contiguous memory with a reservation made once, at first admission: the way of serving before paging, as
// Orca and FasterTransformer are described in Kwon et al., SOSP 2023 (arXiv 2309.06180), sections 3.1
// and 6.1.
// - oracle reserves what the request will use (L + O - 1), max the longest request the model allows, pow2
//   the least power of two that holds L + O - 1, at most max;
// - first fit: the lowest address with enough free slots in a row; neighbours coalesce when they come back.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/policies/allocators.h"

namespace kvplan::policies {
namespace {

using core::Found;
using core::MemoryLayout;
using core::PoolCounts;

/// What differs between the allocator and its model: how free slots are kept.
class ContiguousBase : public core::Allocator {
 public:
  ContiguousBase(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : layout_(layout),
        workload_(*request.workload),
        reserve_(reserve),
        max_model_len_(request.max_model_len) {}

  const MemoryLayout& layout() const override { return layout_; }
  PoolCounts counts() const override {
    return {.free = layout_.quanta - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  std::int64_t growth_tokens() const override { return 0; }
  bool fits_empty(RequestId r) const override { return reservation(r) <= layout_.quanta; }
  Found lookup(RequestId /*r*/, std::int64_t /*num_tokens*/) override { return {}; }
  std::uint64_t lookup_epoch() const override { return 0; }

  bool admit(RequestId r, const Found& /*found*/, std::int64_t tokens) override {
    const std::int64_t slots = reservation(r);
    KVPLAN_CHECK(tokens <= slots, tokens, slots);
    const std::int64_t address = place(slots);
    if (address < 0) return false;
    held_ += slots;
    holders_[r] = {slots, {static_cast<BlockId>(address)}};
    return true;
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    KVPLAN_CHECK(tokens <= holders_.at(r).slots, tokens);
    return true;
  }
  void publish(RequestId /*r*/, std::int64_t /*tokens*/) override {}
  Dropped drop(RequestId /*r*/, std::int64_t /*sink*/, std::int64_t /*begin*/,
               std::int64_t /*written*/) override {
    return {};
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    const auto holder = holders_.find(r);
    held_ -= holder->second.slots;
    put_back(holder->second.address.front(), holder->second.slots);
    holders_.erase(holder);
  }
  void forget(RequestId r) override { KVPLAN_CHECK(holders_.count(r) == 0, r); }
  std::span<const BlockId> table(RequestId r) const override {
    const auto holder = holders_.find(r);
    return holder == holders_.end() ? std::span<const BlockId>{} : holder->second.address;
  }
  std::int64_t table_quanta(RequestId r) const override {
    const auto holder = holders_.find(r);
    return holder == holders_.end() ? 0 : holder->second.slots;
  }

 protected:
  /// Takes `slots` free slots in a row; their address, or -1.
  virtual std::int64_t place(std::int64_t slots) = 0;
  virtual void put_back(std::int64_t address, std::int64_t slots) = 0;
  [[nodiscard]] std::int64_t total_slots() const { return layout_.quanta; }

 private:
  struct Holder {
    std::int64_t slots;
    std::vector<BlockId> address;
  };

  [[nodiscard]] std::int64_t reservation(RequestId r) const {
    const std::int64_t used = workload_.final_tokens(r);
    if (reserve_ == "oracle") return used;
    if (reserve_ == "max") return max_model_len_;
    std::int64_t power = 1;
    while (power < used) power *= 2;
    return std::min(power, max_model_len_);
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  std::string_view reserve_;
  std::int64_t max_model_len_;
  std::int64_t held_{0};
  std::map<RequestId, Holder> holders_;
};

/// Free ranges by address. A size that was refused is refused again, without a search, until something comes
/// back.
class ContiguousAllocator final : public ContiguousBase {
 public:
  ContiguousAllocator(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : ContiguousBase(layout, reserve, request),
        holes_{{0, layout.quanta}},
        refused_slots_(layout.quanta + 1) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    if (slots >= refused_slots_) return -1;
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      const auto [address, length] = *hole;
      if (length < slots) continue;
      holes_.erase(hole);
      if (length > slots) holes_.emplace(address + slots, length - slots);
      return address;
    }
    refused_slots_ = slots;
    return -1;
  }

  void put_back(std::int64_t address, std::int64_t slots) override {
    refused_slots_ = total_slots() + 1;
    auto after = holes_.lower_bound(address);
    if (after != holes_.end() && after->first == address + slots) {
      slots += after->second;
      after = holes_.erase(after);
    }
    if (after != holes_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == address) {
        before->second += slots;
        return;
      }
    }
    holes_.emplace(address, slots);
  }

 private:
  std::map<std::int64_t, std::int64_t> holes_;  // address -> length; never adjacent
  std::int64_t refused_slots_;
};

/// Slow obvious model: one flag per slot, searched from address 0.
class ContiguousModel final : public ContiguousBase {
 public:
  ContiguousModel(const MemoryLayout& layout, std::string_view reserve, const AllocatorRequest& request)
      : ContiguousBase(layout, reserve, request), taken_(static_cast<std::size_t>(layout.quanta), false) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    std::int64_t in_a_row = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      in_a_row = taken_[i] ? 0 : in_a_row + 1;
      if (in_a_row < slots) continue;
      const auto address = static_cast<std::int64_t>(i) + 1 - slots;
      mark(address, slots, true);
      return address;
    }
    return -1;
  }
  void put_back(std::int64_t address, std::int64_t slots) override { mark(address, slots, false); }

 private:
  void mark(std::int64_t address, std::int64_t slots, bool taken) {
    for (std::int64_t i = address; i < address + slots; ++i) {
      KVPLAN_CHECK(taken_[static_cast<std::size_t>(i)] != taken, i);
      taken_[static_cast<std::size_t>(i)] = taken;
    }
  }
  std::vector<bool> taken_;
};

Result<MemoryLayout> contiguous_layout(const AllocatorRequest& request) {
  if (request.pool.blocks >= 0)
    return bad_input("contiguous memory has no blocks; give memory.pool_bytes or memory.pool_tokens")
        .at_field("memory.pool_blocks");
  MemoryLayout layout;
  layout.quantum_tokens = 1;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  layout.returns_quanta = false;
  layout.quanta = request.pool.tokens >= 0 ? request.pool.tokens : request.pool.bytes / request.token_bytes;
  const Wide capacity =
      request.pool.tokens >= 0 ? Wide{request.pool.tokens} * request.token_bytes : Wide{request.pool.bytes};
  if (layout.quanta < 1) return bad_input("expected room for at least one token").at_field("memory");
  if (capacity > (Wide{1} << 62) || layout.quanta > (std::int64_t{1} << 30))
    return bad_input("expected a pool of at most 2^30 tokens and 2^62 bytes").at_field("memory");
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

template <class T>
Result<std::unique_ptr<core::Allocator>> make_contiguous(const Choice& choice,
                                                         const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, contiguous_layout(request));
  // The choice's own text may go away; the descriptor's names stay.
  std::string_view reserve;
  for (const std::string_view name : choice.descriptor().params[1].choices)
    if (name == choice.text("reserve")) reserve = name;
  return std::unique_ptr<core::Allocator>(std::make_unique<T>(layout, reserve, request));
}

constexpr std::array<std::string_view, 1> kFits{"first"};
constexpr std::array<std::string_view, 3> kReserves{"oracle", "max", "pow2"};
constexpr std::array<Param, 2> kParams{{
    {.name = "fit",
     .help = "Which free range is taken: the lowest that is large enough",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "first",
     .low = 0,
     .high = 0,
     .choices = kFits},
    {.name = "reserve",
     .help = "How much is reserved: what will be used, the longest request, or the next power of two",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "max",
     .low = 0,
     .high = 0,
     .choices = kReserves},
}};

}  // namespace

extern const AllocatorEntry kContiguousAllocator;
const AllocatorEntry kContiguousAllocator{
    .descriptor =
        {.family = "allocator",
         .name = "contiguous",
         .summary = "One range of memory per request, reserved whole at admission and returned at its end.",
         .source = "Kwon et al., SOSP 2023 (arXiv 2309.06180), sections 3.1 and 6.1 (Orca baselines)",
         .params = kParams},
    .make = make_contiguous<ContiguousAllocator>,
    .make_model = make_contiguous<ContiguousModel>,
    .shares_prefixes = false};

}  // namespace kvplan::policies
