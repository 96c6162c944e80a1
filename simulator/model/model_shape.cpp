#include "simulator/model/model_shape.h"

#include <array>
#include <vector>

#include "simulator/base/suggest.h"

namespace kvplan::model {
namespace {

constexpr std::array<ModelShape, 3> kModels{{
    {.name = "llama-2-7b",
     .source = "meta-llama/Llama-2-7b-hf config.json",
     .layers = 32,
     .hidden = 4096,
     .query_heads = 32,
     .kv_heads = 32,
     .head_size = 128,
     .feed_forward = 11008,
     .vocabulary = 32000},
    {.name = "llama-3-70b",
     .source = "meta-llama/Meta-Llama-3-70B config.json",
     .layers = 80,
     .hidden = 8192,
     .query_heads = 64,
     .kv_heads = 8,
     .head_size = 128,
     .feed_forward = 28672,
     .vocabulary = 128256},
    {.name = "llama-3-8b",
     .source = "meta-llama/Meta-Llama-3-8B config.json",
     .layers = 32,
     .hidden = 4096,
     .query_heads = 32,
     .kv_heads = 8,
     .head_size = 128,
     .feed_forward = 14336,
     .vocabulary = 128256},
}};

}  // namespace

std::int64_t ModelShape::parameters() const {
  const std::int64_t attention = 2 * hidden * query_heads * head_size + 2 * hidden * kv_heads * head_size;
  const std::int64_t layer = attention + 3 * hidden * feed_forward + 2 * hidden;
  return layers * layer + 2 * vocabulary * hidden + hidden;
}

std::span<const ModelShape> models() {
  return kModels;
}

Result<const ModelShape*> find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelShape& shape : kModels) {
    if (shape.name == name) return &shape;
    names.push_back(shape.name);
  }
  return bad_input(unknown_name("model", name, names)).at_field("model");
}

}  // namespace kvplan::model
