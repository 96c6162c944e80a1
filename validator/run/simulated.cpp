#include "validator/run/simulated.h"

#include <algorithm>
#include <bit>

#include "simulator/base/program.h"
#include "simulator/io/device_file.h"
#include "simulator/io/model_file.h"
#include "simulator/io/openers.h"
#include "simulator/io/run_event_log.h"
#include "simulator/io/scenario_file.h"
#include "simulator/memory/allocators.h"
#include "simulator/model/ranks.h"
#include "simulator/run/run.h"
#include "traces/import/open_trace.h"

namespace kvplan::validator {
namespace {

Result<runs::Scenario> read_scenario(const std::string& input, const std::vector<std::string>& sets) {
  std::vector<runs::Setting> settings;
  KVPLAN_TRY(const auto file, traces::Input::open(input));
  const bool scenario = io::looks_like_scenario(file->peek(4096)) || io::is_named(input, ".kvs") ||
                        io::is_named(input, ".json");
  if (file->failed()) return file->error();
  if (scenario) {
    KVPLAN_TRY(settings, io::read_scenario(*file));
  } else {
    settings.push_back({"workload.trace", input, {}, 0});
    settings.back().option = "SCENARIO";
  }
  for (const std::string& text : sets) {
    KVPLAN_TRY(runs::Setting setting, runs::parse_setting(text));
    settings.push_back(std::move(setting));
  }
  KVPLAN_TRY_DO(io::read_devices(settings));
  return runs::resolve(settings);
}

/// The format that kernels quantise to; nothing: they have none of that name.
std::optional<Format> format_of(const std::string& name) {
  for (const Format format : {Format::kInt8, Format::kInt4, Format::kNvfp4})
    if (name_of(format) == name || name_of(format) == "nv" + name) return format;
  return std::nullopt;
}

/// In what a kernel stores tokens: 16 bits, fp8, or 16 bits beside a quantised form.
void set_format(const runs::Scenario& scenario, KernelShape& shape) {
  const std::string& text = scenario.text("format");
  const std::string name = text.substr(0, text.find(':'));
  if (name == "fp16") {
    shape.stored = Stored::kFp16;
  } else if (name == "fp8") {
    shape.stored = Stored::kFp8;
  } else if (const auto format = format_of(name)) {
    shape.format = format;
  } else if (!name.empty() && name != "none" && name != "native" && name != "bf16") {
    shape.left_out.push_back("no kernel stores " + name + ": attention was timed over bf16");
  }
  if (shape.format)
    shape.left_out.emplace_back(
        "attention over " + name +
        " is two kernels here: tokens are dequantised to bf16, and attention reads these");
}

void set_attention(const runs::Scenario& scenario, const model::ModelShape& model, KernelShape& shape) {
  const bool windows = memory::allocator_entry(scenario.allocator).follows_windows;
  const std::int64_t ranks = scenario.deployment.tensor_ranks;
  const std::int64_t query_heads = ceil_div(model.query_heads, ranks);
  for (const model::LayerRun& run : model.runs) {
    const model::LayerCache cache = model::share_of(run.cache, ranks);
    if (cache.kind != model::CacheKind::kHeads || cache.key_size != cache.value_size ||
        (cache.key_size != 64 && cache.key_size != 128) || cache.heads < 1) {
      if (cache.kind != model::CacheKind::kNone)
        shape.left_out.push_back("no kernel here reads the cache of " + std::to_string(run.layers) +
                                 " layers: keys and values by head, of 64 or 128 elements, are read");
      continue;
    }
    AttentionLayers layers{
        .layers = run.layers,
        .query_heads = static_cast<std::int32_t>(cache.heads * ceil_div(query_heads, cache.heads)),
        .kv_heads = static_cast<std::int32_t>(cache.heads),
        .head_size = static_cast<std::int32_t>(cache.key_size),
        .window = windows ? cache.window : 0};
    const auto same = std::find_if(shape.attention.begin(), shape.attention.end(), [&](const auto& each) {
      return each.kv_heads == layers.kv_heads && each.head_size == layers.head_size &&
             each.window == layers.window;
    });
    if (same != shape.attention.end())
      same->layers += layers.layers;
    else
      shape.attention.push_back(layers);
  }
}

Result<Simulated> describe_run(const runs::Scenario& scenario) {
  Simulated out{.model = scenario.text("model"),
                .allocator = scenario.text("memory.allocator"),
                .eviction = scenario.text("eviction"),
                .format = scenario.text("format"),
                .shape = {},
                .warnings = {}};
  KernelShape& shape = out.shape;
  set_format(scenario, shape);
  shape.compacts = out.eviction.find("placement=compact") != std::string::npos;
  shape.reuses = out.eviction.find("placement=reuse") != std::string::npos;
  for (const Param& param : scenario.allocator.descriptor().params)
    if (param.name == "block_tokens") {
      const auto tokens = static_cast<std::uint64_t>(scenario.allocator.integer("block_tokens"));
      if (std::has_single_bit(tokens) && tokens <= 256)
        shape.page_tokens = static_cast<std::int32_t>(tokens);
      else
        shape.left_out.push_back(
            "kernels read pages of a power of two up to 256: they were timed with 16 tokens");
    }
  if (scenario.keeps_nothing()) {
    shape.left_out.emplace_back("nothing is stored, so no kernel reads it");
    return out;
  }
  if (scenario.model != nullptr) {
    set_attention(scenario, *scenario.model, shape);
  } else if (!scenario.model_file.empty()) {
    KVPLAN_TRY(const model::ModelShape model, io::open_model(scenario.model_file));
    set_attention(scenario, model, shape);
  } else {
    shape.left_out.emplace_back("the model is that of recordings: its kernels were not run");
  }
  return out;
}

}  // namespace

Result<Simulated> simulate(const std::string& input, const std::vector<std::string>& sets,
                           const std::string& log) {
  KVPLAN_TRY(const runs::Scenario scenario, read_scenario(input, sets));
  if (scenario.trace.empty())
    return bad_input("scenario names no trace: add --set workload.trace=FILE").at_field("workload.trace");
  KVPLAN_TRY(const traces::Trace trace, traces::open_trace(scenario.trace, scenario.import));
  KVPLAN_TRY(Simulated out, describe_run(scenario));
  core::RunControl control;
  control.stop_asked = interrupted;
  runs::RunOptions options{io::file_openers()};
  options.control = &control;
  io::RunEventLog events(log);
  events.attach(scenario, trace, options);
  KVPLAN_TRY(const runs::RunResult result, runs::run_scenario(scenario, trace, options));
  KVPLAN_TRY_DO(events.close());
  out.warnings = result.warnings;
  return out;
}

}  // namespace kvplan::validator
