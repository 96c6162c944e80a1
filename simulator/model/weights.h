// The weights of a model, matrix by matrix: which part of the model a matrix belongs to, in how many bits its
// checkpoint stores it, and how ranks divide it. From these follow numbers and bytes of each part on a rank.
//
// A matrix is a number of equal units: query heads, KV heads, rows of the vocabulary, the width of a feed-forward
// block. Ranks share units, rounded up; KV heads as share_of (ranks.h) does; what is not divided is complete on each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/base/units.h"

namespace kvplan::model {

struct ModelShape;

enum class WeightPart : std::uint8_t {
  kEmbedding,
  kOutput,     ///< the output layer; none on a rank that has it as the input embedding
  kAttention,  ///< projections of attention, an indexer's too
  kState,      ///< layers with a state instead of a KV cache
  kDense,      ///< feed-forward blocks of layers without experts
  kExperts,    ///< routed experts
  kShared,     ///< feed-forward blocks that every token passes beside its experts
  kRouter,
  kNorms,
  kVision,  ///< the tower of another input than text, and its projection
  kTables,  ///< no weights: tables of rotary positions, and what engines derive from weights when they load them
};
inline constexpr std::size_t kWeightParts = 11;
/// "embedding", ...
std::string_view weight_part_name(WeightPart part);

/// In what a matrix is stored, and in what it is multiplied.
struct Precision {
  /// Bits of a weight in 2^-16 bits, with its share of scales and zero points
  std::int64_t fine_bits{std::int64_t{16} << 16};
  std::int64_t activation_bits{16};

  [[nodiscard]] double bits() const { return static_cast<double>(fine_bits) / 65536; }
  friend bool operator==(const Precision&, const Precision&) = default;
};

/// How tensor-parallel ranks divide the units of a matrix.
enum class Division : std::uint8_t { kWhole, kShared, kKvHeads };

struct WeightMatrix {
  WeightPart part{WeightPart::kAttention};
  std::string_view module{};  ///< as checkpoints call it, below its layer; empty: always stored in 16 bits
  Division division{Division::kWhole};
  std::int64_t units{1};
  std::int64_t unit_weights{0};  ///< in rows of `row` weights
  std::int64_t row{1};
  std::int64_t copies{1};  ///< experts
  std::int64_t used{1};    ///< copies that a token is multiplied with
  Precision precision{};
  // As loaded, where kernels want padded sizes: units of a rank up to a multiple, and weights of a unit; 0: as above.
  std::int64_t padded_units{1};
  std::int64_t padded_unit_weights{0};

  friend bool operator==(const WeightMatrix&, const WeightMatrix&) = default;
};

/// Consecutive layers with equal matrices.
struct LayerWeights {
  std::int64_t layers{0};
  std::vector<WeightMatrix> matrices{};
};

struct ModelWeights {
  std::vector<LayerWeights> layers{};
  std::vector<WeightMatrix> first{};  ///< on the first stage: the input embedding, towers of other inputs
  std::vector<WeightMatrix> last{};   ///< on the last stage: the output layer, the last norm
  std::vector<WeightMatrix> each{};   ///< once on each stage
};

/// Those that follow from ModelShape::weight_shape, all in 16 bits.
ModelWeights plain_weights(const ModelShape& shape);

/// A part of the model on one rank of a stage.
struct PartWeights {
  std::int64_t weights{0};
  std::int64_t multiplied{
      0};             ///< those that a token is multiplied with: of experts its own; of embeddings none
  Wide fine_bits{0};  ///< of all, scales included, in 2^-16 bits
  std::int64_t activation_bits{16};  ///< of what most of them are multiplied with

  [[nodiscard]] std::int64_t bytes() const;
  /// Of a weight, on average; 16 if there are none.
  [[nodiscard]] double weight_bits() const;
};

/// All parts on one rank of a stage.
struct StageWeights {
  std::array<PartWeights, kWeightParts> parts{};

  [[nodiscard]] const PartWeights& of(WeightPart part) const { return parts[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::int64_t weights() const;
  /// Of weights that a step with many tokens reads: all but the input embedding, towers of other inputs and tables.
  [[nodiscard]] std::int64_t read() const;
  [[nodiscard]] std::int64_t multiplied() const;
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::int64_t read_bytes() const;
};

/// For one rank of each stage (its ranks are equal). `fine_bits`: of every weight, instead of what the checkpoint has.
/// What is not quantised has the bits of the model's elements. `stage_layers`: of each stage; empty: as vLLM divides
/// them.
/// REQUIRES: 1 <= stages <= layers, tensor_ranks >= 1. Errors: something about the weights is unknown (field "model").
Result<std::vector<StageWeights>> stage_weights(const ModelShape& shape, std::int64_t tensor_ranks,
                                                std::int64_t stages,
                                                std::optional<std::int64_t> fine_bits = std::nullopt,
                                                const std::vector<std::int64_t>& stage_layers = {});

/// What the checkpoint stores, in words: "16 bits each", "experts 4.25 bits, the rest 16".
std::string precision_text(const StageWeights& weights);

}  // namespace kvplan::model
