// The latency family: how long a step takes. A member is one file latency_NAME.cpp with a `LatencyEntry` and
// one line in latencies.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/core/latency.h"
#include "simulator/latency/step_table.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"

namespace kvplan::latency {

/// A model of which decode steps read a part (core::ReadRule).
struct PartlyRead {
  /// Of each layer, the share of its KV heads that read a part, on the rank that reads most of it.
  std::vector<double> layers;
  std::int64_t ranked_token_bytes{0};  ///< metadata of a token, on one rank of each stage together

  /// The share of what is kept of a token that belongs to these heads.
  [[nodiscard]] double of_bytes(const model::ModelShape& shape) const;
  /// Of layers alike.
  [[nodiscard]] double of_layers() const;
};

/// What a step works on. Ranks of a stage share its work evenly; a step passes the stages one after the other.
struct LatencyRequest {
  const model::ModelShape& model;
  std::int64_t tensor_ranks{1}, stages{1};
  std::int64_t token_bytes{0};  ///< keys and values of a token, on one rank of each stage together
  std::int64_t weight_bits{16};
  std::optional<std::int64_t> weights_bytes{};  ///< of a rank, as loaded, whatever the bits
  const StepTable* measured{nullptr};           ///< of the file that the choice names, where it names one
  const model::DeviceShape* device{nullptr};    ///< of every rank, where it is known
  bool follows_windows{false};  ///< layers with a window read what it shows; else every token that is held
  const PartlyRead* partly{nullptr};  ///< null: decode steps read all that their queries see

  /// On one rank, in the model's own elements.
  static LatencyRequest one_rank(const model::ModelShape& model) {
    return {.model = model, .token_bytes = model.kv_token_bytes(), .weight_bits = 8 * model.element_bytes};
  }
};

/// What somebody runs who does not say how step times are made.
struct LatencyWish {
  const model::DeviceShape& device;         ///< of every rank
  const model::ModelShape* model{nullptr};  ///< null: it is not known yet
  std::string_view kernels{};               ///< of the engine (scheduling::EngineTraits)
};

struct LatencyEntry {
  Descriptor descriptor;
  /// Errors: coefficients that do not fit once rounded to ticks; a model that does not say what is needed of it.
  Result<std::unique_ptr<core::LatencyModel>> (*make)(const Choice&, const LatencyRequest&);
  /// A sentence for the report where the model assumes what nobody measured; else empty.
  std::string_view assumption{};
  bool counts_weights{false};  ///< weights decide, by their number and bits
  bool knows_parts{true};      ///< LatencyRequest::partly may be set
  /// The text of the choice of this member that is taken where nobody says how step times are made; empty where another
  /// has to do. Null: never.
  std::string (*text_for)(const LatencyWish&){nullptr};
};

std::span<const LatencyEntry* const> latencies();
Catalogue latency_descriptors();
/// REQUIRES: the choice is of family "latency".
const LatencyEntry& latency_entry(const Choice& choice);
/// That of the first member that has one; empty: none has.
std::string latency_text_for(const LatencyWish& wish);

}  // namespace kvplan::latency
