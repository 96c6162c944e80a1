#include "simulator/modelfile/config_object.h"

#include <simdjson.h>

#include <utility>

#include "simulator/modelfile/attention_keys.h"

namespace kvplan::model {

namespace dom = simdjson::dom;

struct Config::Parts {
  dom::object top, text;
  std::optional<dom::object> quantisation{};
};

namespace {

std::string found(dom::element value) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return "the text " + found_text(text);
  return found_text(simdjson::minify(value));
}

std::optional<dom::object> quantisation_of(const dom::object& top, const dom::object& text,
                                           const dom::object* beside) {
  for (const dom::object& part : {top, text})
    for (const char* key : {"quantization_config", "compression_config"}) {
      dom::object config;
      if (part[key].get_object().get(config) == simdjson::SUCCESS) return config;
    }
  if (beside != nullptr) return *beside;
  return std::nullopt;
}

}  // namespace

Config::Config(const dom::object& top, const dom::object& text, std::string part, const std::string& file,
               const dom::object* beside)
    : parts_(std::make_shared<Parts>(Parts{top, text, quantisation_of(top, text, beside)})),
      part_(std::move(part)),
      file_(file) {}

const dom::object& Config::top() const {
  return parts_->top;
}

const dom::object& Config::object() const {
  return parts_->text;
}

const dom::object* Config::quantisation() const {
  return parts_->quantisation ? &*parts_->quantisation : nullptr;
}

Error Config::wrong(std::string message, std::string_view key) const {
  return bad_input(std::move(message)).at_file(file_).at_field(part_ + std::string(key));
}

const char* Config::present(Keys keys) const {
  for (const char* key : keys) {
    dom::element value;
    if (parts_->text[key].get(value) == simdjson::SUCCESS && !value.is_null()) return key;
  }
  return nullptr;
}

Result<std::optional<std::int64_t>> Config::maybe(Keys keys, WholeRange range) const {
  const char* key = present(keys);
  if (key == nullptr) return std::optional<std::int64_t>{};
  const dom::element value = parts_->text[key].value_unsafe();
  std::int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS || number < range.low || number > range.high)
    return wrong("expected " + expected_text(range) + ", found " + found(value), key);
  for (const char* other : keys) {
    dom::element same;
    if (parts_->text[other].get(same) != simdjson::SUCCESS || same.is_null()) continue;
    if (std::int64_t also = 0; same.get_int64().get(also) != simdjson::SUCCESS || also != number)
      return wrong("expected the number of " + std::string(key) + " (" + std::to_string(number) +
                       "), which means the same, found " + found(same),
                   other);
  }
  return std::optional<std::int64_t>(number);
}

Result<std::int64_t> Config::whole(Keys keys, std::int64_t most) const {
  KVPLAN_TRY(const auto value, maybe(keys, {1, most}));
  if (value) return *value;
  return wrong("expected " + expected_text(WholeRange{1, most}) + ", found nothing", *keys.begin());
}

Result<std::int64_t> Config::whole_or(Keys keys, WholeRange range, std::int64_t fallback) const {
  KVPLAN_TRY(const auto value, maybe(keys, range));
  return value.value_or(fallback);
}

Result<std::optional<bool>> Config::flag(const char* key, bool in_top) const {
  dom::element value;
  if (parts_->text[key].get(value) != simdjson::SUCCESS &&
      (!in_top || parts_->top[key].get(value) != simdjson::SUCCESS))
    return std::optional<bool>{};
  if (value.is_null()) return std::optional<bool>{};
  bool set = false;
  if (value.get_bool().get(set) != simdjson::SUCCESS)
    return wrong("expected true or false, found " + found(value), key);
  return std::optional<bool>(set);
}

Result<std::vector<std::int64_t>> Config::numbers(const char* key, WholeRange range) const {
  if (present({key}) == nullptr) return std::vector<std::int64_t>{};
  dom::array list;
  if (parts_->text[key].get_array().get(list) != simdjson::SUCCESS)
    return wrong("expected a list of whole numbers, found " + found(parts_->text[key].value_unsafe()), key);
  std::vector<std::int64_t> out;
  for (const dom::element each : list) {
    std::int64_t number = 0;
    if (each.get_int64().get(number) != simdjson::SUCCESS || number < range.low || number > range.high)
      return wrong("expected " + expected_text(range) + ", found " + found(each), key);
    out.push_back(number);
  }
  return out;
}

Result<std::vector<std::string>> Config::texts(const char* key) const {
  if (present({key}) == nullptr) return std::vector<std::string>{};
  dom::array list;
  if (parts_->text[key].get_array().get(list) != simdjson::SUCCESS)
    return wrong("expected a list of texts, found " + found(parts_->text[key].value_unsafe()), key);
  std::vector<std::string> out;
  for (const dom::element each : list) {
    std::string_view text;
    if (each.get_string().get(text) != simdjson::SUCCESS)
      return wrong("expected a list of texts, found " + found(each), key);
    out.emplace_back(text);
  }
  return out;
}

std::optional<double> Config::number(Keys keys) const {
  double out = 0;
  for (const char* key : keys)
    if (parts_->text[key].get_double().get(out) == simdjson::SUCCESS) return out;
  return std::nullopt;
}

bool Config::is_list(const char* key) const {
  return parts_->text[key].is_array();
}

std::string Config::text(const char* key) const {
  std::string_view out;
  if (parts_->text[key].get_string().get(out) == simdjson::SUCCESS) return std::string(out);
  return parts_->top[key].get_string().get(out) == simdjson::SUCCESS ? std::string(out) : std::string();
}

std::string Config::own_text(const char* key) const {
  std::string_view out;
  return parts_->top["kvplan"][key].get_string().get(out) == simdjson::SUCCESS ? std::string(out)
                                                                               : std::string();
}

std::optional<Config> Config::inside(const char* key) const {
  dom::object inner;
  if (parts_->text[key].get_object().get(inner) != simdjson::SUCCESS) return std::nullopt;
  return Config(inner, inner, part_ + key + ".", file_);
}

std::optional<std::string> Config::unknown_attention_key() const {
  for (const auto& [key, value] : parts_->text)
    if (belongs_to_attention(key) && !is_understood(key) && !claimed_.contains(key) &&
        !says_nothing(key, std::string(simdjson::minify(value))))
      return std::string(key);
  return std::nullopt;
}

}  // namespace kvplan::model
