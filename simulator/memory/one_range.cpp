#include "simulator/memory/one_range.h"

namespace kvplan::memory {

Result<core::MemoryLayout> one_range_layout(const AllocatorRequest& request, core::RangePlacement ranges) {
  if (request.pool.blocks >= 0)
    return bad_input("contiguous memory has no blocks: use memory.pool_bytes or memory.pool_tokens")
        .at_field("memory.pool_blocks");
  core::MemoryLayout layout;
  layout.form = core::TableForm::kRange;
  layout.alloc_unit_tokens = 1;
  layout.token_bytes = request.token_bytes;
  layout.cells_per_token = request.cells_per_token;
  layout.metadata_bytes = request.metadata_bytes;
  layout.ranges = ranges;
  layout.alloc_units =
      request.pool.tokens >= 0 ? request.pool.tokens : request.pool.bytes / request.token_bytes;
  const Wide capacity =
      request.pool.tokens >= 0 ? Wide{request.pool.tokens} * request.token_bytes : Wide{request.pool.bytes};
  if (layout.alloc_units < 1) return bad_input("expected room for at least one token").at_field("memory");
  if (capacity > (Wide{1} << 62) || layout.alloc_units > (std::int64_t{1} << 30))
    return bad_input("expected a pool of at most 2^30 tokens and 2^62 bytes").at_field("memory");
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  return layout;
}

core::RangePlacement placement_of(const Choice& choice) {
  const std::string_view fit = choice.text(kFitParam.name);
  if (fit == "best") return core::RangePlacement::kBestFit;
  return fit == "next" ? core::RangePlacement::kNextFit : core::RangePlacement::kFirstFit;
}

std::string_view lasting_text(const Choice& choice, std::string_view param) {
  for (const Param& p : choice.descriptor().params)
    for (const std::string_view text : p.choices)
      if (p.name == param && text == choice.text(param)) return text;
  check_failed("a parameter with choices", __FILE__, __LINE__);
}

}  // namespace kvplan::memory
