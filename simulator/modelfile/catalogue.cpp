#include "simulator/modelfile/catalogue.h"

#include <simdjson.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/modelfile/config.h"

namespace kvplan::model {
namespace {

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

/// The models by name. The config of a model NAME is the file NAME.json, and is read when the model is asked for: most
/// runs need one model. Calls from several threads are safe.
class ModelCatalogue {
 public:
  ModelCatalogue() : read_(embedded_configs().size()), shapes_(read_.size()) {
    for (const EmbeddedConfig& config : embedded_configs()) configs_.push_back(&config);
    std::sort(configs_.begin(), configs_.end(),
              [](const EmbeddedConfig* a, const EmbeddedConfig* b) { return name_of(*a) < name_of(*b); });
  }

  [[nodiscard]] std::size_t size() const { return configs_.size(); }
  [[nodiscard]] std::string_view name(std::size_t i) const { return name_of(*configs_[i]); }
  const ModelShape& shape(std::size_t i) {
    std::call_once(read_[i], [&] {
      shapes_[i] = parse_config(configs_[i]->text, std::string(configs_[i]->file)).value();
      KVPLAN_CHECK(shapes_[i].name == name(i));
    });
    return shapes_[i];
  }
  std::span<const ModelShape> shapes() {
    for (std::size_t i = 0; i < size(); ++i) shape(i);
    return shapes_;
  }
  /// Of each model, in the order of their names.
  const std::vector<std::vector<std::string>>& aliases() {
    std::call_once(aliases_read_, [&] {
      for (const EmbeddedConfig* config : configs_) aliases_.push_back(aliases_in(config->text));
    });
    return aliases_;
  }
  /// REQUIRES: it is one of the shapes.
  [[nodiscard]] std::size_t index(const ModelShape& shape) const {
    return static_cast<std::size_t>(&shape - shapes_.data());
  }

 private:
  static std::string_view name_of(const EmbeddedConfig& config) {
    const std::string_view file = config.file;
    return file.substr(0, file.rfind('.'));
  }

  std::vector<const EmbeddedConfig*> configs_;
  std::vector<std::once_flag> read_;
  std::vector<ModelShape> shapes_;
  std::once_flag aliases_read_;
  std::vector<std::vector<std::string>> aliases_;
};

ModelCatalogue& catalogue() {
  static ModelCatalogue all;
  return all;
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
  ModelCatalogue& all = catalogue();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (same_name(name, all.name(i))) return &all.shape(i);
  const auto is_it = [&](const std::string& alias) {
    return same_name(name, alias) || same_name(name, repository(alias));
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& aliases = all.aliases()[i];
    if (std::any_of(aliases.begin(), aliases.end(), is_it)) return &all.shape(i);
  }
  return nullptr;
}

}  // namespace

std::span<const ModelShape> models() {
  return catalogue().shapes();
}

std::span<const std::string> model_aliases(const ModelShape& shape) {
  ModelCatalogue& all = catalogue();
  return all.aliases()[all.index(shape)];
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
    return "this repository belongs to another organisation than " + model_aliases(*shape).front() +
           " and may have different weights: give its config.json, or model=" + shape->name +
           " if it is a copy";
  for (std::size_t end = rest.rfind('-'); end != std::string_view::npos && end > 0;
       end = rest.rfind('-', end - 1)) {
    const ModelShape* const shape = known(rest.substr(0, end));
    if (shape == nullptr) continue;
    return "\"" + std::string(rest.substr(end)) + "\" may mean different weights than those of " +
           shape->name + ": give its config.json, or model=" + shape->name +
           " with deployment.weight_bits if only the number of bits per weight differs";
  }
  return {};
}

bool names_model_file(std::string_view text) {
  if (text.ends_with(".json")) return true;
  return text.find('/') != std::string_view::npos && known(text) == nullptr;
}

}  // namespace kvplan::model
