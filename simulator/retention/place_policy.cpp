#include "simulator/retention/place_policy.h"

#include <algorithm>
#include <numeric>

#include "simulator/attention/cell_metadata.h"
#include "simulator/attention/recorded_sets.h"
#include "simulator/attention/replay.h"
#include "simulator/base/check.h"
#include "simulator/model/ranks.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {
namespace {

/// The window of each layer; 0: no window. Empty if no layer has one.
std::vector<std::int64_t> windows_of_rank(const model::ModelShape& model, const RankBytes& rank) {
  std::vector<std::int64_t> all;
  for (const model::LayerRun& run : model.runs)
    all.insert(all.end(), static_cast<std::size_t>(run.layers), run.cache.window);
  std::vector<std::int64_t> windows(all.begin() + rank.first_layer,
                                    all.begin() + rank.first_layer + rank.layers);
  const bool none = std::all_of(windows.begin(), windows.end(), [](std::int64_t w) { return w == 0; });
  return none ? std::vector<std::int64_t>{} : windows;
}

/// Number of tracks of each layer with `heads` KV heads, if the dropped tokens are known; 0: all cells drop the same
/// tokens. `replayed`: the tokens come from recordings, or from the sets of a file.
std::int64_t tracks_of_layer(const PlacedPolicy& p, bool replayed, std::int64_t heads) {
  const attention::PolicyTraits traits = p.traits();
  if (!replayed && !p.keeps_by_layer()) return 0;
  if (!replayed) return p.keeps_by_head() ? heads : 1;
  if (traits.all_alike() && !p.budget) return 0;
  return traits.scope == attention::Scope::kLayer ? 1 : heads;
}

/// If the dropped tokens are known, ranks that share their tables may keep different tokens. If only counts are known,
/// ranks are compared request by request (check_alike_ranks). Recordings may be used for a model of another shape.
/// `replayed`: the tokens come from recordings, the model's shape, or the sets of a file.
Status set_rank_tracks(const PolicyPlace& place, bool replayed, PlacedPolicy& p, RunParts& parts) {
  const RankBytes& rank = p.rank;
  const std::int64_t in_layer = tracks_of_layer(p, replayed, place.model.kv_heads);
  const bool counted = place.scenario.evicts_by == EvictsBy::kCounts;
  if (counted || in_layer == 0 || (rank.ranks() == 1 && !place.standing)) return Done{};
  if (!replayed && !ranks_differ(p)) return Done{};
  const bool has_all = (in_layer == 1 || p.layer_heads == in_layer) && rank.layers == p.layers;
  if (has_all && !place.standing) return Done{};
  if (!has_all && !p.ranks_share_tables()) {
    if (!replayed) return Done{};  // the error names the first request with different ranks
    parts.add(Part::kKnownByPart);
    parts.add(Part::kApartRanks);
    return check_combinations(parts, place.scenario, Known::kModel);
  }
  const TrackShape model{p.layers, in_layer};
  TrackShape known = model;
  if (place.standing)
    known = {place.standing->layers, tracks_of_layer(p, replayed, place.standing->in_layer)};
  p.rank_tracks.emplace(known, model, RankShare{rank.first_layer, rank.layers, p.layer_heads});
  const auto units = p.rank_tracks->units(p.table_per, p.tables);
  KVPLAN_CHECK(std::accumulate(units.begin(), units.end(), std::int64_t{0}) == p.units.per_token,
               p.units.per_token, p.layer_heads);
  return Done{};
}

/// Sets the tables of a request, and the cells of a token that the tables or the policy distinguish.
Status set_units(const PolicyPlace& place, bool replayed, PlacedPolicy& p, RunParts& parts) {
  using memory::TablePer;
  const attention::CellMetadata metadata = cell_metadata(p.policy, p.traits());
  const std::int64_t heads = p.kv_heads;
  const auto tell_apart = [&]() -> Status {
    parts.add(Part::kCellsByPart);
    return check_combinations(parts, place.scenario, Known::kModel);
  };
  const model::LayerCache& first = place.model.runs.front().cache;
  for (const model::LayerRun& run : place.model.runs)
    parts.add(Part::kUnlikeLayers, run.cache.kind != first.kind || run.cache.elements() != first.elements() ||
                                       run.cache.heads != first.heads);
  const bool counted = place.scenario.evicts_by == EvictsBy::kCounts;
  p.units = counted ? attention::counted_units(p.policy, heads) : replayed_units(p);
  if (p.keeps_by_layer() && (counted || !replayed)) {
    KVPLAN_TRY_DO(tell_apart());
    const std::int64_t cells = p.keeps_by_head() ? heads : p.rank.layers;
    p.units = {cells, metadata.of_token(heads / cells)};
  } else if (p.units.per_token > 1) {
    KVPLAN_TRY_DO(tell_apart());
  }
  if (place.table_per == TablePer::kRequest) return Done{};
  KVPLAN_TRY_DO(tell_apart());
  p.tables = place.table_per == TablePer::kLayer ? p.rank.layers : heads;
  p.table_per = place.table_per;
  p.windows = windows_of_rank(place.model, p.rank);
  if (p.units.per_token < p.tables) p.units = {p.tables, metadata.of_token(heads / p.tables)};
  return Done{};
}

/// Cells that a policy, its budget or tables distinguish must have the same size.
Status check_alike_widths(const PolicyPlace& place, const PlacedPolicy& p, RunParts& parts) {
  parts.add(Part::kWidths, !place.placed.of_token().by_layer.empty() && p.units.per_token > 1);
  return check_combinations(parts, place.scenario, Known::kModel);
}

core::Placement placement_of(const Choice& eviction) {
  const std::string& text = eviction.text("placement");
  if (text == "compact") return core::Placement::kCompact;
  return text == "reuse" ? core::Placement::kReuse : core::Placement::kHoles;
}

void note_counts(const PolicyPlace& place, const PlacedPolicy& p, std::vector<std::string>& warnings,
                 std::vector<std::string>& assumptions) {
  const attention::PolicyTraits traits = p.traits();
  const std::string policy(p.policy.choice.name());
  if (traits.count && !traits.count->once && !traits.interval && !traits.budget && !p.budget)
    warnings.push_back("eviction=" + policy + " is counted with " + std::to_string(traits.count->budget) +
                       " tokens, because it protects more than its budget.");
  if (place.replayed) return;
  assumptions.push_back(
      "How many tokens eviction=" + policy +
      " keeps is computed from lengths. Which tokens it keeps, and the effect on answers, is unknown: use "
      "recorded attention of " +
      place.model.name + " (workload.attention; kvplan evict, kvplan frontier).");
}

void note_tables(const PlacedPolicy& p, std::vector<std::string>& assumptions) {
  if (p.tables > 1)
    assumptions.push_back(
        "A request has " + std::to_string(p.tables) + " tables, one for each " +
        (p.table_per == memory::TablePer::kLayer ? "layer" : "KV head of each layer") +
        " on a rank. A block belongs to one table, and its table entry counts as metadata.");
}

void note_budget(const PlacedPolicy& p, std::vector<std::string>& assumptions) {
  const std::int64_t least = p.budget->least();
  assumptions.push_back(std::string(p.budget->by_head() ? "Each KV head" : "Each layer") +
                        " keeps the number of tokens that budget=" + std::string(p.budget->choice().name()) +
                        " computes for a prompt" +
                        (p.budget->measured() ? ", measured on the recording's attention," : "") +
                        " instead of the number in " + "eviction=" + std::string(p.policy.choice.name()) +
                        ", and at least " + std::to_string(least) + (least == 1 ? " token." : " tokens."));
}

/// Reads the files with tables of heads that the policy names, and computes the kept tokens of each KV head.
Status read_head_tables(PlacedPolicy& p, const model::ModelShape& model, const ScoresOpener& open,
                        std::vector<std::string>& assumptions) {
  attention::PolicyChoice& policy = p.policy;
  const std::string name(policy.choice.name());
  if (!open) return bad_input("tables per head cannot be read here").at_field("eviction");
  for (const Param& param : policy.choice.descriptor().params) {
    if (!param.names_file) continue;
    auto table = open(policy.choice.text(param.name));
    if (!table.ok())
      return bad_input(table.error().to_string())
          .at_field("eviction: " + name + ":" + std::string(param.name));
    policy.tables.push_back(std::move(table).value());
  }
  auto by_head = attention::intervals_by_head(policy, model.layers, model.kv_heads);
  if (!by_head.ok()) return bad_input(by_head.error().message).at_field("eviction: " + by_head.error().field);
  p.by_head = std::move(by_head).value();
  std::int64_t whole = 0;
  for (const auto& layer : p.by_head)
    whole += std::count_if(layer.begin(), layer.end(), [](const attention::KeptInterval& keep) {
      return keep.recent == attention::kWhole.recent;
    });
  assumptions.push_back("Following the head table of eviction=" + name + ", " + std::to_string(whole) +
                        " of " + std::to_string(model.layers * model.kv_heads) +
                        " KV heads keep everything; the others keep first and newest tokens.");
  return Done{};
}

/// Reads the sets of all layers, which must fit the model's layers.
Status read_sets(PlacedPolicy& p, const model::ModelShape& model, const SetsOpener& open) {
  attention::PolicyChoice& policy = p.policy;
  const std::string field = "eviction: " + std::string(policy.choice.name()) + ":file";
  if (!open) return bad_input("retained sets cannot be read here").at_field("eviction");
  auto sets = open(policy.choice.text("file"));
  if (!sets.ok()) return Error(sets.error()).at_field(field);
  policy.recorded = std::move(sets).value();
  attention::LayerPlace place{.layers = static_cast<std::int32_t>(model.layers),
                              .query_heads = static_cast<std::int32_t>(model.kv_heads),
                              .prompt = policy.recorded->prompt};
  for (; place.layer < place.layers; ++place.layer) {
    const attention::RecordedSets* const own = policy.recorded->of(place.layer);
    const std::int64_t generated = own == nullptr ? 0 : std::ssize(own->after) - 1;
    const Status fits = attention::check_recorded_for(policy, place, place.prompt + generated);
    if (fits.ok()) continue;
    Error error = fits.error();
    if (own != nullptr) error.message += ", layer " + std::to_string(place.layer);
    return std::move(error).at_field(field);
  }
  return Done{};
}

}  // namespace

std::int64_t kv_heads_of_rank(const model::ModelShape& model, const RankBytes& rank) {
  std::int64_t heads = 0;
  std::int64_t first = 0;
  for (const model::LayerRun& run : model.runs) {
    const std::int64_t begin = std::max(first, rank.first_layer);
    const std::int64_t end = std::min(first + run.layers, rank.first_layer + rank.layers);
    const model::LayerCache share = model::share_of(run.cache, rank.tensor_ranks);
    const std::int64_t stored = share.kind == model::CacheKind::kHeads ? share.heads : 1;
    heads += stored * std::max<std::int64_t>(end - begin, 0);
    first += run.layers;
  }
  return heads;
}

Result<PlacedPolicy> place_policy(const PolicyPlace& place, const RetentionFiles& open, RunParts& parts,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  const Scenario& s = place.scenario;
  const RankBytes& rank = place.placed.bytes;
  PlacedPolicy p{.policy = attention::policy_of(*s.eviction),
                 .layers = place.model.layers,
                 .rank = rank,
                 .layer_heads = std::max<std::int64_t>(place.model.kv_heads / rank.tensor_ranks, 1),
                 .kv_heads = kv_heads_of_rank(place.model, rank),
                 .placement = placement_of(*s.eviction),
                 .reads_holes = s.engine_traits().reads_holes};
  if (s.budget) {
    KVPLAN_TRY(p.budget, RunBudget::make(*s.budget, p.policy, place.model, open.scores));
    note_budget(p, assumptions);
  }
  const bool counted = s.evicts_by == EvictsBy::kCounts;
  const attention::PolicyTraits traits = p.budget ? attention::traits_with_budget(p.policy) : p.traits();
  p.counts_by_steps = counted && (traits.thins || (traits.count_at != nullptr && !traits.count));
  if (traits.head_tables) KVPLAN_TRY_DO(read_head_tables(p, place.model, open.scores, assumptions));
  if (s.evicts_by == EvictsBy::kSets) KVPLAN_TRY_DO(read_sets(p, place.model, open.sets));
  const bool replayed = place.replayed || s.evicts_by == EvictsBy::kTokens;
  KVPLAN_TRY_DO(set_units(place, replayed, p, parts));
  if (!s.encodes()) KVPLAN_TRY_DO(check_alike_widths(place, p, parts));
  note_tables(p, assumptions);
  if (counted && p.by_head.empty()) note_counts(place, p, warnings, assumptions);
  if (!s.encodes())
    KVPLAN_TRY_DO(set_rank_tracks(place, replayed || s.evicts_by == EvictsBy::kSets, p, parts));
  return p;
}

}  // namespace kvplan::runs
