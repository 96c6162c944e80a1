#include "simulator/retention/run_recordings.h"

#include <utility>

#include "simulator/attention/replay.h"
#include "simulator/attention/shape_recording.h"
#include "simulator/attention/trajectory.h"
#include "simulator/base/number_input.h"

namespace kvplan::runs {
namespace {

std::string shape_text(std::int64_t layers, std::int64_t heads, std::int64_t elements) {
  return std::to_string(layers) + " x " + std::to_string(heads) + " KV heads, " + std::to_string(elements) +
         " elements per token";
}

/// Splits FILE@N into FILE and the sequence N; -1 if no sequence is named.
std::pair<std::string, std::int64_t> named_sequence(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, -1};
  const auto number = read_whole_number(std::string_view(text).substr(at + 1), {0, INT32_MAX});
  if (!number.ok()) return {text, -1};  // the @ is part of the name
  return {text.substr(0, at), number.value()};
}

/// The KV heads that a layer stores if each of the policy's groups of query heads shares one.
struct StoredShape {
  std::int64_t heads;     ///< KV heads of a layer
  std::int64_t elements;  ///< elements of a token in all layers
};
Result<StoredShape> stored_shape(const attention::RecordingInfo& info,
                                 const attention::PolicyChoice& policy) {
  KVPLAN_TRY(const std::int32_t group, attention::group_of(policy, info));
  StoredShape shape{info.layer(0).query_heads / group, 0};
  for (const std::int32_t number : info.layer_numbers()) {
    const attention::LayerInfo layer = info.layer(number);
    shape.elements += shape.heads * (layer.key_size + layer.value_size);
  }
  return shape;
}

std::int64_t elements_of(const model::ModelShape& model) {
  return model.kv_token_bytes() / model.element_bytes;
}
bool is_shape_of(const model::ModelShape& model, const attention::RecordingInfo& info,
                 const StoredShape& shape) {
  return info.layers == model.layers && shape.heads == model.kv_heads &&
         (info.sizes_assumed || shape.elements == elements_of(model));
}

}  // namespace

Result<std::vector<Recorded>> open_recordings(const std::vector<std::string>& paths,
                                              const RecordingOpener& open,
                                              std::vector<std::string>& warnings) {
  std::vector<Recorded> out;
  std::string weights, of, cut;
  for (const std::string& named : paths) {
    const auto [path, only] = named_sequence(named);
    KVPLAN_TRY(const auto recording, open(path));
    const auto& sequences = recording->info().sequences;
    if (only >= std::ssize(sequences))
      return bad_input(path + ": expected a sequence index below " + std::to_string(sequences.size()) +
                       ", found " + std::to_string(only))
          .at_field("workload.attention");
    for (const std::int32_t layer : recording->info().layer_numbers())
      if (const std::string missing = attention::missing_heads(recording->info().layer(layer));
          !missing.empty())
        return bad_input(path + ": layer " + std::to_string(layer) + " " + missing +
                         ": expected all heads of every layer")
            .at_field("workload.attention");
    if (!recording->info().cut.empty()) {
      cut = "; " + path + ": " + recording->info().cut;
      warnings.push_back(path + ": " + recording->info().cut + ".");
    }
    const std::string& digest = recording->info().model_digest;
    if (weights.empty()) {
      weights = digest;
      of = path;
    }
    if (!digest.empty() && digest != weights)
      warnings.push_back(path + ": was recorded with different weights than " + of + ".");
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      if (only >= 0 && only != number) continue;
      const std::int64_t tokens = attention::tokens_of_all_layers(*recording, number);
      if (tokens > 0)
        out.push_back({recording, number, tokens,
                       sequences.size() == 1 ? path : path + ", sequence " + std::to_string(i)});
    }
  }
  if (out.empty())
    return bad_input("expected a recording with all layers of its model" + cut)
        .at_field("workload.attention");
  return out;
}

Result<model::ModelShape> model_of(const attention::RecordingInfo& recorded, std::int64_t kv_heads,
                                   std::vector<std::string>& assumptions) {
  const attention::LayerInfo info = recorded.layer(0);
  for (const std::int32_t number : recorded.layer_numbers()) {
    const attention::LayerInfo other = recorded.layer(number);
    if (other.query_heads != info.query_heads || other.kv_heads != info.kv_heads ||
        other.key_size != info.key_size || other.value_size != info.value_size)
      return bad_input("expected layers of one shape, found another shape in layer " +
                       std::to_string(number) + "; use model to name the model")
          .at_field("workload.attention");
  }
  // In most models, the outputs of all heads side by side are as long as a hidden vector.
  const std::int64_t hidden = std::int64_t{info.query_heads} * info.value_size;
  model::ModelShape shape{
      .name = "recording",
      .source = "workload.attention",
      .layers = recorded.layers,
      .hidden = hidden,
      .query_heads = info.query_heads,
      .kv_heads = kv_heads,
      .element_bytes = recorded.cache_element_bytes,
      .runs = {{recorded.layers,
                {.heads = kv_heads, .key_size = info.key_size, .value_size = info.value_size}}},
      .weight_shape = {.feed_forward = 4 * hidden, .key_size = info.key_size, .value_size = info.value_size}};
  std::string text = "The model has the recordings' shape: " + std::to_string(recorded.layers) +
                     (recorded.layers == 1 ? " layer of " : " layers of ") + std::to_string(kv_heads) +
                     (kv_heads == 1 ? " KV head" : " KV heads") + ", " +
                     std::to_string(shape.kv_token_bytes()) + " bytes per token";
  if (recorded.sizes_assumed) text += " (the sizes of keys and elements are assumed, not recorded)";
  assumptions.push_back(text + ".");
  return shape;
}

Result<std::optional<TrackShape>> standing_shape(const std::vector<Recorded>& recordings,
                                                 const model::ModelShape& model,
                                                 const attention::PolicyChoice& policy) {
  std::optional<TrackShape> first;
  bool same = true;
  for (const Recorded& recorded : recordings) {
    const attention::RecordingInfo& info = recorded.recording->info();
    KVPLAN_TRY(const StoredShape shape, stored_shape(info, policy));
    same = same && is_shape_of(model, info, shape);
    for (const std::int32_t number : info.layer_numbers())
      if (info.layer(number).query_heads != info.layer(0).query_heads)
        return bad_input(recorded.name + ": expected the same number of query heads in every layer, found " +
                         std::to_string(info.layer(number).query_heads) + " in layer " +
                         std::to_string(number) + " and " + std::to_string(info.layer(0).query_heads) +
                         " in layer 0")
            .at_field("workload.attention");
    const TrackShape each{info.layers, shape.heads};
    if (first && *first != each)
      return bad_input("expected recordings with one shape, which replace recordings of " + model.name +
                       ", found " + std::to_string(each.layers) + " x " + std::to_string(each.in_layer) +
                       " KV heads in " + recorded.name + " and " + std::to_string(first->layers) + " x " +
                       std::to_string(first->in_layer) + " in " + recordings.front().name)
          .at_field("workload.attention");
    first = each;
  }
  return same ? std::optional<TrackShape>() : first;
}

Status check_whole(const Recorded& recorded, bool for_rows) {
  const Status whole = attention::check_all_layers(*recorded.recording, recorded.sequence, for_rows);
  if (whole.ok()) return Done{};
  return bad_input(recorded.name + ": " + whole.error().to_string()).at_field("workload.attention");
}

Status check_shape(const Recorded& recorded, const model::ModelShape& model,
                   const attention::PolicyChoice& policy, bool for_rows) {
  const attention::RecordingInfo& info = recorded.recording->info();
  KVPLAN_TRY(const StoredShape found, stored_shape(info, policy));
  if (is_shape_of(model, info, found)) return check_whole(recorded, for_rows);
  const std::int64_t expected = elements_of(model);
  return bad_input("expected the model's shape (" + shape_text(model.layers, model.kv_heads, expected) +
                   "), found " + shape_text(info.layers, found.heads, found.elements) + " in " +
                   recorded.name +
                   "; model=recording uses the shape of the recordings; with workload.extrapolation=shape, "
                   "recordings of another shape are accepted")
      .at_field("workload.attention");
}

Recorded any_sequence(const model::ModelShape& model) {
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  auto shape = std::make_shared<attention::ShapeRecording>(number(model.layers), number(model.query_heads),
                                                           number(model.kv_heads));
  const std::int64_t tokens = attention::tokens_of_all_layers(*shape, 0);
  return {std::move(shape), 0, tokens, "the shape of " + model.name};
}

}  // namespace kvplan::runs
