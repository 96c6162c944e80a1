#include "simulator/io/startup_scenario.h"

#include <algorithm>

#include "simulator/base/json_writer.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::io {
namespace {

using runs::Setting;
using startup::StartupLog;

/// A log rounds to two decimals of a GiB.
constexpr double kRoundingGib = 0.006;

void add(std::vector<Setting>& to, const char* path, std::string text) {
  to.push_back({path, std::move(text), {}, 0});
}

/// Joins the values that the log states into "name:key=value,...".
class Parts {
 public:
  explicit Parts(std::string name) : text_(std::move(name)) {}
  template <class T>
  void add(const char* key, const startup::Maybe<T>& value) {
    if (value) put(key, std::to_string(value->value));
  }
  void add(const char* key, const startup::Maybe<bool>& value) {
    if (value) put(key, value->value ? "true" : "false");
  }
  void add(const char* key, const startup::Maybe<std::string>& value) {
    if (value) put(key, value->value);
  }
  void add(const char* key, const startup::Maybe<double>& value) {
    if (value) put(key, shortest(value->value));
  }
  void put(const char* key, const std::string& value) {
    text_ += first_ ? ":" : ",";
    text_ += std::string(key) + "=" + value;
    first_ = false;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool first_{true};
};

/// A server that started with a longest request beyond its model's was told that it may.
bool goes_beyond(const StartupLog& log, const StartupChoices& choices) {
  if (choices.shape == nullptr || !log.max_model_len || !choices.shape->max_positions) return false;
  return log.max_model_len->value > *choices.shape->max_positions &&
         log.max_model_len->value > choices.shape->scaled_positions.value_or(0);
}

std::string engine_text(const StartupLog& log, const StartupChoices& choices) {
  Parts parts(log.engine);
  if (log.engine == "sglang") {
    parts.add("max_running_requests", log.max_seqs);
    parts.add("max_prefill_tokens", log.prefill_tokens);
    parts.add("chunked_prefill_size", log.prefill_chunk);
    parts.add("prefix_cache", log.prefix_cache);
    parts.add("context_length", log.max_model_len);
  } else {
    parts.add("token_budget", log.token_budget);
    parts.add("max_seqs", log.max_seqs);
    parts.add("prefix_cache", log.prefix_cache);
    parts.add("max_model_len", log.max_model_len);
  }
  if (goes_beyond(log, choices))
    parts.put(log.engine == "sglang" ? "allow_longer_context_len" : "allow_long_max_model_len", "true");
  return parts.take();
}

/// True if the server's elements have 32 bits, whatever the checkpoint has.
bool in_float32(const StartupLog& log) {
  return log.dtype && log.dtype->value.ends_with("float32");
}

/// The member of the family "format" for a dtype of the cache, which follows the model's where it is not given; empty:
/// the model's own elements.
std::string format_text(const StartupLog& log) {
  const std::string dtype = log.kv_cache_dtype ? log.kv_cache_dtype->value : "auto";
  if (dtype.starts_with("fp8")) return "fp8";
  return dtype == "auto" && in_float32(log) ? "fp32" : std::string();
}

/// Layers with windows or states: vLLM divides the pool's blocks among groups of layers.
bool has_groups(const StartupChoices& choices) {
  return choices.shape != nullptr &&
         (choices.shape->window_layers() > 0 || choices.shape->state_layers() > 0);
}

void add_pool(std::vector<Setting>& to, const StartupLog& log, const StartupChoices& choices) {
  if (log.pool_blocks && choices.shape != nullptr) {
    add(to, "memory.pool_blocks", std::to_string(log.pool_blocks->value));
  } else if (log.pool_tokens) {
    add(to, "memory.pool_tokens", std::to_string(log.pool_tokens->value));
  }
}

std::vector<Setting> common(const StartupLog& log, const StartupChoices& choices) {
  std::vector<Setting> out;
  if (!choices.model.empty()) add(out, "model", choices.model);
  add(out, "engine", engine_text(log, choices));
  Parts allocator(log.engine == "vllm-v1" && has_groups(choices) ? "grouped" : "paged");
  allocator.add("block_tokens", log.block_tokens);
  add(out, "memory.allocator", allocator.take());
  if (std::string format = format_text(log); !format.empty()) add(out, "format", std::move(format));
  if (in_float32(log) && !log.quantization) add(out, "deployment.weight_bits", "32");
  if (!choices.device.empty()) add(out, "deployment.device", choices.device);
  if (log.tensor_ranks) add(out, "deployment.tp", std::to_string(log.tensor_ranks->value));
  if (log.stages) add(out, "deployment.pp", std::to_string(log.stages->value));
  if (log.data_ranks && log.data_ranks->value > 1)
    add(out, "fleet", "replicas=" + std::to_string(log.data_ranks->value) + ",router=vllm-dp");
  return out;
}

/// The rule of the log's engine takes its version.
bool knows_version(const StartupLog& log) {
  Parts rule(log.engine);
  rule.add("version", log.version);
  const auto choice = runs::parse_member("pool-rule", rule.take());
  if (!choice.ok()) return false;
  const model::PoolRuleChoice known = scheduling::pool_rule_of(choice.value());
  return known.rule->check == nullptr || known.rule->check(known.choice).ok();
}

}  // namespace

std::vector<Setting> startup_settings(const StartupLog& log, const StartupChoices& choices) {
  std::vector<Setting> out = common(log, choices);
  add_pool(out, log, choices);
  return out;
}

std::vector<Setting> predicted_settings(const StartupLog& log, const StartupChoices& choices) {
  std::vector<Setting> out = common(log, choices);
  Parts rule(log.engine);
  // A rule describes versions from some first one on; the pool of an older one is taken to follow its default.
  if (log.version && knows_version(log)) rule.add("version", log.version);
  rule.add(log.engine == "sglang" ? "mem_fraction_static" : "memory_utilization", log.memory_share);
  add(out, "deployment.pool_rule", rule.take());
  return out;
}

std::string settings_json(const std::vector<Setting>& given) {
  const auto outer_of = [](const Setting& setting) { return setting.path.substr(0, setting.path.find('.')); };
  // Settings of one object are adjacent, at the position of its first member.
  std::vector<Setting> settings;
  for (const Setting& first : given) {
    const std::string outer = outer_of(first);
    if (std::any_of(settings.begin(), settings.end(), [&](const Setting& s) { return outer_of(s) == outer; }))
      continue;
    for (const Setting& setting : given)
      if (outer_of(setting) == outer) settings.push_back(setting);
  }
  JsonWriter json;
  json.begin_object();
  std::string open;
  const auto value = [&](const std::string& key, const std::string& text) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    json.key(key);
    if (number) {
      json.digits(text);
    } else {
      json.value(text);
    }
  };
  for (const Setting& setting : settings) {
    const std::size_t dot = setting.path.find('.');
    const std::string outer = dot == std::string::npos ? std::string() : setting.path.substr(0, dot);
    if (outer != open && !open.empty()) json.end_object();
    if (outer != open && !outer.empty()) json.key(outer).begin_object();
    open = outer;
    value(dot == std::string::npos ? setting.path : setting.path.substr(dot + 1), setting.text);
  }
  if (!open.empty()) json.end_object();
  json.end_object();
  return json.take();
}

std::vector<std::string> devices_of_total(double total_gib) {
  std::vector<std::string> out;
  for (const model::DeviceShape& device : model::devices()) {
    const auto gib = [&](model::DeviceFigure figure, model::DeviceFigure instead) {
      const auto& found = device.find(figure);
      return static_cast<double>((found ? *found : device.at(instead)).value) / (1 << 30);
    };
    const double least = gib(model::DeviceFigure::kUsableBytes, model::DeviceFigure::kUsableBytes);
    const double most = gib(model::DeviceFigure::kUsableBytesMost, model::DeviceFigure::kUsableBytes);
    if (total_gib > least - kRoundingGib && total_gib < most + kRoundingGib) out.push_back(device.name);
  }
  return out;
}

}  // namespace kvplan::io
