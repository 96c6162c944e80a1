#include "simulator/study/answer.h"

#include <algorithm>
#include <map>

#include "simulator/base/check.h"

namespace kvplan::runs {
namespace {

using observe::State;

/// The list of figures has the values, and says which of two is better. For shares of memory and batch sizes it does
/// not, since they are no advantage by themselves. Between two variants with the same work (see the header) they are an
/// advantage, so this list says which is better.
std::vector<Metric> make_metrics() {
  std::vector<Metric> list;
  const auto add = [&](std::string name, std::string_view figure, Better better = Better::kNeither) {
    const Figure& of = figure_named(figure);
    if (better == Better::kNeither) better = of.better;
    KVPLAN_CHECK(better != Better::kNeither && (of.better == Better::kNeither || of.better == better));
    list.push_back({std::move(name), &of, better == Better::kLower});
  };
  const auto add_state = [&](State state, Better better) {
    const std::string name(observe::kStateNames[index(state)]);
    add(name + "_fraction", "memory.mean_fraction." + name, better);
  };
  const auto add_per_gpu = [&](std::string name, std::string_view figure) {
    add(std::move(name), figure);
    list.back().per_gpu = true;
  };
  add_state(State::kLive, Better::kHigher);
  for (const State state : kLossStates) add_state(state, Better::kLower);
  add("mean_running", "batch.mean_running", Better::kHigher);
  add("max_running", "batch.max_running", Better::kHigher);
  add("completed", "requests.completed");
  add("output_tokens_per_s", "throughput.output_tokens_per_s");
  add("ttft_p99_s", "latency_s.ttft.p99");
  add("tpot_p50_s", "latency_s.tpot.p50");
  add("preemptions", "preemptions");
  add("computed_tokens", "tokens.computed");
  add("goodput_per_s", "slo.goodput_per_s");
  add("gpus", "gpus");
  add_per_gpu("output_tokens_per_s_per_gpu", "throughput.output_tokens_per_s");
  add_per_gpu("goodput_per_s_per_gpu", "slo.goodput_per_s");
  return list;
}

bool begins_with_any(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view one) { return text.substr(0, one.size()) == one; });
}

/// True if all fields with paths that begin with one of these have equal texts; with `others`, if all others do.
bool same_texts(const RunSummary& a, const RunSummary& b, std::span<const std::string_view> paths,
                bool others) {
  const auto fields = scenario_fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (begins_with_any(fields[i].path, paths) != others && a.scenario.texts[i] != b.scenario.texts[i])
      return false;
  return true;
}

/// Whether a value is near enough to that of the largest pool to count as the knee.
bool near_enough(const Metric& metric, double value, double of_largest) {
  if (metric.name == "preemptions") return value == 0;
  return metric.less_is_better ? value <= of_largest * (1 + kKneeShare)
                               : value >= of_largest * (1 - kKneeShare);
}

/// Groups of variants that differ only in the pool, each in order of size; groups of fewer than three are left out.
std::vector<std::vector<std::size_t>> series_of(const Comparison& comparison, std::string_view path) {
  std::map<std::vector<std::string>, std::size_t> place;
  std::vector<std::vector<std::size_t>> series;
  for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
    const Variant& variant = comparison.variants[v];
    if (!variant.result) continue;
    std::vector<std::string> others;
    for (const auto& [varied, value] : variant.varied)
      if (varied != path) others.push_back(value);
    const auto [found, fresh] = place.try_emplace(std::move(others), series.size());
    if (fresh) series.emplace_back();
    series[found->second].push_back(v);
  }
  std::erase_if(series, [](const std::vector<std::size_t>& one) { return one.size() < 3; });
  for (auto& one : series)
    std::stable_sort(one.begin(), one.end(), [&](std::size_t a, std::size_t b) {
      return pool_size(*comparison.variants[a].result) < pool_size(*comparison.variants[b].result);
    });
  return series;
}

/// Returns nothing if some variant does not have the figure.
std::optional<Knee> knee_in(const Comparison& comparison, const std::vector<std::size_t>& series,
                            const Metric& metric) {
  Knee knee{metric.name, series, std::nullopt};
  const RunSummary& largest = *comparison.variants[series.back()].result;
  const std::optional<double> goal = metric.value(largest);
  bool holds = true;
  for (std::size_t i = series.size(); i-- > 0;) {
    const RunSummary& result = *comparison.variants[series[i]].result;
    const std::optional<double> value = metric.value(result);
    if (!goal || !value) return std::nullopt;
    holds = holds && same_work(result, largest) && near_enough(metric, *value, *goal);
    if (holds) knee.at = i;
  }
  return knee;
}

}  // namespace

std::optional<double> Metric::value(const RunSummary& result) const {
  const std::optional<double> number = number_of(figure->value(result));
  if (!number || !per_gpu) return number;
  return *number / static_cast<double>(gpus_of(result));
}

std::span<const Metric> answer_metrics() {
  static const std::vector<Metric> kAll = make_metrics();
  return kAll;
}

const Metric& answer_metric(std::string_view name) {
  const std::span<const Metric> all = answer_metrics();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.name == name; });
  KVPLAN_CHECK(found != all.end());
  return *found;
}

std::optional<State> largest_loss(const RunSummary& r) {
  if (!r.memory || !r.memory->timed) return std::nullopt;
  const auto of = [&](State state) { return r.memory->mean_fraction[index(state)]; };
  const State most = *std::max_element(kLossStates.begin(), kLossStates.end(),
                                       [&](State a, State b) { return of(a) < of(b); });
  if (of(most) <= 0) return std::nullopt;
  return most;
}

bool same_work(const RunSummary& a, const RunSummary& b) {
  return a.trace_digest == b.trace_digest && a.arrived == b.arrived && a.completed == b.completed &&
         a.input_tokens == b.input_tokens && a.output_tokens == b.output_tokens;
}

bool same_load(const RunSummary& a, const RunSummary& b) {
  constexpr std::array<std::string_view, 2> kPaths{"workload.", "targets."};
  return a.trace_digest == b.trace_digest && a.arrived == b.arrived && same_texts(a, b, kPaths, false);
}

bool same_memory(const RunSummary& a, const RunSummary& b) {
  constexpr std::array<std::string_view, 5> kPaths{"memory.allocator", "eviction", "format", "window_format",
                                                   "workload.attention"};
  return a.capacity_bytes == b.capacity_bytes && same_texts(a, b, kPaths, true);
}

bool same_hardware(const RunSummary& a, const RunSummary& b) {
  constexpr std::array<std::string_view, 4> kPaths{"deployment.device", "deployment.tp", "deployment.pp",
                                                   "fleet.replicas"};
  return same_texts(a, b, kPaths, false);
}

std::size_t baseline_of(const Comparison& comparison) {
  const auto& variants = comparison.variants;
  auto first = std::find_if(variants.begin(), variants.end(),
                            [](const Variant& v) { return v.result && v.result->completed > 0; });
  if (first == variants.end())
    first =
        std::find_if(variants.begin(), variants.end(), [](const Variant& v) { return v.result.has_value(); });
  KVPLAN_CHECK(first != variants.end());
  return static_cast<std::size_t>(first - variants.begin());
}

std::vector<Fact> facts_of(const Comparison& comparison) {
  const std::size_t base = baseline_of(comparison);
  const RunSummary& measured = *comparison.variants[base].result;
  std::vector<Fact> facts;
  for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
    if (!comparison.variants[v].result) continue;
    const RunSummary& result = *comparison.variants[v].result;
    for (const Metric& metric : answer_metrics()) {
      Fact fact{.variant = v, .metric = metric.name, .value = metric.value(result)};
      const std::optional<double> against = metric.value(measured);
      if (v != base && same_work(result, measured) && fact.value && against && *against != 0) {
        fact.versus = base;
        fact.ratio = *fact.value / *against;
      }
      facts.push_back(fact);
    }
  }
  return facts;
}

std::string_view varied_pool(const Comparison& comparison) {
  for (const Vary& vary : comparison.varies)
    for (const std::string_view path : {"memory.pool_bytes", "memory.pool_tokens", "memory.pool_blocks"})
      if (vary.path == path) return path;
  return {};
}

std::int64_t pool_size(const RunSummary& result) {
  const memory::PoolSize& pool = result.scenario.pool;
  return std::max({pool.bytes, pool.tokens, pool.blocks});
}

std::vector<Knee> knees_of(const Comparison& comparison) {
  const std::string_view path = varied_pool(comparison);
  if (path.empty()) return {};
  std::vector<Knee> knees;
  for (const auto& series : series_of(comparison, path))
    for (const std::string_view name : {"output_tokens_per_s", "ttft_p99_s", "preemptions"})
      if (auto knee = knee_in(comparison, series, answer_metric(name))) knees.push_back(std::move(*knee));
  return knees;
}

}  // namespace kvplan::runs
