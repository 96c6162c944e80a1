// The KV pool of a deployment: a device's memory minus everything that is not KV cache, item by item.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/fraction.h"
#include "simulator/base/result.h"
#include "simulator/model/device.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"
#include "simulator/model/obstacle.h"
#include "simulator/model/pool_rule.h"

namespace kvplan::model {

/// What is deployed on what. A rank is one device; all ranks have the same.
struct Deployment {
  const DeviceShape* device{nullptr};  ///< null: none
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::vector<std::int64_t> stage_layers{};  ///< of each stage; empty: as vLLM divides them
  std::optional<KvFormat> format{};          ///< format of the cache; absent: the model's own elements
  PoolRuleChoice pool_rule{};                ///< how the engine divides the device's memory
  std::optional<Fraction> weight_bits{};     ///< of every weight; absent: as the checkpoint stores them
  // Known bytes of a rank; absent: assumed or measured elsewhere:
  std::optional<std::int64_t> weights_bytes{}, activation_bytes{}, workspace_bytes{}, context_bytes{},
      graph_bytes{};
  std::int64_t step_tokens{8192};   ///< most tokens of a step; assumed activations depend on it
  std::int64_t step_requests{256};  ///< most requests of a step; assumed activations depend on it
  std::int64_t max_model_len{0};    ///< a request of this length must fit; 0: not required
  bool counts_states{false};  ///< states of layers take blocks of the pool, so nothing is kept beside it
  std::string longest_path{"engine.max_model_len"};  ///< path of the scenario that sets this limit

  /// The given bits of a weight in 2^-16 bits, rounded; nothing where the checkpoint decides.
  [[nodiscard]] std::optional<std::int64_t> fine_weight_bits() const;
};

/// The role of a line in a derivation.
enum class PoolPart : std::uint8_t {
  kTotal,   ///< the device
  kTaken,   ///< less this
  kWithin,  ///< must fit into the share that the rule leaves; not subtracted again
  kPool,    ///< the rest: total = sum of taken + pool
};
/// "total", ...
std::string_view pool_part_name(PoolPart part);

struct PoolItem {
  std::string name;  ///< "weights", ...
  PoolPart part{PoolPart::kTaken};
  std::int64_t bytes{0};
  Mark mark{Mark::kComputed};
  std::string source;
  std::int64_t low{0}, high{0};  ///< between which it lies
};

/// The pool on one rank of a stage.
struct StagePool {
  std::int64_t first_layer{0}, layers{0};
  std::int64_t weights_bytes{0};
  std::int64_t bytes_per_token{0};
  std::int64_t pool_bytes{0};
  std::int64_t low_bytes{0},
      high_bytes{0};  ///< between which the pool lies: every term at its worst, and at its best
};

struct Pool {
  std::vector<PoolItem> items;  ///< of a rank of the stage with the smallest pool
  std::vector<StagePool> stages;
  std::size_t deciding{0};  ///< the first stage with the smallest pool in tokens: all others are cut to it
  bool null_block{false};
  std::vector<std::string> warnings;
  std::vector<Obstacle> obstacles;  ///< why the engine cannot start, other than kNoRoom

  [[nodiscard]] const StagePool& rank() const { return stages[deciding]; }
  /// Blocks as engines report them, null block included.
  [[nodiscard]] std::int64_t blocks(std::int64_t block_tokens) const {
    return rank().pool_bytes / block_tokens / rank().bytes_per_token;
  }
};

/// The obstacle if weights and buffers leave no room. Errors: as derive_pool, except this one. REQUIRES: as
/// derive_pool.
Result<std::optional<Obstacle>> lack_of_room(const ModelShape& shape, const Deployment& deployment);

/// What would remove kLongestRequest: a lower limit than the pool's `tokens`, or more ranks.
std::vector<std::string> remedies_of_length(const ModelShape& shape, const Deployment& deployment,
                                            std::int64_t longest, std::int64_t tokens);

/// Errors: more stages than layers; a format for other layers; a model with unknown weights; no room beside weights
/// and all else (with what is missing, and how many ranks, or bits of a weight, would leave room). REQUIRES: a
/// device, and a pool rule.
Result<Pool> derive_pool(const ModelShape& shape, const Deployment& deployment);

}  // namespace kvplan::model
