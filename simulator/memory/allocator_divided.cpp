// A pool divided into equal parts; a request takes one whole part. This is llama.cpp's server, where `--ctx-size` is
// divided equally among the sequences of `--parallel` (unless their KV cache is unified, which is like
// `paged:block_tokens=1`). ggml-org/llama.cpp pull request 17767 corrects its documentation: 4096 tokens for four
// sequences give each 1024. Not modelled: the server rounds the parts to its own multiples.
//
// The lowest free part is taken. The rest of a part that a request does not use is held and never used (`internal` in
// the ledger); a request that would outgrow a part is rejected on arrival.
#include <functional>
#include <queue>

#include "simulator/memory/one_range.h"

namespace kvplan::memory::allocator_divided {
namespace {

using core::MemoryLayout;

class DividedBase : public OneRangeAllocator {
 public:
  DividedBase(const MemoryLayout& layout, std::int64_t parts, const AllocatorRequest& request)
      : OneRangeAllocator(layout, "oracle", request), part_(layout.alloc_units / parts) {}

 protected:
  [[nodiscard]] std::int64_t granted(std::int64_t slots) const override { return std::max(slots, part_); }
  [[nodiscard]] std::int64_t most_in_a_row() const override { return part_; }
  [[nodiscard]] std::int64_t part() const { return part_; }

 private:
  std::int64_t part_;
};

/// Addresses of free parts, the lowest first.
class DividedAllocator final : public DividedBase {
 public:
  DividedAllocator(const MemoryLayout& layout, std::int64_t parts, const AllocatorRequest& request)
      : DividedBase(layout, parts, request) {
    for (std::int64_t address = 0; address < total_slots(); address += part()) free_.push(address);
  }

 protected:
  std::int64_t place(std::int64_t /*slots*/) override {
    if (free_.empty()) return -1;
    const std::int64_t address = free_.top();
    free_.pop();
    return address;
  }
  void put_back(std::int64_t address, std::int64_t /*slots*/) override { free_.push(address); }

 private:
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free_;
};

/// Slow obvious model: a flag for each part.
class DividedModel final : public DividedBase {
 public:
  DividedModel(const MemoryLayout& layout, std::int64_t parts, const AllocatorRequest& request)
      : DividedBase(layout, parts, request), taken_(static_cast<std::size_t>(parts), false) {}

 protected:
  std::int64_t place(std::int64_t slots) override {
    KVPLAN_CHECK(slots == part(), slots, part());
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i]) continue;
      taken_[i] = true;
      return static_cast<std::int64_t>(i) * part();
    }
    return -1;
  }
  void put_back(std::int64_t address, std::int64_t slots) override {
    KVPLAN_CHECK(slots == part() && address % part() == 0, address, slots);
    const auto i = static_cast<std::size_t>(address / part());
    KVPLAN_CHECK(taken_[i], address);
    taken_[i] = false;
  }

 private:
  std::vector<bool> taken_;
};

constexpr std::array<Param, 1> kParams{Param{.name = "parts",
                                             .help = "Number of equal parts of the pool, which is also the "
                                                     "limit of running requests; the remainder is padding",
                                             .kind = ParamKind::kInteger,
                                             .unit = Unit::kRequests,
                                             .fallback = "4",
                                             .low = 1,
                                             .high = 65536}};

template <class T>
Result<std::unique_ptr<core::Allocator>> make_divided(const Choice& choice, const AllocatorRequest& request) {
  // All parts have the same length, so the lowest free one is the first fit.
  KVPLAN_TRY(MemoryLayout layout, one_range_layout(request, core::RangePlacement::kFirstFit));
  const std::int64_t parts = choice.integer("parts");
  if (layout.alloc_units < parts)
    return bad_input("expected room for at least one token in each of " + std::to_string(parts) +
                     " parts, found " + std::to_string(layout.alloc_units) + " tokens")
        .at_field("memory");
  layout.alloc_units -= layout.alloc_units % parts;
  return std::unique_ptr<core::Allocator>(std::make_unique<T>(layout, parts, request));
}

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor =
        {.family = "allocator",
         .name = "divided",
         .summary = "The pool is divided into equal parts; each request takes one part, whatever its length.",
         .source = "llama.cpp, server: --ctx-size is divided among --parallel sequences "
                   "(ggml-org/llama.cpp, pull request 17767, 2025-12-04)",
         .params = kParams,
         .spans = kOneRangeSpans},
    .make = make_divided<DividedAllocator>,
    .make_model = make_divided<DividedModel>,
    .shares_prefixes = false};

}  // namespace kvplan::memory::allocator_divided
