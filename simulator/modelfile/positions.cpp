#include "simulator/modelfile/positions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <simdjson.h>

namespace kvplan::model {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 30;

/// Other keys of the same meaning as max_position_embeddings. Values of another kind are not lengths and do not count.
constexpr std::array<const char*, 7> kOtherKeys{
    "max_seq_len",    "seq_length", "max_target_positions", "max_sequence_length",
    "max_seq_length", "seq_len",    "model_max_length"};

std::int64_t whole_of(double tokens) {
  return static_cast<std::int64_t>(std::floor(std::min(tokens, static_cast<double>(kMostPositions))));
}

/// The smallest of the other keys' lengths.
void add_other_keys(const Config& config, std::optional<std::int64_t>& tokens) {
  for (const char* key : kOtherKeys) {
    const std::optional<double> length = config.number({key});
    if (!length || *length < 8) continue;
    const bool decides = key == kOtherKeys.back();
    tokens = tokens && !decides ? std::min(*tokens, whole_of(*length)) : whole_of(*length);
  }
}

/// A scaling of rotary positions: what it makes of the length.
void scale(const Config& rope, ModelShape& shape) {
  std::string type = rope.text("rope_type");
  if (type.empty()) type = rope.text("type");
  if (type == "longrope" || type == "su" || type == "llama3") return;
  const double factor = rope.number({"factor"}).value_or(1);
  if (!(factor > 0)) return;
  const auto length = static_cast<double>(*shape.max_positions);
  const std::optional<double> before = rope.number({"original_max_position_embeddings"});
  shape.scaled_positions = whole_of((type == "yarn" ? before.value_or(length) : length) * factor);
  if (!before) shape.max_positions = shape.scaled_positions;
}

}  // namespace

Status read_positions(const Config& config, ModelShape& shape) {
  KVPLAN_TRY(shape.max_positions,
             config.maybe({"max_position_embeddings", "n_positions"}, {8, kMostPositions}));
  add_other_keys(config, shape.max_positions);
  const bool scaled_already = config.text("model_type").find("gemma3") != std::string::npos;
  if (!shape.max_positions || scaled_already) return Done{};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const std::optional<Config> rope = config.inside(key);
    if (!rope) continue;
    scale(*rope, shape);
    return Done{};
  }
  return Done{};
}

}  // namespace kvplan::model
