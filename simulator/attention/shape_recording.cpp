#include "simulator/attention/shape_recording.h"

#include "simulator/attention/policy.h"
#include "simulator/base/check.h"

namespace kvplan::attention {

ShapeRecording::ShapeRecording(std::int32_t layers, std::int32_t query_heads, std::int32_t kv_heads) {
  KVPLAN_CHECK(layers >= 1 && kv_heads >= 1 && query_heads % kv_heads == 0, layers, query_heads, kv_heads);
  info_.layers = layers;
  info_.query_heads = query_heads;
  info_.kv_heads = kv_heads;
  info_.group = query_heads / kv_heads;
  info_.sizes_assumed = true;
  LayerInfo layer = info_.layer(0);
  layer.parts = {};
  for (; layer.layer < layers; ++layer.layer) info_.recorded_layers.push_back(layer);
  info_.sequences.push_back({.name = "any", .tokens = static_cast<std::int64_t>(kMaxTokens)});
}

Result<std::unique_ptr<LayerRows>> ShapeRecording::open(std::int32_t /*sequence*/,
                                                        std::int32_t /*layer*/) const {
  return bad_input("expected recorded attention, found only the shape of a model");
}

}  // namespace kvplan::attention
