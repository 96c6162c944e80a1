#include "simulator/plan/deployment.h"

#include <algorithm>

#include "simulator/model/footprint.h"

namespace kvplan::plan {
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
  std::string text = "The pool is derived: what " + std::string(s.deployment.pool_rule.name()) +
                     " takes on " + s.deployment.device->name +
                     " beside the weights; deployment.derivation has every figure.";
  if (!assumed.empty())
    text += " Of these, " + listed(assumed) + (assumed.size() == 1 ? " is" : " are") + " assumed.";
  assumptions.push_back(std::move(text));
}

void note_ranks(const Scenario& s, const RankBytes& bytes, std::vector<std::string>& assumptions) {
  if (bytes.ranks() == 1) return;
  assumptions.push_back("Memory is that of one rank of " + std::to_string(bytes.ranks()) +
                        (bytes.stages > 1
                             ? ", in the stage whose pool holds fewest tokens; others hold the same tokens."
                             : "; the others hold as much."));
  if (s.latency.name() != "roofline") return;
  assumptions.emplace_back(
      "Ranks share the work of a step evenly, and what they send each other takes no time.");
  if (bytes.stages > 1)
    assumptions.emplace_back("A step passes the stages one after the other, and the next step waits for it.");
}

}  // namespace

Result<Placement> place_model(const Scenario& s, const model::ModelShape& shape,
                              std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  const model::Deployment& d = s.deployment;
  if (d.stages > shape.layers)
    return bad_input("expected at most as many stages as the model has layers (" +
                     std::to_string(shape.layers) + "), found " + std::to_string(d.stages))
        .at_field("deployment.pp");
  auto cells =
      model::footprint(shape, {.format = d.format, .tensor_ranks = d.tensor_ranks, .stages = d.stages});
  if (!cells.ok()) return Error(cells.error()).at_field("format: " + cells.error().field);
  const model::Footprint& all = cells.value();
  Placement out;
  std::size_t stage = all.fullest;
  if (s.derives_pool) {
    KVPLAN_TRY(out.pool, model::derive_pool(shape, d));
    stage = out.pool->deciding;
    note_pool(s, *out.pool, assumptions);
    warnings.insert(warnings.end(), out.pool->warnings.begin(), out.pool->warnings.end());
  } else {
    warnings.insert(warnings.end(), all.warnings.begin(), all.warnings.end());
  }
  out.bytes = {.tensor_ranks = d.tensor_ranks,
               .stages = d.stages,
               .stage = static_cast<std::int64_t>(stage),
               .first_layer = all.stages[stage].first_layer,
               .layers = all.stages[stage].layers,
               .token_bytes = all.stages[stage].bytes_per_token,
               .scale_bytes = all.stages[stage].metadata_per_token,
               .all_token_bytes = all.cluster_bytes_per_token,
               .replicated_token_bytes =
                   std::max<std::int64_t>(all.cluster_bytes_per_token - all.once_bytes_per_token, 0)};
  for (const model::StageFootprint& each : all.stages) out.step_token_bytes += each.bytes_per_token;
  note_ranks(s, out.bytes, assumptions);
  return out;
}

}  // namespace kvplan::plan
