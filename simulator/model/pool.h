// The KV pool that a deployment leaves: a device's memory less everything that is not KV cache, item by item.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/model/device.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"
#include "simulator/model/obstacle.h"

namespace kvplan::model {

/// What runs where. A rank is one device; all ranks have the same.
struct Deployment {
  const DeviceShape* device{nullptr};  ///< null: none
  std::int64_t tensor_ranks{1};
  std::int64_t stages{1};
  std::optional<KvFormat> format{};           ///< of the cache; absent: the model's own elements
  Choice pool_rule;                           ///< of family "pool-rule"
  std::optional<std::int64_t> weight_bits{};  ///< absent: those of the model's elements
  // Bytes of a rank that somebody knows:
  std::optional<std::int64_t> weights_bytes{}, activation_bytes{}, workspace_bytes{}, context_bytes{},
      graph_bytes{};
  std::int64_t step_tokens{8192};   ///< the most tokens of a step: activations are assumed by it
  std::int64_t step_requests{256};  ///< the most requests of a step, likewise
  std::int64_t max_model_len{0};    ///< one request of it has to fit; 0: nobody asks
  std::string longest_path{"engine.max_model_len"};  ///< of the scenario, that sets this limit

  [[nodiscard]] std::int64_t bits_of(const ModelShape& shape) const {
    return weight_bits.value_or(8 * shape.element_bytes);
  }
  /// True: nobody said how many bits a weight has, and the published checkpoint has others than are counted.
  [[nodiscard]] bool counts_other_weights(const ModelShape& shape) const {
    return !weight_bits && !weights_bytes && shape.published_weight_bits &&
           *shape.published_weight_bits != bits_of(shape);
  }
};

/// What a line of a derivation is.
enum class PoolPart : std::uint8_t {
  kTotal,   ///< the device
  kTaken,   ///< less this
  kWithin,  ///< has to fit into the share that the rule leaves; not subtracted again
  kPool,    ///< what is left: total = sum of taken + pool
};
/// "total", ...
std::string_view pool_part_name(PoolPart part);

struct PoolItem {
  std::string name;  ///< "weights", ...
  PoolPart part{PoolPart::kTaken};
  std::int64_t bytes{0};
  Mark mark{Mark::kComputed};
  std::string source;
};

/// Of one rank of a stage.
struct StagePool {
  std::int64_t first_layer{0}, layers{0};
  std::int64_t weights_bytes{0};
  std::int64_t bytes_per_token{0};
  std::int64_t pool_bytes{0};
};

struct Pool {
  std::vector<PoolItem> items;  ///< of a rank of the deciding stage
  std::vector<StagePool> stages;
  std::size_t deciding{0};  ///< the first stage whose pool holds fewest tokens: all others are cut to it
  bool null_block{false};
  std::vector<std::string> warnings;
  std::vector<Obstacle> obstacles;  ///< of an engine's start, beside kNoRoom

  [[nodiscard]] const StagePool& rank() const { return stages[deciding]; }
  /// Blocks that engines report, the null block included.
  [[nodiscard]] std::int64_t blocks(std::int64_t block_tokens) const {
    return rank().pool_bytes / block_tokens / rank().bytes_per_token;
  }
};

/// Whether weights and buffers leave no room. Errors: as derive_pool, but for this one. REQUIRES: as derive_pool.
Result<std::optional<Obstacle>> lack_of_room(const ModelShape& shape, const Deployment& deployment);

/// What would take kLongestRequest away: fewer tokens than the pool holds (`tokens`), or more ranks.
std::vector<std::string> remedies_of_length(const ModelShape& shape, const Deployment& deployment,
                                            std::int64_t longest, std::int64_t tokens);

/// Errors: more stages than layers, a format for other layers, a model whose weights are not known, and where weights
/// and all else leave no room: what is missing, and how many ranks, or bits of a weight, would
/// have room.
/// REQUIRES: a device, and a pool rule.
Result<Pool> derive_pool(const ModelShape& shape, const Deployment& deployment);

}  // namespace kvplan::model
