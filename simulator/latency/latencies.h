// The latency family: how long a step takes. A member is one file latency_NAME.cpp with a `LatencyEntry` and
// one line in latencies.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/case_price.h"
#include "simulator/base/component.h"
#include "simulator/core/latency.h"
#include "simulator/latency/step_table.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"

namespace kvplan::kernels {
struct KernelTable;
}  // namespace kvplan::kernels

namespace kvplan::latency {

/// Sparse attention in decode steps (core::ReadRule), as latency models see it.
struct PartlyRead {
  /// For each layer, the share of its KV heads with sparse attention, on the rank where that share is greatest.
  std::vector<double> layers;
  std::int64_t ranked_token_bytes{0};  ///< metadata of a token, on one rank of each stage together

  /// The share of a token's bytes that belongs to these heads.
  [[nodiscard]] double of_bytes(const model::ModelShape& shape) const;
  /// The same if all layers are equal.
  [[nodiscard]] double of_layers() const;
};

/// What a step works on. The ranks of a stage share its work evenly; a step passes the stages one after the other.
struct LatencyRequest {
  const model::ModelShape& model;
  std::int64_t tensor_ranks{1}, stages{1};
  std::vector<std::int64_t> stage_layers{};  ///< of each stage; empty: as vLLM divides them
  std::int64_t token_bytes{0};  ///< keys and values of a token, on one rank of each stage together
  /// Bits of every weight in units of 2^-16 bit, instead of those of the checkpoint
  std::optional<std::int64_t> fine_weight_bits{};
  std::optional<std::int64_t> weights_bytes{};  ///< weights of a rank, as loaded, whatever their bits
  const StepTable* measured{nullptr};           ///< from the file that the choice names, if it names one
  /// Decode attention, from the file that the choice names; null: the tables that are part of the program
  const std::vector<kernels::KernelTable>* kernels{nullptr};
  const model::DeviceShape* device{nullptr};  ///< device of every rank, if known
  bool follows_windows{false};        ///< layers with a window read only what it shows; else every held token
  const PartlyRead* partly{nullptr};  ///< null: decode steps read everything that their queries see

  /// The model on one rank, in the model's own elements.
  static LatencyRequest one_rank(const model::ModelShape& model) {
    return {.model = model, .token_bytes = model.kv_token_bytes()};
  }
};

/// The deployment for which a latency model is chosen when the user names none.
struct LatencyWish {
  const model::DeviceShape& device;         ///< of every rank
  const model::ModelShape* model{nullptr};  ///< null: not known yet
  std::string_view kernels{};               ///< of the engine (scheduling::Engine)
};

struct LatencyEntry {
  Descriptor descriptor;
  /// Errors: coefficients that do not fit after rounding to ticks; missing data about the model.
  Result<std::unique_ptr<core::LatencyModel>> (*make)(const Choice&, const LatencyRequest&);
  /// A sentence for the report if the model assumes something that was not measured; else empty.
  std::string_view assumption{};
  bool counts_weights{false};  ///< true: it depends on the number and bits of weights
  /// A parameter with a figure of the deployment's device as its default.
  struct DeviceParam {
    std::string_view param;
    model::DeviceFigure figure;
  };
  std::span<const DeviceParam> of_device{};
  /// Ranks share the work of a step evenly, and communication between them takes no time.
  bool ideal_ranks{false};
  bool reads_all_experts{false};   ///< every step reads the weights of all experts, however few tokens it has
  std::string_view steps_param{};  ///< the parameter that names a file of measured steps; empty: none
  std::string_view kernels_param{};  ///< the parameter that names a file of measured kernels; empty: none
  CasePrice price{};                 ///< of a case with this member, beyond that of any case
  bool knows_parts{true};            ///< LatencyRequest::partly may be set
  /// The text of this member's choice if it can be the default for a deployment; empty if another member must be
  /// used. Null: never a default.
  std::string (*text_for)(const LatencyWish&){nullptr};
};

std::span<const LatencyEntry* const> latencies();
Catalogue latency_descriptors();
/// REQUIRES: the choice is of the family "latency".
const LatencyEntry& latency_entry(const Choice& choice);
/// The text of the first member that returns one; empty if none does.
std::string latency_text_for(const LatencyWish& wish);

}  // namespace kvplan::latency
