#include "simulator/modelfile/vision.h"

#include <cstdint>
#include <string>

namespace kvplan::model {
namespace {

struct Tower {
  std::int64_t hidden{0}, layers{0}, width{0};
  std::int64_t patch{0};  ///< weights of the patch embedding, for one element of the hidden size
  std::int64_t positions{0};
};

std::int64_t number(const Config& config, Keys keys, std::int64_t fallback) {
  const auto value = config.whole_or(keys, {0, kMostFeedForward}, fallback);
  return value.ok() ? value.value() : fallback;
}

Tower read_tower(const Config& vision) {
  Tower out;
  out.hidden = number(vision, {"hidden_size", "vt_hidden_size"}, 0);
  out.layers = number(vision, {"depth", "num_hidden_layers", "vt_num_hidden_layers"}, 0);
  out.width = number(vision, {"intermediate_size", "vt_intermediate_size"}, 0);
  constexpr std::int64_t kColours = 3;
  const std::int64_t side = number(vision, {"patch_size"}, 0);
  out.patch = kColours * side * side * number(vision, {"temporal_patch_size"}, 1);
  out.positions = number(vision, {"num_position_embeddings", "position_embedding_size"}, 0);
  if (const std::int64_t image = number(vision, {"image_size"}, 0);
      out.positions == 0 && image > 0 && side > 0 && vision.text("position_embedding_type") != "rope")
    out.positions = (image / side) * (image / side);
  if (const std::int64_t rows = number(vision, {"init_pos_emb_height"}, 0); rows > 0)
    out.positions = rows * number(vision, {"init_pos_emb_width"}, rows);
  return out;
}

/// Weights between the tower and the language model.
std::int64_t projection(const std::string& type, const Config& vision, const Tower& t, std::int64_t text) {
  if (type == "gemma3") return t.hidden * text;
  const std::int64_t merge = number(vision, {"spatial_merge_size"}, 2);
  const std::int64_t merged = merge * merge * t.hidden;
  if (type == "mistral3") return merged * t.hidden + t.hidden * text + text * text;
  if (type.starts_with("kimi")) return merged * merged + merged * text;
  if (!type.starts_with("qwen3")) return 0;
  // One merger behind the tower, and one for each layer with an output that goes on beside it.
  std::int64_t mergers = 1;
  if (const auto deep = vision.numbers("deepstack_visual_indexes", {0, kMostLayers}); deep.ok())
    mergers += static_cast<std::int64_t>(deep.value().size());
  return mergers * (merged * merged + merged * text);
}

}  // namespace

void add_vision(const Config& config, ModelShape& shape) {
  const Config whole(config.top(), config.top(), {}, config.file());
  const auto vision = whole.inside("vision_config");
  if (!vision) return;
  const Tower t = read_tower(*vision);
  if (t.hidden == 0 || t.layers == 0 || t.width == 0 || t.hidden > kMostHeads * 4 || t.layers > kMostLayers) {
    shape.notes.emplace_back("The weights of its vision tower (vision_config) are not counted.");
    return;
  }
  const std::string type = whole.text("model_type");
  const std::int64_t matrices = type == "mistral3" ? 3 : 2;  // of a feed-forward block
  // Ranks share its blocks.
  shape.matrices.first.push_back({.part = WeightPart::kVision,
                                  .division = Division::kShared,
                                  .units = t.hidden,
                                  .unit_weights = t.layers * (4 * t.hidden + matrices * t.width)});
  const std::int64_t rest = (t.patch + t.positions) * t.hidden + projection(type, *vision, t, shape.hidden);
  shape.matrices.first.push_back({.part = WeightPart::kVision, .unit_weights = rest});
  if (whole.inside("audio_config"))
    shape.notes.emplace_back("The weights of its audio tower (audio_config) are not counted.");
}

}  // namespace kvplan::model
