// Sentences about the pool size beyond which a larger pool no longer helps.
#include "simulator/report/answer.h"
#include "simulator/report/number_text.h"
#include "simulator/report/variant_names.h"

namespace kvplan::report {
namespace {

using runs::Comparison;

/// The pool size beyond which one figure stops improving.
std::string knee_sentence(const Comparison& comparison, const VariantNames& names, const runs::Knee& knee) {
  const auto figure = [&](std::size_t at) {
    return metric_text(
        knee.metric, *runs::answer_metric(knee.metric).value(*comparison.variants[knee.variants[at]].result));
  };
  const auto pool = [&](std::size_t at) { return names.in_words(knee.variants[at]); };
  const std::size_t last = knee.variants.size() - 1;
  std::string out = knee.at ? "The knee of " : "No knee of ";
  out += metric_words(knee.metric);
  if (!knee.at)
    return out.append(": the largest pool tried, ")
               .append(pool(last))
               .append(", still has ")
               .append(figure(last)) +
           ".";
  if (*knee.at == last) {
    out.append(" is not below the largest pool tried, ").append(pool(last)).append(" (").append(figure(last));
    out.append("; the next, ").append(pool(last - 1)).append(", gives ").append(figure(last - 1));
    return out + "): a larger one may still help.";
  }
  out += *knee.at == 0 ? " is at or below the smallest of these pools, " : " is ";
  out += pool(*knee.at);
  if (knee.metric != "preemptions") {
    out.append(" (").append(figure(*knee.at)).append("; the largest, ").append(pool(last));
    out.append(", gives ").append(figure(last)).append(")");
  }
  return out + ".";
}

}  // namespace

std::vector<std::string> knee_sentences(const Comparison& comparison) {
  std::vector<std::string> out;
  const std::vector<runs::Knee> knees = runs::knees_of(comparison);
  if (knees.empty()) return out;
  const VariantNames names(comparison);
  out.push_back(
      "The knee of a figure is the smallest of these pools for which the figure of this pool and of every "
      "larger one is within " +
      fixed(runs::kKneeShare * 100, 0) +
      " % of the largest pool's (for preemptions: is zero), with the same requests completed.");
  for (const runs::Knee& knee : knees) out.push_back(knee_sentence(comparison, names, knee));
  return out;
}

}  // namespace kvplan::report
