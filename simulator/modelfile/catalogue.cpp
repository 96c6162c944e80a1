#include "simulator/modelfile/catalogue.h"

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/base/suggest.h"
#include "simulator/modelfile/config.h"

namespace kvplan::model {

std::span<const ModelShape> models() {
  static const std::vector<ModelShape> kModels = [] {
    std::vector<ModelShape> out;
    for (const EmbeddedConfig& config : embedded_configs())
      out.push_back(parse_config(config.text, std::string(config.file)).value());
    std::sort(out.begin(), out.end(),
              [](const ModelShape& a, const ModelShape& b) { return a.name < b.name; });
    return out;
  }();
  return kModels;
}

Result<const ModelShape*> find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelShape& shape : models()) {
    if (shape.name == name) return &shape;
    names.push_back(shape.name);
  }
  return bad_input(unknown_name("model", name, names)).at_field("model");
}

bool names_model_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json");
}

}  // namespace kvplan::model
