// No KV cache at all: the baseline with which storing keys and values is compared. No token has a slot, nothing is ever
// refused, and every step computes all tokens of its requests again, like generate() of Hugging Face's transformers
// with use_cache=False: every forward pass gets the whole sequence, prompt and output so far. Batches have no padding
// in kvplan.
//
// The engine implements the steps (core::ReplicaSetup::keeps_nothing): a request with n tokens computes all n, reads
// none and makes n (n + 1) / 2 query-key pairs. A prompt cannot be computed in chunks, since a later chunk would have
// no KV to attend to. The token budget counts a request's tokens when it is admitted and one token per step afterwards,
// as with a cache.
#include "simulator/base/check.h"
#include "simulator/memory/token_rows.h"

namespace kvplan::memory::allocator_no_cache {
namespace {

class NoCache final : public core::Allocator {
 public:
  explicit NoCache(const core::MemoryLayout& layout) : layout_(layout) {}

  const core::MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units, .cached = 0, .held = 0, .distinct_names = 0};
  }
  std::int64_t growth_tokens() const override { return 0; }
  bool fits_empty(RequestId /*r*/) const override { return true; }
  bool admit(RequestId /*r*/, const core::PrefixHit& /*found*/, std::int64_t /*tokens*/,
             std::int64_t /*goal*/) override {
    return true;
  }
  bool grow(RequestId /*r*/, std::int64_t /*tokens*/) override { return true; }
  void release(RequestId /*r*/, std::int64_t /*written*/) override {}
  core::BlockTable table(RequestId /*r*/) const override { return {}; }

 private:
  core::MemoryLayout layout_;
};

/// The pool is one allocation unit that no request takes.
Result<std::unique_ptr<core::Allocator>> make(const Choice& /*choice*/, const AllocatorRequest& request) {
  KVPLAN_TRY(core::MemoryLayout layout, byte_layout(request));
  if (layout.capacity_bytes < 1) return bad_input("expected a pool of at least one byte").at_field("memory");
  layout.form = core::TableForm::kNothing;
  layout.alloc_units = 1;
  return std::unique_ptr<core::Allocator>(std::make_unique<NoCache>(layout));
}

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor =
        {.family = "allocator",
         .name = "no-cache",
         .summary = "No KV cache: every step computes all tokens of its requests again.",
         .source = "huggingface/transformers: generate(use_cache=False); its documentation's page on caching",
         .params = {},
         .spans = "No token is stored, and the whole pool stays free."},
    .make = make,
    .make_model = make,
    .shares_prefixes = false,
    .keeps_nothing = true};

}  // namespace kvplan::memory::allocator_no_cache
