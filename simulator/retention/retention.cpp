#include "simulator/retention/retention.h"

#include <algorithm>
#include <cmath>

#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {
namespace {

std::string percent(double share) {
  const auto permille = std::llround(1000 * share);
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %";
}

/// Which rank the figures describe; empty if all ranks keep the same, or there is one rank.
std::string about_ranks(const PlacedPolicy& p, bool counted) {
  if (p.rank.ranks() == 1) return {};
  const auto has_others = [&](const RankTracks& tracks) {
    return std::ranges::any_of(tracks.of_table(p.table_per, 0),
                               [](const auto& each) { return each.units == 0; });
  };
  const bool known = p.rank_tracks && has_others(*p.rank_tracks);
  if (!known && !(counted && p.ranks_may_differ() && ranks_differ(p))) return {};
  return std::string(known ? "Ranks keep different tokens" : "Ranks keep different numbers of tokens") +
         (p.tables == 1 ? " and have one block table" : " and share the block tables of layers") +
         ", so a block stays as long as " + (known ? "any rank" : "the rank that keeps most") +
         " needs it. Memory, moved bytes and step times are those of " +
         std::string(p.rank.stages > 1 ? "stage " + std::to_string(p.rank.stage) : "the first rank") +
         (p.rank.stages > 1 && p.rank.tensor_ranks > 1 ? ", its first rank" : "") + ".";
}

}  // namespace

LogCells KeepsByPolicy::log_cells() const {
  LogCells out{
      .placement = policy_.placement, .known_tracks = policy_.units.per_token, .tables = policy_.tables};
  if (policy_.rank_tracks) out.rank_units = policy_.rank_tracks->units(policy_.table_per, policy_.tables);
  return out;
}

std::string KeepsByPolicy::hole_sentence(const AfterRun& run) const {
  const PlacedPolicy& p = policy_;
  const bool by_head = !p.by_head.empty();
  const bool layers = !by_head && counted() && p.keeps_by_layer() && layers_differ(p);
  const bool spans = p.tables == 1 || (by_head && p.tables < p.units.per_token);
  if (!run.hole_fraction || !spans || !run.paged || p.placement == core::Placement::kReuse ||
      !(layers || may_differ()))
    return {};
  const std::string figure = percent(*run.hole_fraction) + " of memory on average. ";
  return layers ? "A block covers all layers, so it stays as long as the layer that keeps most needs it. The "
                  "tokens that other layers evicted are holes: " +
                      figure +
                      "Block tables per layer (memory.allocator=paged:table=layer) would free these holes."
                : std::string("A block covers all ") +
                      (p.tables == 1 ? "layers and heads" : "heads of a layer") +
                      ", which may keep different numbers of tokens, so it stays as long as one of them "
                      "needs it. "
                      "Holes take " +
                      figure +
                      "Block tables per head (memory.allocator=paged:table=head) would free more blocks.";
}

std::vector<std::string> KeepsByPolicy::sentences(const AfterRun& run) const {
  std::vector<std::string> out{hole_sentence(run), about_ranks(policy_, counted())};
  std::erase(out, std::string());
  return out;
}

std::int64_t undriven_requests(const Retention& retention, const core::Workload& workload) {
  const DrivingRecordings* const driving = retention.driving();
  if (driving == nullptr || !retention.counts_undriven()) return 0;
  std::int64_t undriven = 0;
  for (const RequestId r : ids_below<RequestId>(workload.size()))
    undriven += driving->drives(workload, r) ? 0 : 1;
  return undriven;
}

LongestDriven longest_driven(const Retention& retention, const core::Workload& workload) {
  LongestDriven out;
  const DrivingRecordings* const driving = retention.driving();
  if (driving == nullptr) return out;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (!driving->drives(workload, r)) continue;
    std::int64_t& longest = out[{driving->which(r), workload.input[index(r)]}];
    longest = std::max(longest, workload.final_tokens(r));
  }
  return out;
}

}  // namespace kvplan::runs
