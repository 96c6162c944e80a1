#include "simulator/planner/prepare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "simulator/base/check.h"
#include "simulator/deployment/deployment.h"
#include "simulator/modelfile/device_text.h"
#include "simulator/report/number_text.h"
#include "simulator/scenario/model_length.h"
#include "traces/edit/edits.h"

namespace kvplan::planner {
namespace {

constexpr std::array<const char*, 3> kPools{"memory.pool_bytes", "memory.pool_tokens", "memory.pool_blocks"};
/// A slice is this share of the requests.
constexpr std::int64_t kSliceShareOf = 10;

bool gives(const std::vector<runs::Setting>& settings, std::string_view path) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const runs::Setting& s) { return s.path == path; });
}

/// The values of an axis: those of --may, else the scenario's, else the default ones.
std::vector<std::string> axis_of(std::vector<runs::Vary>& may, const std::vector<runs::Setting>& settings,
                                 const std::string& path, std::vector<std::string> otherwise) {
  const auto named =
      std::find_if(may.begin(), may.end(), [&](const runs::Vary& v) { return v.path == path; });
  if (named != may.end()) {
    std::vector<std::string> values = named->values;
    may.erase(named);
    return values;
  }
  for (auto at = settings.rbegin(); at != settings.rend(); ++at)
    if (at->path == path) return {at->text};
  return otherwise;
}

/// Paths that say what is asked for: a search that chose their values would change the question.
bool is_question(std::string_view path) {
  return path.starts_with("workload.") || path.starts_with("targets.") || path == "prices" || path == "seed";
}

Status check_paths(const std::vector<runs::Vary>& may) {
  for (const runs::Vary& vary : may)
    if (is_question(vary.path))
      return bad_input("expected a part of the deployment, found what is asked for: use --set " + vary.path +
                       "=VALUE")
          .at_field("--may " + vary.path);
  return Done{};
}

/// `may` with the scenario's own value first.
Status add_own_values(std::vector<runs::Vary>& may, const runs::Scenario& scenario) {
  for (runs::Vary& vary : may) {
    // Parameters of components have no field of their own: their texts are in that of the component.
    const auto fields = runs::scenario_fields();
    const bool is_field = std::any_of(fields.begin(), fields.end(),
                                      [&](const runs::Field& field) { return field.path == vary.path; });
    std::string own;
    if (is_field) {
      own = scenario.text(vary.path);
    } else {
      const std::size_t dot = vary.path.rfind('.');
      const std::string outer = vary.path.substr(0, dot), param = vary.path.substr(dot + 1);
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const runs::Field& each) { return each.path == outer; });
      if (field == fields.end() || field->kind != runs::FieldKind::kComponent)
        return bad_input("expected a path of a scenario (`kvplan list scenario`)")
            .at_field("--may " + vary.path);
      KVPLAN_TRY(const Choice choice, runs::parse_member(field->family, scenario.text(outer)));
      const auto params = choice.descriptor().params;
      for (std::size_t i = 0; i < params.size(); ++i)
        if (params[i].name == param) own = choice.values()[i].text;
      if (own.empty())
        return bad_input(std::string(choice.name()) + " has no parameter " + param)
            .at_field("--may " + vary.path);
    }
    const auto same = std::find(vary.values.begin(), vary.values.end(), own);
    if (same != vary.values.end()) vary.values.erase(same);
    if (!own.empty()) vary.values.insert(vary.values.begin(), own);
  }
  return Done{};
}

Result<model::ModelShape> model_of(const runs::Scenario& scenario, const runs::Openers& openers) {
  if (scenario.model != nullptr) return *scenario.model;
  if (!scenario.model_file.empty() && openers.open_model) return openers.open_model(scenario.model_file);
  return bad_input("expected a model: add --model").at_field("model");
}

/// Why no engine starts so; empty: it does.
Result<std::string> why_not(const runs::Scenario& scenario, const runs::Openers& openers, LiveShape& live) {
  if (!scenario.derives_pool) return std::string();
  KVPLAN_TRY(const model::ModelShape shape, model_of(scenario, openers));
  const auto obstacles = runs::obstacles_of(scenario, shape, openers.open_side);
  if (!obstacles.ok()) {
    if (obstacles.error().kind == ErrorKind::kInterrupted) return obstacles.error();
    return obstacles.error().to_string();
  }
  if (obstacles.value() && !obstacles.value()->empty()) {
    const model::Obstacle& first = obstacles.value()->front();
    const auto amount = [&](std::int64_t value) {
      return first.unit == Unit::kBytes ? report::bytes_text(static_cast<double>(value))
                                        : report::grouped(value) + " " + std::string(unit_name(first.unit));
    };
    std::string out = "the engine would not start (" + first.obstacle + "): needs " + amount(first.need) +
                      ", has " + amount(first.have);
    if (!first.remedies.empty()) out += "; " + first.remedies.front() + " would help";
    return out;
  }
  std::vector<std::string> warnings, assumptions;
  KVPLAN_TRY(const runs::ModelOnRanks placed,
             runs::place_model(scenario, shape, openers.open_side, warnings, assumptions));
  if (const auto laid_out = runs::lay_out_pool(scenario, shape, placed); laid_out.ok())
    live.pool_tokens = laid_out.value().tokens();
  if (placed.pool && placed.pool->rank().pool_bytes > 0) {
    const model::StagePool& rank = placed.pool->rank();
    const auto tokens_of = [&](std::int64_t bytes) {
      const double share = static_cast<double>(bytes) / static_cast<double>(rank.pool_bytes);
      return std::max(0.0, static_cast<double>(live.pool_tokens) * share);
    };
    live.pool_low_tokens = static_cast<std::int64_t>(std::floor(tokens_of(rank.low_bytes)));
    live.pool_high_tokens = static_cast<std::int64_t>(std::ceil(tokens_of(rank.high_bytes)));
  }
  return std::string();
}

/// The stretch of the trace with the most tokens per second; null: the trace is too short, or requests wait for each
/// other.
runs::TracePtr busiest_slice(const traces::Trace& trace, std::int64_t from) {
  if (trace.size() < from || !trace.shares_clock || !trace.waits.empty()) return nullptr;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(trace.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(rows[i]); };
  std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
    return trace.arrival_ns[static_cast<std::size_t>(a)] < trace.arrival_ns[static_cast<std::size_t>(b)];
  });
  const std::size_t length = rows.size() / kSliceShareOf;
  double tokens = 0, most = -1;
  std::size_t best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tokens += trace.input_tokens[at(i)] + trace.output_tokens[at(i)];
    if (i < length) continue;
    tokens -= trace.input_tokens[at(i - length)] + trace.output_tokens[at(i - length)];
    const auto span = static_cast<double>(trace.arrival_ns[at(i)] - trace.arrival_ns[at(i - length)] + 1);
    if (tokens / span <= most) continue;
    most = tokens / span;
    best = i - length + 1;
  }
  std::vector<std::int64_t> chosen(rows.begin() + static_cast<std::ptrdiff_t>(best),
                                   rows.begin() + static_cast<std::ptrdiff_t>(best + length));
  std::sort(chosen.begin(), chosen.end());
  return std::make_shared<const traces::Trace>(traces::select_rows(trace, chosen));
}

class Preparation {
 public:
  Preparation(const PlanRequest& request) : request_(request), openers_(request.inputs->openers()) {}

  Result<Prepared> take() {
    settings_ = request_.settings;
    may_ = request_.may;
    KVPLAN_TRY_DO(check_paths(may_));
    KVPLAN_TRY_DO(choose_devices());
    KVPLAN_TRY(const runs::Scenario base, base_scenario());
    out_.targets = targets_of(base, request_.goodput_per_s);
    if (out_.targets.empty())
      return bad_input("expected a target: add --target ttft.p99<=2s, or targets to the scenario")
          .at_field("--target");
    KVPLAN_TRY(out_.trace, request_.inputs->trace(base));
    KVPLAN_TRY_DO(fit_longest_request(base));
    KVPLAN_TRY_DO(add_own_values(may_, base));
    KVPLAN_TRY_DO(make_space(base));
    KVPLAN_TRY_DO(find_live_shapes());
    out_.slice = busiest_slice(*out_.trace, request_.slice_from);
    return std::move(out_);
  }

 private:
  Status choose_devices() {
    for (const runs::Setting& each : settings_) {
      if (each.path != "prices" || each.text == "none" || !openers_.open_prices) continue;
      KVPLAN_TRY(out_.prices, openers_.open_prices(each.text));
    }
    std::vector<std::string> wanted = request_.devices;
    if (wanted.empty() && !gives(settings_, "deployment.device") && out_.prices)
      for (const runs::DevicePrice& price : out_.prices->devices) wanted.push_back(price.device);
    for (const std::string& name : wanted) {
      const auto device = model::any_device(name);
      if (!device.ok()) return Error(device.error()).at_field("--devices");
      std::string text = model::says_device(name) ? model::in_place(*device.value()) : device.value()->name;
      if (std::find(out_.devices.begin(), out_.devices.end(), text) != out_.devices.end())
        return bad_input("expected each device once, found " + device.value()->name + " again")
            .at_field("--devices");
      out_.devices.push_back(std::move(text));
    }
    if (out_.devices.empty()) return Done{};
    varies_device_ = true;
    for (const char* pool : kPools) {
      const auto removed = std::erase_if(settings_, [&](const runs::Setting& s) { return s.path == pool; });
      if (removed > 0)
        out_.notes.push_back(std::string(pool) +
                             " of the scenario is not used: each device has its own pool.");
    }
    return Done{};
  }

  /// The scenario on the first device.
  Result<runs::Scenario> base_scenario() {
    std::vector<runs::Setting> settings = settings_;
    if (varies_device_) settings.push_back(planned("deployment.device", out_.devices.front()));
    KVPLAN_TRY(runs::Scenario base, runs::resolve(settings));
    if (!varies_device_) {
      if (base.deployment.device == nullptr && base.origin("memory.pool_bytes") == runs::Origin::kDefault &&
          base.origin("memory.pool_tokens") == runs::Origin::kDefault &&
          base.origin("memory.pool_blocks") == runs::Origin::kDefault)
        return bad_input(
                   "expected devices: add --devices 'h100-sxm;l40s' (`kvplan list device`), or --prices")
            .at_field("--devices");
      out_.devices = {base.deployment.device == nullptr ? std::string() : base.deployment.device->name};
    }
    if (!out_.prices) {
      if (out_.devices.size() > 1)
        out_.notes.emplace_back(
            "There is no price list (--prices FILE): every GPU counts the same, whatever its kind.");
      return base;
    }
    for (const std::string& device : out_.devices) {
      if (device.empty())
        return bad_input("expected --devices: prices are those of devices").at_field("--prices");
      const auto cost = runs::cost_of(*out_.prices, device, 1);
      if (!cost.ok()) return Error(cost.error()).at_file(base.prices);
    }
    return base;
  }

  /// The engine's limit of a request, where nothing says it, is the longest request of the trace: room for a longer
  /// one keeps engines from starting.
  Status fit_longest_request(const runs::Scenario& base) {
    const traces::Trace& trace = *out_.trace;
    for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i)
      out_.longest_tokens =
          std::max(out_.longest_tokens, std::int64_t{trace.input_tokens[i]} + trace.output_tokens[i]);
    if (trace.size() == 0) return bad_input("expected requests, found none").at_file(base.trace);
    const scheduling::EngineLimit limit = base.engine_traits().request_tokens;
    const auto fields = runs::scenario_fields();
    const auto engine = std::find_if(fields.begin(), fields.end(),
                                     [](const runs::Field& field) { return field.path == "engine"; });
    const auto origin = base.param_origin(static_cast<std::size_t>(engine - fields.begin()), limit.param);
    if (origin == runs::Origin::kGiven) return Done{};
    constexpr std::int64_t kStep = 1024;
    const std::int64_t tokens = ceil_div(out_.longest_tokens + 8, kStep) * kStep;
    if (const auto own = length_of_the_model(base); own && tokens > *own) {
      say_what_is_too_long(base.engine_traits(), *own);
      return Done{};  // each run derives it again
    }
    settings_.push_back(planned("engine." + std::string(limit.param), std::to_string(tokens)));
    out_.notes.push_back(std::string(limit.param) + " is " + std::to_string(tokens) +
                         ": the longest request of the trace has " + report::grouped(out_.longest_tokens) +
                         " tokens.");
    return Done{};
  }

  /// The longest request with which a server of this model starts; nothing if that is not known, or if the scenario
  /// allows longer ones.
  std::optional<std::int64_t> length_of_the_model(const runs::Scenario& base) {
    const scheduling::EngineTraits engine = base.engine_traits();
    if (base.deployment.device == nullptr || engine.beyond_model.variable.empty() ||
        engine.beyond_model.allowed)
      return std::nullopt;
    const auto shape = model_of(base, openers_);
    return shape.ok() ? runs::model_length(engine, shape.value())
                      : std::nullopt;  // each case says what is wrong
  }

  void say_what_is_too_long(const scheduling::EngineTraits& engine, std::int64_t most) {
    const traces::Trace& trace = *out_.trace;
    std::int64_t longer = 0;
    for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i)
      longer += std::int64_t{trace.input_tokens[i]} + trace.output_tokens[i] > most ? 1 : 0;
    out_.too_long = report::grouped(longer) + " of " + report::grouped(trace.size()) +
                    " requests of the trace are longer than " + report::grouped(most) +
                    " tokens, for which the model was made: servers reject them, and they count as late "
                    "(engine." +
                    std::string(engine.beyond_model.param) + "=true serves them)";
    out_.notes.push_back(out_.too_long + ".");
  }

  Status make_space(const runs::Scenario& base) {
    SpaceOptions options;
    const bool ranks = varies_device_ || base.deployment.device != nullptr;
    named_stages_ = std::any_of(may_.begin(), may_.end(),
                                [](const runs::Vary& vary) { return vary.path == "deployment.pp"; });
    using Texts = std::vector<std::string>;
    options.tensor_ranks =
        axis_of(may_, settings_, "deployment.tp", ranks ? Texts{"1", "2", "4", "8"} : Texts{"1"});
    options.stages = axis_of(may_, settings_, "deployment.pp", ranks ? Texts{"1", "2", "4"} : Texts{"1"});
    options.settings = settings_;
    options.rates = request_.rates;
    if (varies_device_) options.devices = out_.devices;
    options.may = may_;
    options.most_gpus = request_.most_gpus;
    KVPLAN_TRY(out_.space, Space::of(std::move(options)));
    return Done{};
  }

  /// Values that no shape can have are mistakes; shapes that no engine starts are left out.
  Status find_live_shapes() {
    std::optional<Error> first_error;
    std::set<std::string> started;  // shapes without their stages
    KVPLAN_TRY(const runs::Combinations combinations, out_.space.shape_combinations());
    runs::ValueCheck values(combinations);
    for (std::size_t shape = 0; shape < out_.space.shapes(); ++shape) {
      if (request_.control != nullptr && request_.control->wants_stop()) return interrupted_error();
      const auto scenario = runs::resolve(out_.space.settings(request_.rates.front(), shape, 1));
      values.told(static_cast<std::int64_t>(shape), scenario.ok() ? nullptr : &scenario.error());
      if (!scenario.ok()) {
        if (!first_error) first_error = scenario.error();
        out_.refused.push_back({out_.space.shape_name(shape), scenario.error().to_string()});
        continue;
      }
      KVPLAN_TRY_DO(judge(shape, scenario.value(), started));
    }
    KVPLAN_TRY_DO(values.slips(out_.space.options().settings));
    if (!out_.shapes.empty()) return Done{};
    if (first_error && out_.refused.size() == out_.space.shapes() &&
        out_.refused.front().why == first_error->to_string())
      return *first_error;
    std::string why = out_.refused.empty() ? std::string("no shape")
                                           : out_.refused.back().shape + ": " + out_.refused.back().why;
    return bad_input("no device starts this model with these ranks; " + why).at_field("--devices");
  }

  Status judge(std::size_t shape, const runs::Scenario& scenario, std::set<std::string>& started) {
    const model::Deployment& d = scenario.deployment;
    LiveShape live{shape, 0, d.tensor_ranks * d.stages};
    std::string without_stages;
    for (const auto& [path, value] : out_.space.shape(shape)) {
      if (path == "deployment.device")
        live.group = static_cast<std::size_t>(std::find(out_.devices.begin(), out_.devices.end(), value) -
                                              out_.devices.begin());
      if (path != "deployment.pp") without_stages += value + "\n";
    }
    // Stages add memory and no speed: they are for what does not start without them.
    if (!named_stages_ && d.stages > 1 && started.contains(without_stages)) return Done{};
    const auto refuse = [&](std::string why) -> Status {
      out_.refused.push_back({out_.space.shape_name(shape), std::move(why)});
      return Done{};
    };
    if (live.gpus > request_.most_gpus)
      return refuse("a replica takes " + std::to_string(live.gpus) + " GPUs, more than --max-gpus");
    if (out_.prices && varies_device_) {
      const auto price = std::find_if(out_.prices->devices.begin(), out_.prices->devices.end(),
                                      [&](const auto& p) { return p.device == out_.devices[live.group]; });
      if (price->gpus_per_node > 1 && d.tensor_ranks > price->gpus_per_node)
        return refuse("its tensor-parallel ranks would be on two nodes of " +
                      std::to_string(price->gpus_per_node) + " GPUs");
    }
    KVPLAN_TRY(std::string why, why_not(scenario, openers_, live));
    if (!why.empty()) return refuse(std::move(why));
    started.insert(without_stages);
    if (out_.shapes.empty()) out_.first = scenario;
    out_.shapes.push_back(live);
    return Done{};
  }

  const PlanRequest& request_;
  runs::Openers openers_;
  std::vector<runs::Setting> settings_;
  std::vector<runs::Vary> may_;
  bool varies_device_{false};
  bool named_stages_{false};
  Prepared out_;
};

}  // namespace

double Prepared::cost(std::size_t group, std::int64_t gpus) const {
  if (!prices) return static_cast<double>(gpus);
  const auto cost = runs::cost_of(*prices, devices[group], gpus);
  KVPLAN_CHECK(cost.ok());  // prepare has asked
  return cost.value().per_hour;
}

Result<Prepared> prepare(const PlanRequest& request) {
  return Preparation(request).take();
}

}  // namespace kvplan::planner
