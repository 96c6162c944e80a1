#include "simulator/deployment/deployment.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/courses/encoded_course.h"
#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/memory/grouped_pool.h"
#include "simulator/model/footprint.h"
#include "simulator/model/ranks.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::runs {
namespace {

/// "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return out;
}

void note_pool(const Scenario& s, const model::Pool& pool, std::vector<std::string>& assumptions) {
  std::vector<std::string> assumed;
  for (const model::PoolItem& item : pool.items)
    if (item.mark == model::Mark::kAssumed) assumed.push_back(item.name);
  std::string text = "The pool size is computed by rule " +
                     std::string(s.deployment.pool_rule.choice.name()) + " for " + s.deployment.device->name;
  if (const model::PoolRuleChoice& rule = s.deployment.pool_rule; rule.rule->says != nullptr)
    text += " (" + rule.rule->says(rule.choice) + ")";
  text += "; the report's deployment.derivation lists every figure.";
  if (!assumed.empty())
    text += " Of these, " + listed(assumed) + (assumed.size() == 1 ? " is" : " are") + " assumed.";
  assumptions.push_back(std::move(text));
}

void note_ranks(const Scenario& s, const RankBytes& bytes, std::vector<std::string>& assumptions) {
  if (bytes.ranks() == 1) return;
  assumptions.push_back(
      "Memory figures are those of one rank of " + std::to_string(bytes.ranks()) +
      (bytes.stages > 1
           ? ", in the pipeline stage with the pool that holds the fewest tokens; engines reduce "
             "the pools of other stages to the same number of tokens."
           : "; the other ranks hold equal amounts."));
  if (!latency::latency_entry(s.latency).ideal_ranks) return;
  assumptions.emplace_back(
      "Ranks share the work of a step evenly, and communication between them takes no time.");
  if (bytes.stages > 1)
    assumptions.emplace_back(
        "A step passes through the stages one after the other, and the next step waits for it.");
}

/// What the scenario does not say of its format.
void note_format(const ModelOnRanks& placed, const Scenario& s, std::vector<std::string>& assumptions) {
  const std::string name(s.deployment.format->choice.name());
  for (const std::string& file : s.deployment.format->choice.files())
    assumptions.push_back("format=" + name + " stores each layer as described in " + file +
                          ": a token takes " + std::to_string(placed.bytes.token_bytes) +
                          " bytes on a rank.");
  if (const std::string_view why = bytes_alone(placed.of_token()); !why.empty())
    assumptions.push_back("format=" + name + " is modelled by its bytes only: " + std::string(why) +
                          "; steps compute the model unchanged, and read these bytes.");
}

/// A checkpoint with fewer bits than 16, where they count.
void note_weights(const Scenario& s, const model::ModelShape& shape, std::vector<std::string>& assumptions) {
  const model::Deployment& d = s.deployment;
  if (d.weight_bits || d.weights_bytes) return;
  if (!s.derives_pool && !latency::latency_entry(s.latency).counts_weights) return;
  const auto weights = model::stage_weights(shape, 1, 1);
  if (!weights.ok()) return;
  const std::string text = model::precision_text(weights.value().front());
  if (!text.ends_with(" each"))
    assumptions.push_back("Weights count as the checkpoint stores them: " + text +
                          " (deployment.weight_bits).");
}

/// What one rank's pool is made from, without a run.
memory::AllocatorRequest request_of(const Scenario& s, const model::ModelShape& shape,
                                    const ModelOnRanks& placed, const core::Workload& no_requests) {
  return {.workload = &no_requests,
          .pool = {.bytes = placed.pool->rank().pool_bytes},
          .token_bytes = placed.bytes.token_bytes,
          .metadata_bytes = placed.bytes.scale_bytes,
          .model = &shape,
          .format = &placed.of_token(),
          .tensor_ranks = s.deployment.tensor_ranks,
          .first_layer = placed.bytes.first_layer,
          .layers = placed.bytes.layers,
          .step_tokens = step_tokens(s),
          .prefix_cache = false,
          .block_ids = false,
          .max_model_len = s.engine_traits().request_tokens.value};
}

/// The longest request that fits, where layers lie in groups: as a setting.
std::vector<std::string> shorter_request(const Scenario& s, const model::ModelShape& shape,
                                         const ModelOnRanks& placed, const PoolLayout& pool) {
  const core::Workload no_requests;
  const memory::AllocatorRequest request = request_of(s, shape, placed, no_requests);
  const auto parts = memory::grouped_parts(s.allocator, request);
  if (!parts.ok()) return {};
  std::int64_t fits = 0, too_long = request.max_model_len;
  while (fits + 1 < too_long) {
    const std::int64_t tokens = fits + (too_long - fits) / 2;
    (parts.value().asked_blocks(tokens) <= pool.all_alloc_units() ? fits : too_long) = tokens;
  }
  if (fits == 0) return {};
  return {s.deployment.longest_path + "=" + std::to_string(fits)};
}

/// The question that derive_pool asks in tokens, in blocks: layers with a window do not hold all tokens.
Status check_longest(const Scenario& s, const model::ModelShape& shape, ModelOnRanks& placed,
                     std::vector<std::string>& warnings) {
  KVPLAN_TRY(const PoolLayout pool, lay_out_pool(s, shape, placed));
  if (!pool.longest_alloc_units || *pool.longest_alloc_units <= pool.all_alloc_units()) return Done{};
  const scheduling::EngineLimit longest = s.engine_traits().request_tokens;
  placed.obstacles.push_back({.obstacle = model::kLongestRequest,
                              .need = *pool.longest_alloc_units,
                              .have = pool.all_alloc_units(),
                              .unit = Unit::kBlocks,
                              .remedies = shorter_request(s, shape, placed, pool)});
  warnings.push_back("The pool holds " + std::to_string(pool.all_alloc_units()) +
                     " blocks, fewer than a single request of " + std::string(longest.param) + " (" +
                     std::to_string(longest.value) + ") may take (" +
                     std::to_string(*pool.longest_alloc_units) + "): vLLM would not start.");
  return Done{};
}

}  // namespace

std::int64_t step_tokens(const Scenario& s) {
  return s.engine_traits().most_piece_tokens();
}

std::int64_t PoolLayout::tokens() const {
  // As vLLM reports it, a group with states counts as one that holds tokens (kv_cache_utils.py,
  // _report_kv_cache_config).
  const auto groups =
      std::max<std::int64_t>(static_cast<std::int64_t>(layout.groups.size()) + layout.states.blocks, 1);
  return layout.alloc_units / groups * layout.alloc_unit_tokens;
}

Result<PoolLayout> lay_out_pool(const Scenario& s, const model::ModelShape& shape,
                                const ModelOnRanks& placed) {
  KVPLAN_CHECK(placed.pool.has_value());
  const core::Workload no_requests;
  memory::AllocatorRequest request = request_of(s, shape, placed, no_requests);
  const memory::AllocatorEntry& entry = memory::allocator_entry(s.allocator);
  const std::int64_t longest = request.max_model_len;
  if (entry.follows_windows) {
    KVPLAN_TRY(const memory::GroupedParts parts, memory::grouped_parts(s.allocator, request));
    return PoolLayout{parts.layout, parts.asked_blocks(longest)};
  }
  // A block's bytes do not depend on the number of blocks, which is limited in a run but not in this calculation.
  const std::int64_t bytes = request.pool.bytes;
  const bool blocks = entry.frees_single_blocks;
  if (blocks) request.pool = {.blocks = 2};
  KVPLAN_TRY(const auto allocator, entry.make(s.allocator, request));
  PoolLayout out{allocator->layout(), std::nullopt};
  if (blocks) {
    out.layout.capacity_bytes = bytes;
    out.layout.alloc_units = std::max<std::int64_t>(bytes / out.layout.alloc_unit_bytes() - 1, 0);
  }
  if (!out.layout.of_tokens())
    return bad_input("expected an allocator that counts memory in tokens, found " +
                     std::string(s.allocator.name()) +
                     (entry.keeps_nothing ? ", which has no KV cache" : ", which counts memory in bytes"))
        .at_field("memory.allocator");
  if (out.layout.returns_alloc_units() || entry.exact_ranges)
    out.longest_alloc_units =
        ceil_div(longest, out.layout.alloc_unit_tokens) + (s.encodes() ? core::kEncodedBlocksBeyond : 0);
  return out;
}

namespace {

/// Errors: those of format_on_model, at the path where the format is given.
Result<RunFormat> on_model(const RunFormat& format, std::string_view path, const Scenario& s,
                           const model::ModelShape& shape, const SideOpener& open) {
  auto out = format_on_model(format, shape, s.deployment.tensor_ranks, open);
  if (out.ok() || out.error().kind == ErrorKind::kInterrupted) return out;
  return Error(out.error()).at_field(std::string(path) + ": " + out.error().field);
}

/// What the scenario says of formats, on the model.
Status place_formats(ModelOnRanks& placed, const Scenario& s, const model::ModelShape& shape,
                     const SideOpener& open) {
  KVPLAN_CHECK(s.deployment.format.has_value());
  RunParts parts = scenario_parts(s);
  for (const model::LayerRun& run : shape.runs)
    parts.add(Part::kLatentModel, run.cache.kind == model::CacheKind::kLatent);
  parts.add(Part::kNoWindows, shape.window_layers() == 0);
  for (const auto& [part, other] :
       {std::pair{Part::kByHead, Part::kLatentModel}, std::pair{Part::kWindowFormat, Part::kNoWindows}})
    if (parts.has(part) && parts.has(other)) return refused_together(part, other, s);
  KVPLAN_TRY(placed.format,
             on_model({.of_token = *s.deployment.format, .encoded = s.encoded}, "format", s, shape, open));
  if (!s.window_format) return Done{};
  KVPLAN_TRY(placed.window_format, on_model(*s.window_format, "window_format", s, shape, open));
  KVPLAN_TRY(placed.places, places_of(*placed.format, *placed.window_format, shape));
  return Done{};
}

/// The deployment with the format of a token on its rank.
model::Deployment with_format(const Scenario& s, const ModelOnRanks& placed) {
  model::Deployment out = s.deployment;
  out.format = placed.of_token();
  return out;
}

}  // namespace

Result<ModelOnRanks> place_model(const Scenario& s, const model::ModelShape& shape, const SideOpener& open,
                                 std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  KVPLAN_TRY_DO(
      model::check_ranks(shape, s.deployment.tensor_ranks, s.deployment.stages, s.deployment.stage_layers));
  ModelOnRanks out;
  KVPLAN_TRY_DO(place_formats(out, s, shape, open));
  const model::Deployment d = with_format(s, out);
  auto cells = model::footprint(shape, {.format = d.format,
                                        .tensor_ranks = d.tensor_ranks,
                                        .stages = d.stages,
                                        .stage_layers = d.stage_layers});
  if (!cells.ok()) return Error(cells.error()).at_field("format: " + cells.error().field);
  const model::Footprint& all = cells.value();
  for (const model::StageFootprint& each : all.stages) {
    const Status together = check_layers_together(d.format.value(), shape, each.first_layer, each.layers);
    if (!together.ok()) return Error(together.error()).at_field("format: " + together.error().field);
  }
  std::size_t stage = all.fullest;
  if (s.derives_pool) {
    KVPLAN_TRY(out.pool, model::derive_pool(shape, d));
    stage = out.pool->deciding;
    note_pool(s, *out.pool, assumptions);
    warnings.insert(warnings.end(), out.pool->warnings.begin(), out.pool->warnings.end());
    out.obstacles = out.pool->obstacles;
  } else {
    warnings.insert(warnings.end(), all.warnings.begin(), all.warnings.end());
  }
  out.bytes = {.tensor_ranks = d.tensor_ranks,
               .stages = d.stages,
               .stage_layers = d.stage_layers,
               .stage = static_cast<std::int64_t>(stage),
               .first_layer = all.stages[stage].first_layer,
               .layers = all.stages[stage].layers,
               .token_bytes = all.stages[stage].bytes_per_token,
               .scale_bytes = all.stages[stage].metadata_per_token,
               .all_token_bytes = all.cluster_bytes_per_token,
               .replicated_token_bytes =
                   std::max<std::int64_t>(all.cluster_bytes_per_token - all.once_bytes_per_token, 0)};
  for (const model::StageFootprint& each : all.stages) out.step_token_bytes += each.bytes_per_token;
  if (out.pool && memory::allocator_entry(s.allocator).follows_windows)
    KVPLAN_TRY_DO(check_longest(s, shape, out, warnings));
  note_weights(s, shape, assumptions);
  note_ranks(s, out.bytes, assumptions);
  note_format(out, s, assumptions);
  return out;
}

Result<std::optional<std::vector<model::Obstacle>>> obstacles_of(const Scenario& scenario,
                                                                 const model::ModelShape& shape,
                                                                 const SideOpener& open) {
  using Obstacles = std::optional<std::vector<model::Obstacle>>;
  if (!scenario.derives_pool) return Obstacles{};
  KVPLAN_TRY(const Scenario s, with_length_of(shape, scenario));
  ModelOnRanks formats;
  KVPLAN_TRY_DO(place_formats(formats, s, shape, open));
  KVPLAN_TRY(const auto no_room, model::lack_of_room(shape, with_format(s, formats)));
  if (no_room) return Obstacles{{*no_room}};
  std::vector<std::string> warnings, assumptions;
  KVPLAN_TRY(const ModelOnRanks placed, place_model(s, shape, open, warnings, assumptions));
  return Obstacles{placed.obstacles};
}

}  // namespace kvplan::runs
