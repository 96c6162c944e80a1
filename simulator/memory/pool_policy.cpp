#include "simulator/memory/pool_policy.h"

#include <algorithm>

#include "simulator/replacement/replacements.h"

namespace kvplan::memory {
namespace {

/// An upper bound of the number of contents that can be inserted, or some number beyond `most`.
std::int64_t contents_of(const AllocatorRequest& request, const core::MemoryLayout& layout,
                         std::int64_t most) {
  const core::Workload& workload = *request.workload;
  const std::int64_t groups = std::max<std::int64_t>(std::ssize(layout.groups), 1);
  std::int64_t contents = core::ContentNames(workload, layout.alloc_unit_tokens).shared_count() * groups;
  for (std::int64_t r = 0; r < workload.size() && contents <= most; ++r)
    contents += std::max<std::int64_t>(workload.final_tokens(id_at<RequestId>(r)), 0) /
                layout.alloc_unit_tokens * groups;
  return contents;
}

}  // namespace

Result<PoolPolicy> make_pool_policy(const core::MemoryLayout& layout, const AllocatorRequest& request) {
  const core::Workload& workload = *request.workload;
  if (contents_of(request, layout, replacement::kMostIds) > replacement::kMostIds)
    return bad_input("expected at most " + std::to_string(replacement::kMostIds) +
                     " blocks with different contents, found more")
        .at_field("memory.replacement");
  replacement::Room room{.ids = static_cast<replacement::Id>(layout.alloc_units),
                         .capacity = layout.alloc_units};
  if (!workload.tenant.empty())
    room.categories = static_cast<std::uint32_t>(
        std::max(*std::max_element(workload.tenant.begin(), workload.tenant.end()), -1) + 2);
  const replacement::ReplacementEntry& entry = replacement::replacement_entry(*request.replacement);
  auto policy = entry.make(*request.replacement, room);
  if (!policy.ok()) return std::move(policy).error().at_field("memory.replacement");
  return PoolPolicy(std::move(policy).value(), request.replacement->flag("leaves"), workload);
}

}  // namespace kvplan::memory
