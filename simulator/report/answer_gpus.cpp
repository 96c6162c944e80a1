#include "simulator/report/answer_gpus.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/target_words.h"
#include "simulator/run/summary.h"

namespace kvplan::report {
namespace {

using runs::RunSummary;

/// The name of a run's devices; empty where it has none.
std::string kind_of(const View& view, std::size_t v) {
  const model::DeviceShape* const device = view.result(v).scenario.deployment.device;
  return device == nullptr ? std::string() : std::string(device->name);
}

/// The kinds of devices of the variants that ran, in their order.
std::vector<std::string> kinds_of(const View& view) {
  std::vector<std::string> kinds;
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v)
    if (view.comparison.variants[v].result &&
        std::find(kinds.begin(), kinds.end(), kind_of(view, v)) == kinds.end())
      kinds.push_back(kind_of(view, v));
  return kinds;
}

/// "replicas=2 (8 GPUs)", "replicas=2 (8 GPUs; 1 other within half a percent)"; if variants have devices of several
/// kinds, "replicas=2 (8 GPUs of kind l40s)".
std::string gpu_words(const View& view, std::size_t v, std::int64_t alike = 0) {
  const bool tell = kinds_of(view).size() > 1 && !kind_of(view, v).empty();
  return view.name(v) + " (" + count_words(runs::gpus_of(view.result(v)), "GPU", "GPUs") +
         (tell ? " of kind " + kind_of(view, v) : "") +
         (alike > 0 ? "; " + count_words(alike, "other", "others") + " within half a percent" : "") + ")";
}

bool judged(const RunSummary& r) {
  return r.slo_met || r.slo_met_fraction;
}

/// How close a result is to its targets, more is closer: the share of requests that meet them, and with percentiles
/// the worst ratio of a target to its value. REQUIRES: judged(r).
double nearness(const RunSummary& r) {
  if (r.percentiles.empty()) return r.slo_met_fraction.value_or(0);
  const Fraction& enough = r.scenario.target_fraction;
  const auto ratio = runs::percentile_ratio(r.percentiles);
  const bool none = std::any_of(r.percentiles.begin(), r.percentiles.end(),
                                [](const auto& each) { return !each.have_s && !each.holds.value_or(true); });
  double least = none ? 0 : ratio && *ratio > 0 ? 1 / *ratio : HUGE_VAL;
  if (r.slo_met_fraction)
    least = std::min(least, *r.slo_met_fraction * static_cast<double>(enough.denominator) /
                                static_cast<double>(enough.numerator));
  return least;
}

/// Among variants with targets: those with the fewest devices that meet them often enough.
struct Fewest {
  std::optional<std::size_t> meets;        ///< the variant with the fewest devices that meets them
  std::optional<std::size_t> best;         ///< the variant that is nearest to the targets
  std::int64_t least{INT64_MAX}, most{0};  ///< numbers of devices of all judged variants
};

/// Looks at variants with devices of this kind only; at all variants if it is null.
Fewest fewest_of(const View& view, const std::string* kind) {
  Fewest out;
  const auto met = [&](std::size_t v) { return nearness(view.result(v)); };
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v) {
    if (!view.comparison.variants[v].result || !judged(view.result(v))) continue;
    if (kind != nullptr && kind_of(view, v) != *kind) continue;
    const std::int64_t gpus = runs::gpus_of(view.result(v));
    out.least = std::min(out.least, gpus);
    out.most = std::max(out.most, gpus);
    if (!out.best || met(v) > met(*out.best)) out.best = v;
    if (!view.result(v).slo_met.value_or(false)) continue;
    const std::int64_t so_far = out.meets ? runs::gpus_of(view.result(*out.meets)) : INT64_MAX;
    if (gpus < so_far || (gpus == so_far && met(v) > met(*out.meets))) out.meets = v;
  }
  return out;
}

}  // namespace

std::string per_gpu_sentence(const View& view) {
  const auto pair_of = [&](const char* metric) { return best_and_other(view, runs::answer_metric(metric)); };
  const auto gpus = pair_of("gpus");
  if (!gpus || gpus->best_value == gpus->other_value) return {};
  const auto good = pair_of("goodput_per_s_per_gpu");
  const auto pair = good ? good : pair_of("output_tokens_per_s_per_gpu");
  if (!pair || pair->best_value <= 0) return {};
  const std::string per_gpu = std::string(good ? "Goodput" : "Output") + " per GPU is ";
  const char* const what = good ? " requests" : " tokens";
  if (tied(pair->best_value, pair->other_value))
    return per_gpu + "the same in all variants: " + rounded(pair->best_value) + what +
           " per second, within half a percent.";
  return per_gpu + "highest with " + gpu_words(view, pair->best, pair->alike) + ": " +
         rounded(pair->best_value) + what + " per second, against " + rounded(pair->other_value) + " with " +
         gpu_words(view, pair->other) + ".";
}

std::string fewest_gpus_sentence(const View& view) {
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v)
    if (view.comparison.variants[v].result && judged(view.result(v)) &&
        !runs::same_load(view.result(v), view.result(view.base)))
      return {};
  const Fewest all = fewest_of(view, nullptr);
  const std::vector<std::string> kinds = kinds_of(view);
  if (!all.best || (all.least == all.most && kinds.size() == 1)) return {};
  const RunSummary& best = view.result(*all.best);
  const bool percentiles = !best.percentiles.empty();
  const auto met = [&](std::size_t v) {
    const RunSummary& r = view.result(v);
    return percentiles ? came_to_text(r) : percent(r.slo_met_fraction.value_or(0));
  };
  if (!all.meets && !percentiles && best.slo_met_fraction.value_or(0) == 0)
    return "In no variant does any request meet all targets.";
  if (!all.meets)
    return (percentiles ? "In no variant do the targets hold (" + targets_text(best) + ")"
                        : "In no variant do " + fraction_text(best.scenario.target_fraction) +
                              " of the requests meet all targets") +
           "; the nearest is " + gpu_words(view, *all.best) + ": " + met(*all.best) + ".";
  const std::string enough = targets_text(best);
  if (kinds.size() == 1)
    return view.start(*all.meets) + " takes the fewest GPUs with which " + enough + ": " +
           grouped(runs::gpus_of(view.result(*all.meets))) + " (" + met(*all.meets) + ").";
  std::string out = "The fewest GPUs of each kind with which " + enough + ":";
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const Fewest of_kind = fewest_of(view, &kinds[k]);
    if (!of_kind.best) continue;
    out += (out.back() == ':' ? " " : "; ") + kinds[k] + ": ";
    out += of_kind.meets
               ? grouped(runs::gpus_of(view.result(*of_kind.meets))) + " with " + view.name(*of_kind.meets) +
                     " (" + met(*of_kind.meets) + ")"
               : "none (the nearest is " + view.name(*of_kind.best) + ": " + met(*of_kind.best) + ")";
  }
  return out + ".";
}

std::string cheapest_sentence(const View& view) {
  std::optional<std::size_t> cheapest;
  bool differ = false;
  const auto per_hour = [&](std::size_t v) { return view.result(v).cost->per_hour; };
  std::optional<std::size_t> first;
  for (std::size_t v = 0; v < view.comparison.variants.size(); ++v) {
    if (!view.comparison.variants[v].result || !view.result(v).cost || !view.result(v).slo_met) continue;
    const RunSummary& r = view.result(v);
    if (!runs::same_load(r, view.result(view.base))) return {};
    if (!first) first = v;
    if (r.cost->currency != view.result(*first).cost->currency) return {};
    differ = differ || per_hour(v) != per_hour(*first);
    if (*r.slo_met && (!cheapest || per_hour(v) < per_hour(*cheapest))) cheapest = v;
  }
  if (!cheapest || !differ) return {};
  const RunSummary& r = view.result(*cheapest);
  std::string out = view.start(*cheapest) + " costs least where " + targets_text(r) + ": " +
                    rounded(r.cost->per_hour) + " " + r.cost->currency + " an hour";
  if (const auto million = runs::cost_per_million_output_tokens(r))
    out += ", " + rounded(*million) + " per million output tokens";
  return out + ".";
}

}  // namespace kvplan::report
