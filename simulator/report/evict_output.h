// What `kvplan evict` prints: its JSON, and tables for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/evaluation.h"
#include "simulator/base/json_writer.h"
#include "simulator/formats/evaluation.h"

namespace kvplan::report {

struct EvictOptions {
  std::string input;
  std::string policy;
  std::string budget;  ///< empty: the policy's own
  std::string format;  ///< format of kept tokens; empty: as recorded
  std::string json;
  std::int64_t prefill{0};
  std::int32_t sequence{0};
  std::int32_t layer{0};
  bool all_layers{false};  ///< all layers were requested
  bool overlap{false};     ///< true: overlap was measured
  bool one_layer{true};    ///< true: only `layer`; false: all layers
};

void write_params(JsonWriter& json, const attention::PolicyChoice& policy, std::int32_t group);
void write_sets(JsonWriter& json, std::string_view key, const attention::LayerReplay& replay);
/// `overlap`: by query head; empty: not written.
void write_step(JsonWriter& json, const attention::LayerReplay& replay, std::span<const double> overlap);
void write_summary(JsonWriter& json, const EvictOptions& options,
                   const attention::EvaluationSummary& summary);
/// Writes the grants of a layer: one number, or one for each KV head.
void write_grant(JsonWriter& json, const attention::Grants& grants, std::size_t layer);

/// Results of one layer.
struct LayerOutcome {
  std::size_t layer{0};
  attention::EvaluationSummary summary;
  std::optional<formats::EvaluationSummary> stored{};  ///< results of kept tokens in a format
};
std::string summary_text(const EvictOptions& options, const attention::PolicyChoice& policy,
                         const LayerOutcome& layer);
/// `grants` may be null: the policy has its own budget.
std::string layers_text(const EvictOptions& options, const attention::PolicyChoice& policy,
                        const attention::Grants* grants, const std::vector<LayerOutcome>& layers);
void write_layers_summary(JsonWriter& json, const EvictOptions& options,
                          const std::vector<LayerOutcome>& layers);

}  // namespace kvplan::report
