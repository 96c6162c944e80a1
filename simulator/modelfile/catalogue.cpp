#include "simulator/modelfile/catalogue.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/modelfile/config.h"

namespace kvplan::model {
namespace {

struct ModelCatalogue {
  std::vector<ModelShape> shapes;                 ///< by name
  std::vector<std::vector<std::string>> aliases;  ///< of each, in the same order
};

/// REQUIRES: an embedded config, which is well-formed.
std::vector<std::string> aliases_in(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element config;
  simdjson::dom::array listed;
  std::vector<std::string> out;
  if (parser.parse(simdjson::padded_string(text)).get(config) != simdjson::SUCCESS) return out;
  if (config["kvplan"]["aliases"].get_array().get(listed) != simdjson::SUCCESS) return out;
  for (const simdjson::dom::element alias : listed) out.emplace_back(alias.get_string().value());
  return out;
}

const ModelCatalogue& catalogue() {
  static const ModelCatalogue kCatalogue = [] {
    std::vector<std::pair<ModelShape, std::vector<std::string>>> all;
    for (const EmbeddedConfig& config : embedded_configs())
      all.emplace_back(parse_config(config.text, std::string(config.file)).value(), aliases_in(config.text));
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first.name < b.first.name; });
    ModelCatalogue out;
    for (auto& [shape, aliases] : all) {
      out.shapes.push_back(std::move(shape));
      out.aliases.push_back(std::move(aliases));
    }
    return out;
  }();
  return kCatalogue;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// The part behind the organisation.
std::string_view repository(std::string_view name) {
  return name.substr(name.find('/') + 1);  // all of it where there is no slash
}

/// The model of this name or alias; null where there is none.
const ModelShape* known(std::string_view name) {
  const ModelCatalogue& all = catalogue();
  for (std::size_t i = 0; i < all.shapes.size(); ++i) {
    const auto& aliases = all.aliases[i];
    const auto is_it = [&](const std::string& alias) {
      return same_name(name, alias) || same_name(name, repository(alias));
    };
    if (same_name(name, all.shapes[i].name) || std::any_of(aliases.begin(), aliases.end(), is_it))
      return &all.shapes[i];
  }
  return nullptr;
}

}  // namespace

std::span<const ModelShape> models() {
  return catalogue().shapes;
}

std::span<const std::string> model_aliases(const ModelShape& shape) {
  const ModelCatalogue& all = catalogue();
  return all.aliases[static_cast<std::size_t>(&shape - all.shapes.data())];
}

Result<const ModelShape*> find_model(std::string_view name) {
  if (const ModelShape* const shape = known(name); shape != nullptr) return shape;
  if (const std::string hint = model_hint(name); !hint.empty())
    return bad_input("unknown model " + found_text(name) + "; " + hint).at_field("model");
  std::vector<std::string_view> names;
  for (const ModelShape& shape : models()) names.push_back(shape.name);
  return bad_input(unknown_name("model", name, names)).at_field("model");
}

std::string model_hint(std::string_view name) {
  const std::string_view rest = repository(name);
  if (const ModelShape* const shape = known(rest); shape != nullptr && rest.size() < name.size())
    return "a repository of another organisation than " + model_aliases(*shape).front() +
           " may hold other weights: give its config.json, or model=" + shape->name + " if it is a copy";
  for (std::size_t end = rest.rfind('-'); end != std::string_view::npos && end > 0;
       end = rest.rfind('-', end - 1)) {
    const ModelShape* const shape = known(rest.substr(0, end));
    if (shape == nullptr) continue;
    return "\"" + std::string(rest.substr(end)) + "\" may stand for other weights than those of " +
           shape->name + ": give its config.json, or model=" + shape->name +
           " with deployment.weight_bits if only the bits of weights differ";
  }
  return {};
}

bool names_model_file(std::string_view text) {
  if (text.ends_with(".json")) return true;
  return text.find('/') != std::string_view::npos && known(text) == nullptr;
}

}  // namespace kvplan::model
