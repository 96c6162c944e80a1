#include "gui/viewmodel/slider_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/catalogue_text.h"
#include "gui/viewmodel/formatting.h"
#include "simulator/model/pool.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Sliders {
  Q_DECLARE_TR_FUNCTIONS(Sliders)
};

/// Decimal text of at most three significant digits.
std::string three_digit_text(double value) {
  return to_utf8(QString::number(value, 'g', 3));
}

/// low * 2^(i/steps) up to high, in whole numbers; no number twice.
std::vector<std::string> doubling_stops(std::int64_t low, std::int64_t high, int steps) {
  std::vector<std::string> out;
  for (int i = 0;; ++i) {
    const double exact = static_cast<double>(low) * std::exp2(static_cast<double>(i) / steps);
    const auto value = static_cast<std::int64_t>(std::llround(exact));
    if (value > high) return out;
    if (out.empty() || out.back() != std::to_string(value)) out.push_back(std::to_string(value));
  }
}

/// From 256 MiB to 2 TiB.
std::vector<std::string> pool_byte_stops() {
  std::vector<std::string> stops;
  for (const std::string& mib : doubling_stops(256, std::int64_t{1} << 21, 8))
    stops.push_back(std::to_string(parse_integer(mib).value() << 20));
  return stops;
}

double number(const std::string& text) {
  const auto fraction = parse_fraction(text);
  return fraction.ok() ? static_cast<double>(fraction.value().numerator) /
                             static_cast<double>(fraction.value().denominator)
                       : parse_decimal(text).value_or(0);
}

SliderModel load_slider(const runs::Scenario& scenario) {
  SliderModel model;
  model.path = "workload.rate_scale";
  model.text = scenario.text("workload.rate_scale");
  model.explanation = Sliders::tr("Factor on the recorded arrival rate");
  // An eighth to sixteen times, eight steps to a doubling.
  for (int i = -24; i <= 32; ++i) model.stops.push_back(three_digit_text(std::exp2(i / 8.0)));
  model.shown = QStringLiteral("× %1").arg(to_qstring(model.text));
  return model;
}

/// A pool that follows from the device is shown with its computed size. If the slider is moved, that size becomes a
/// setting.
SliderModel derived_pool_slider(const runs::Scenario& scenario, std::int64_t bytes) {
  const QString device = to_qstring(scenario.text("deployment.device"));
  SliderModel model;
  if (bytes == 0) {
    model.shown = Sliders::tr("from %1", "device").arg(device);
    model.explanation =
        Sliders::tr("KV memory of one replica, out of the memory that %1 has free; known after a first run")
            .arg(device);
    return model;
  }
  model.path = "memory.pool_bytes";
  model.stops = pool_byte_stops();
  model.text = std::to_string(bytes);
  model.shown =
      Sliders::tr("%1, %2", "size of memory, device").arg(format_bytes(static_cast<double>(bytes)), device);
  model.explanation = Sliders::tr(
                          "KV memory of one replica, out of the memory that %1 has free; moving the slider "
                          "sets your own size")
                          .arg(device);
  return model;
}

SliderModel pool_slider(const runs::Scenario& scenario, std::int64_t derived_pool_bytes) {
  if (scenario.derives_pool) return derived_pool_slider(scenario, derived_pool_bytes);
  SliderModel model;
  if (scenario.pool.blocks >= 0) {
    model.path = "memory.pool_blocks";
    model.stops = doubling_stops(64, std::int64_t{1} << 22, 8);
    model.shown = Sliders::tr("%1 blocks").arg(format_number(static_cast<double>(scenario.pool.blocks)));
  } else if (scenario.pool.tokens >= 0) {
    model.path = "memory.pool_tokens";
    model.stops = doubling_stops(std::int64_t{1} << 10, std::int64_t{1} << 26, 8);
    model.shown = Sliders::tr("%1 tokens").arg(format_number(static_cast<double>(scenario.pool.tokens)));
  } else {
    model.path = "memory.pool_bytes";
    model.stops = pool_byte_stops();
    model.shown = format_bytes(static_cast<double>(scenario.pool.bytes));
  }
  model.text = scenario.text(model.path);
  model.explanation = Sliders::tr("KV memory of one replica");
  return model;
}

/// Marks what the device has room for.
void add_limit(SliderModel& model, const runs::Scenario& scenario, const SliderFacts& facts) {
  if (facts.device_pool_bytes <= 0 || model.path.empty()) return;
  double most = static_cast<double>(facts.device_pool_bytes);
  if (model.path != "memory.pool_bytes") {
    if (facts.token_bytes <= 0) return;
    most /= static_cast<double>(facts.token_bytes);
    if (model.path == "memory.pool_blocks") {
      const bool has_blocks = std::any_of(scenario.allocator.descriptor().params.begin(),
                                          scenario.allocator.descriptor().params.end(),
                                          [](const Param& param) { return param.name == "block_tokens"; });
      if (!has_blocks) return;
      most /= static_cast<double>(scenario.allocator.integer("block_tokens"));
    }
  }
  int last = -1;
  for (const std::string& stop : model.stops)
    if (number(stop) <= most) ++last;
  if (last + 1 < static_cast<int>(model.stops.size())) model.limit = std::max(0, last);
  if (number(model.text) <= most * 1.0001) return;
  model.warning = Sliders::tr("More than %1 holds: weights and buffers leave %2 for the cache")
                      .arg(to_qstring(scenario.text("deployment.device")),
                           format_bytes(static_cast<double>(facts.device_pool_bytes)));
}

SliderModel param_slider(const std::string& field, const Choice& choice, std::string_view name,
                         std::int64_t low, std::int64_t high, int steps) {
  SliderModel model;
  for (const Param& param : choice.descriptor().params) {
    if (param.name != name) continue;
    model.path = field + "." + std::string(name);
    model.stops = doubling_stops(std::max(low, static_cast<std::int64_t>(param.low)),
                                 std::min(high, static_cast<std::int64_t>(param.high)), steps);
    model.text = choice.text(name);
    model.shown = Sliders::tr("%1 tokens").arg(format_number(number(model.text)));
    model.explanation = catalogue_text(param.help);
  }
  return model;
}

SliderModel block_slider(const runs::Scenario& scenario, std::int64_t hash_block_tokens) {
  SliderModel model = param_slider("memory.allocator", scenario.allocator, "block_tokens", 1, 512, 1);
  if (model.path.empty()) {
    model.explanation =
        Sliders::tr("The allocator \"%1\" has no blocks").arg(to_qstring(scenario.allocator.name()));
  } else if (hash_block_tokens > 0 && scenario.engine_traits().wants_prefixes) {
    std::erase_if(model.stops, [&](const std::string& text) {
      return hash_block_tokens % parse_integer(text).value() != 0;
    });
    model.explanation = Sliders::tr("%1; it divides the trace's hash block of %2")
                            .arg(model.explanation)
                            .arg(hash_block_tokens);
  }
  return model;
}

/// What it moves depends on the scenario, so the value says which tokens are meant.
SliderModel budget_slider(const runs::Scenario& scenario) {
  if (scenario.eviction) {
    for (const char* name : {"window", "recent", "budget"}) {
      SliderModel model = param_slider("eviction", *scenario.eviction, name, 16, 1 << 17, 4);
      model.shown = Sliders::tr("%1 kept").arg(model.shown);
      if (!model.path.empty()) return model;
    }
  }
  SliderModel model =
      param_slider("engine", scenario.engine, scenario.engine_traits().step_tokens.param, 64, 1 << 16, 4);
  if (!model.path.empty()) model.shown = Sliders::tr("%1 a step").arg(model.shown);
  return model;
}

/// The engine's text, without the longest request if the model decides it: a model in a file says it only in a run.
std::string engine_text(const runs::Scenario& scenario, std::size_t field) {
  std::string text = scenario.texts[field];
  const std::string_view param = scenario.engine_traits().request_tokens.param;
  if (scenario.param_origin(field, param) == runs::Origin::kGiven) return text;
  const std::size_t begin = text.find(std::string(param) + "=");
  if (begin == std::string::npos) return text;
  const std::size_t end = text.find(',', begin);
  // With the separator before it, or the one after it.
  return end == std::string::npos ? text.erase(begin - 1) : text.erase(begin, end + 1 - begin);
}

/// Whether all that a derived pool follows from is the same. REQUIRES: `b` has run.
bool same_pool(const runs::Scenario& a, const runs::Scenario& b) {
  const auto fields = runs::scenario_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view path = fields[i].path;
    const bool counts = path == "model" || path == "format" || path == "window_format" || path == "engine" ||
                        path == "memory.allocator" || path == "workload.attention" ||
                        path.starts_with("deployment.");
    if (!counts) continue;
    if (path == "engine" ? engine_text(a, i) != engine_text(b, i) : a.texts[i] != b.texts[i]) return false;
  }
  return a.derives_pool == b.derives_pool;
}

}  // namespace

std::int64_t derived_pool_bytes(const runs::Scenario& scenario, const runs::RunSummary* run) {
  if (!scenario.derives_pool) return 0;
  if (scenario.model != nullptr) {
    const auto pool = model::derive_pool(*scenario.model, scenario.deployment);
    return pool.ok() ? pool.value().rank().pool_bytes : 0;
  }
  if (run == nullptr || run->replicas.empty() || !same_pool(scenario, run->scenario)) return 0;
  return run->replicas.front().pool.capacity_bytes;
}

int SliderModel::position() const {
  const double wanted = std::log(std::max(number(text), 1e-12));
  const auto distance = [&](const std::string& stop) { return std::abs(std::log(number(stop)) - wanted); };
  const auto nearest = std::min_element(
      stops.begin(), stops.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return static_cast<int>(nearest - stops.begin());
}

SliderModel slider_model(SliderKind kind, const runs::Scenario& scenario, const SliderFacts& facts) {
  switch (kind) {
    case SliderKind::kLoad:
      return load_slider(scenario);
    case SliderKind::kPool: {
      SliderModel model = pool_slider(scenario, facts.derived_pool_bytes);
      add_limit(model, scenario, facts);
      return model;
    }
    case SliderKind::kBlock:
      return block_slider(scenario, facts.hash_block_tokens);
    case SliderKind::kBudget:
      break;
  }
  return budget_slider(scenario);
}

}  // namespace kvplan::gui
