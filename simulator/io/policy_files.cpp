#include "simulator/io/policy_files.h"

#include <simdjson.h>

#include "simulator/attention/recorded_sets.h"
#include "simulator/io/head_scores.h"
#include "simulator/io/json_text.h"
#include "simulator/modelfile/json_keys.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;

Error in_file(const std::string& file, const std::string& what) {
  return bad_input(what).at_file(file);
}

Result<attention::RecordedSets::Sets> sets_of(dom::element element) {
  attention::RecordedSets::Sets out;
  dom::array sets;
  if (element.get(sets) != simdjson::SUCCESS) return bad_input("expected a list of token sets");
  for (const dom::element set : sets) {
    dom::array positions;
    if (set.get(positions) != simdjson::SUCCESS) return bad_input("expected a list of positions");
    out.emplace_back();
    for (const dom::element position : positions) {
      std::int64_t value = 0;
      if (position.get(value) != simdjson::SUCCESS || value < 0 || value >= INT32_MAX)
        return bad_input("expected positions from 0");
      out.back().push_back(static_cast<std::int32_t>(value));
    }
  }
  return out;
}

/// `from`: the object that has them.
Result<attention::RecordedSets> layer_of(dom::element from, std::int64_t prompt) {
  attention::RecordedSets out;
  std::int64_t layer = 0;
  dom::element after;
  dom::array steps;
  if (from["layer"].get(layer) == simdjson::SUCCESS) {
    if (layer < 0 || layer >= INT32_MAX) return bad_input("expected a layer from 0");
    out.layer = static_cast<std::int32_t>(layer);
  }
  if (from["after_prefill"].get(after) != simdjson::SUCCESS || from["steps"].get(steps) != simdjson::SUCCESS)
    return bad_input("expected the keys prefill_len, after_prefill and steps");
  KVPLAN_TRY(auto first, sets_of(after));
  out.after.push_back(std::move(first));
  std::int64_t t = prompt;
  for (const dom::element step : steps) {
    dom::element retained;
    std::int64_t found = 0;
    if (step["t"].get(found) != simdjson::SUCCESS || found != t ||
        step["retained"].get(retained) != simdjson::SUCCESS)
      return bad_input("expected step t = " + std::to_string(t) + " with its retained token sets");
    KVPLAN_TRY(auto sets, sets_of(retained));
    out.after.push_back(std::move(sets));
    ++t;
  }
  return out;
}

Result<attention::RecordedLayers> recorded_of(dom::element root) {
  attention::RecordedLayers out;
  if (root["prefill_len"].get(out.prompt) != simdjson::SUCCESS)
    return bad_input("expected the keys prefill_len, after_prefill and steps");
  if (out.prompt < 1 || out.prompt >= INT32_MAX) return bad_input("expected prefill_len to be at least 1");
  dom::array layers;
  if (root["layers"].get(layers) != simdjson::SUCCESS) {
    KVPLAN_TRY(auto sets, layer_of(root, out.prompt));
    out.layers.push_back(std::move(sets));
    return out;
  }
  for (const dom::element each : layers) {
    KVPLAN_TRY(auto sets, layer_of(each, out.prompt));
    if (!sets.layer || out.of(*sets.layer) != nullptr)
      return bad_input("expected each of its layers once, with the key layer");
    out.layers.push_back(std::move(sets));
  }
  return out;
}

Status read_tables(attention::PolicyChoice& policy) {
  policy.tables.clear();
  for (const Param& param : policy.choice.descriptor().params) {
    if (!param.names_file) continue;
    auto read = read_head_scores(policy.choice.text(param.name));
    if (!read.ok())
      return Error(read.error()).at_field(std::string(policy.choice.name()) + ":" + std::string(param.name));
    policy.tables.push_back(std::move(read).value());
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const attention::RecordedLayers>> read_recorded_sets(const std::string& path) {
  KVPLAN_TRY(const std::string text, read_json_text(path));
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(text).get(root); error != simdjson::SUCCESS)
    return in_file(path, std::string("expected JSON, found ") + simdjson::error_message(error));
  if (const auto twice = key_given_twice(root))
    return in_file(path, "expected each key once, found " + *twice + " twice");
  auto recorded = recorded_of(root);
  if (!recorded.ok()) return in_file(path, recorded.error().to_string());
  recorded.value().file = path;
  return std::make_shared<const attention::RecordedLayers>(std::move(recorded).value());
}

Status read_policy_files(attention::PolicyChoice& policy) {
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  if (traits.head_tables) return read_tables(policy);
  if (!traits.recorded) return Done{};
  auto recorded = read_recorded_sets(policy.choice.text("file"));
  if (!recorded.ok()) return Error(recorded.error()).at_field(std::string(policy.choice.name()) + ":file");
  policy.recorded = std::move(recorded).value();
  return Done{};
}

}  // namespace kvplan::io
