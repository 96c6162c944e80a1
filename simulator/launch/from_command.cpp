#include "simulator/launch/from_command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_text.h"
#include "simulator/report/number_text.h"

namespace kvplan::launch {
namespace {

using scheduling::FlagValue;
using scheduling::ServerCommand;
using scheduling::ServerFlag;

bool in_list(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::string written(const GivenFlag& flag) {
  std::string out = flag.written;
  for (const std::string& value : flag.values) out += " " + value;
  return out;
}

/// Reads "32k" as 32000 and "32K" as 32768, like vLLM; returns other texts unchanged.
std::string without_suffix(const std::string& text) {
  constexpr std::array<std::pair<char, double>, 6> kSuffixes{
      {{'k', 1e3}, {'m', 1e6}, {'g', 1e9}, {'K', 1024}, {'M', 1048576}, {'G', 1073741824}}};
  for (const auto& [suffix, times] : kSuffixes) {
    if (text.size() < 2 || text.back() != suffix) continue;
    if (const auto number = parse_decimal(text.substr(0, text.size() - 1)))
      return std::to_string(std::llround(*number * times));
  }
  return text;
}

class Converter {
 public:
  Converter(const CommandLine& line, const FromCommandOptions& options) : line_(line), options_(options) {
    out_.server = line.server;
  }

  Result<FromCommand> take() {
    out_.model = line_.model;
    KVPLAN_TRY_DO(choose_device());
    for (const auto& [name, value] : line_.variables) take_variable(name, value);
    for (const GivenFlag& flag : line_.flags) KVPLAN_TRY_DO(take_flag(flag));
    choose_model();
    add_defaults();
    write_settings();
    if (const auto scenario = runs::resolve(out_.settings); !scenario.ok()) return scenario.error();
    return std::move(out_);
  }

 private:
  Status choose_device() {
    if (options_.device.empty()) {
      out_.missing.emplace_back("the device; give it with --device");
      return Done{};
    }
    KVPLAN_TRY(const auto device, model::any_device(options_.device));
    device_ = model::says_device(options_.device) ? model::in_place(*device) : device->name;
    const auto bytes = device->at(model::DeviceFigure::kUsableBytes).value;
    large_ = line_.server->is_large(device->name, static_cast<std::int64_t>(bytes));
    return Done{};
  }

  void take_variable(const std::string& name, const std::string& value) {
    for (const scheduling::ServerVariable& each : line_.server->variables) {
      if (each.name != name) continue;
      if (each.sets.empty()) {
        values_[std::string(each.path)] = value;
      } else if (value == "1" || value == "true") {
        values_[std::string(each.path)] = each.sets;
      }
    }
  }

  Status take_flag(const GivenFlag& flag) {
    if (!flag.known) {
      out_.unknown.push_back({written(flag), flag.hint.empty() ? "" : "did you mean " + flag.hint + "?"});
      return Done{};
    }
    bool taken = false;
    for (const ServerFlag& each : line_.server->flags()) {
      if (each.flag != flag.name && !(flag.negated && each.flag == flag.written)) continue;
      if (taken_by_sign(each, flag)) continue;
      KVPLAN_TRY_DO(set(each, flag));
      taken = true;
    }
    if (taken) return Done{};
    if (in_list(line_.server->overrides, flag.name)) values_[std::string(line_.server->any_length)] = "true";
    if (in_list(line_.server->affects, flag.negated ? flag.written : flag.name)) {
      out_.affecting.push_back({written(flag), "no setting of kvplan describes it"});
    } else {
      out_.ignored.push_back(written(flag));
    }
    return Done{};
  }
  /// True for a switch with the opposite sign: `--no-enforce-eager` sets nothing, and `--no-enable-prefix-caching` has
  /// a line of its own.
  static bool taken_by_sign(const ServerFlag& each, const GivenFlag& flag) {
    return !each.sets.empty() && flag.negated != each.flag.starts_with("--no-");
  }

  Status set(const ServerFlag& each, const GivenFlag& flag) {
    if (!each.sets.empty()) {
      values_[std::string(each.path)] = each.sets;
      return Done{};
    }
    if (flag.values.size() != 1) return bad_input("expected one value").at_field(flag.written);
    const std::string& value = flag.values.front();
    if (each.path == "model") {
      out_.model = value;
      return Done{};
    }
    const auto known = std::find_if(each.values.begin(), each.values.end(),
                                    [&](const FlagValue& v) { return v.flag == value; });
    if (known == each.values.end() && (each.values.empty() || parse_integer(value))) {
      if (value == "auto" || value == "-1") {
        out_.notes.push_back(flag.written + " " + value +
                             " lets the server choose; kvplan keeps its default.");
        return Done{};
      }
      values_[std::string(each.path)] = without_suffix(value);
      return Done{};
    }
    if (known == each.values.end()) {
      out_.affecting.push_back({written(flag), "kvplan has no value for it"});
      return Done{};
    }
    values_[std::string(each.path)] = known->setting;
    return Done{};
  }

  /// The model that kvplan knows under the command's name, or under a part of it.
  void choose_model() {
    const std::string name = options_.model.empty() ? out_.model : options_.model;
    if (name.empty()) {
      out_.missing.emplace_back("the model; give it with --model");
      return;
    }
    if (!options_.model.empty() || model::find_model(name).ok()) {
      model_ = name;
      return;
    }
    const std::string rest = name.substr(name.rfind('/') + 1);
    for (std::size_t end = rest.size(); end != std::string::npos && end > 0; end = rest.rfind('-', end - 1)) {
      const auto known = model::find_model(rest.substr(0, end));
      if (!known.ok() || !is_about_weights(rest.substr(end))) continue;
      model_ = known.value()->name;
      std::string note = name + " is taken for " + model_;
      if (const std::string bits = bits_of(rest.substr(end)); !bits.empty()) {
        values_.try_emplace("deployment.weight_bits", bits);
        note += " with " + bits + " bits per weight";
      }
      out_.notes.push_back(note + "; give another with --model.");
      return;
    }
    out_.missing.push_back("a model that kvplan knows: " + name +
                           " is not bundled; give its config.json with --model");
  }
  static std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }
  /// True if every word of an ending such as "-Instruct-FP8" says how the same shape was tuned or quantised.
  /// DeepSeek-R1-Distill-Qwen-7B, however, has another shape than DeepSeek-R1.
  static bool is_about_weights(const std::string& ending) {
    constexpr std::string_view kWords =
        "instruct chat it hf fp8 int8 int4 awq gptq w8a8 w8a16 w4a16 bnb 4bit 8bit dynamic static quantized "
        "block marlin g128";
    std::string word;
    for (const char c : lower(ending) + "-") {
      if (c != '-') {
        word += c;
        continue;
      }
      if (!word.empty() && !in_list(kWords, word)) return false;
      word.clear();
    }
    return true;
  }
  static std::string bits_of(const std::string& given) {
    const std::string ending = lower(given);
    constexpr std::array<std::pair<std::string_view, const char*>, 9> kEndings{{{"fp8", "8"},
                                                                                {"int8", "8"},
                                                                                {"w8a8", "8"},
                                                                                {"awq", "4"},
                                                                                {"gptq", "4"},
                                                                                {"int4", "4"},
                                                                                {"w4a16", "4"}}};
    for (const auto& [word, bits] : kEndings)
      if (ending.find(word) != std::string::npos) return bits;
    return {};
  }

  /// Adds the engine's own defaults where they may differ from kvplan's.
  void add_defaults() {
    for (const ServerFlag& each : line_.server->flags()) {
      const std::string path(each.path);
      if (values_.contains(path)) continue;
      const std::string_view text =
          large_ && !each.large_fallback.empty() ? each.large_fallback : each.fallback;
      const bool in_component = path.starts_with("engine.") || path.starts_with("memory.allocator.") ||
                                path.starts_with("deployment.pool_rule.");
      if (!text.empty() && in_component && each.values.empty()) values_[path] = text;
      if (device_.empty() && !each.large_fallback.empty())
        out_.notes.push_back(std::string(each.flag) + " is not given: " + std::string(each.fallback) + ", " +
                             std::string(each.fallback_note) + ".");
    }
  }

  void put(const char* path, std::string text) { out_.settings.push_back({path, std::move(text), {}, 0}); }
  /// "NAME:key=value,..." of all values below a path.
  [[nodiscard]] std::string component(std::string name, const std::string& path) const {
    char separator = ':';
    for (const auto& [each, value] : values_) {
      if (!each.starts_with(path + ".")) continue;
      name += separator + each.substr(path.size() + 1) + "=" + value;
      separator = ',';
    }
    return name;
  }

  void write_settings() {
    const std::string engine(line_.server->engine);
    if (!model_.empty()) put("model", model_);
    put("engine", component(engine, "engine"));
    bool windows = false;
    if (const auto shape = model::find_model(model_); !model_.empty() && shape.ok())
      windows = shape.value()->window_layers() > 0;
    put("memory.allocator",
        component(std::string(windows ? line_.server->window_allocator : line_.server->allocator),
                  "memory.allocator"));
    for (const auto& [path, value] : values_) {
      const bool own = path.starts_with("engine.") || path.starts_with("memory.allocator.") ||
                       path.starts_with("deployment.pool_rule.") || path == "fleet.replicas";
      if (!own) put(path.c_str(), value);
    }
    if (!device_.empty()) {
      put("deployment.device", device_);
      put("deployment.pool_rule", component(engine, "deployment.pool_rule"));
    }
    if (const auto replicas = values_.find("fleet.replicas");
        replicas != values_.end() && replicas->second != "1") {
      put("fleet.replicas", replicas->second);
      if (!line_.server->balancer.empty()) put("fleet.router", std::string(line_.server->balancer));
    }
  }

  const CommandLine& line_;
  const FromCommandOptions& options_;
  FromCommand out_;
  std::string device_, model_;
  bool large_{false};
  std::map<std::string, std::string> values_;  // by path
};

}  // namespace

Result<FromCommand> from_command(std::string_view command, const FromCommandOptions& options) {
  KVPLAN_TRY(const CommandLine line, parse_command(command));
  return Converter(line, options).take();
}

}  // namespace kvplan::launch
