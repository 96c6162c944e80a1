#include "gui/viewmodel/headline.h"

#include <QCoreApplication>
#include <array>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Headline {
  Q_DECLARE_TR_FUNCTIONS(Headline)
};

template <class Format>
QString or_dash(const std::optional<double>& value, Format format) {
  return value ? format(*value) : QStringLiteral("–");
}

}  // namespace

std::vector<HeadlineRow> headline(const runs::RunSummary& r) {
  const auto latency = [](const std::optional<runs::LatencySummary>& s, double runs::LatencySummary::*field) {
    return or_dash(s ? std::optional((*s).*field) : std::nullopt, format_seconds);
  };
  const auto count = [](std::int64_t n) { return format_number(static_cast<double>(n)); };
  using L = runs::LatencySummary;
  const auto ttft = [&](double L::*field) {  // in a saturated run it grows with the trace
    return runs::is_saturated(r) ? or_dash(std::nullopt, format_seconds) : latency(r.ttft, field);
  };
  std::vector<HeadlineRow> rows{
      {Headline::tr("TTFT p50"), ttft(&L::p50), Headline::tr("Time from arrival to the first token, median")},
      {Headline::tr("TTFT p99"), ttft(&L::p99),
       Headline::tr("Time from arrival to the first token, 99th percentile")},
      {Headline::tr("TPOT p50"), latency(r.tpot, &L::p50),
       Headline::tr("Time per further output token, median")},
      {Headline::tr("Output rate"),
       or_dash(r.output_tokens_per_s,
               [](double v) { return Headline::tr("%1 tokens/s").arg(format_number(v)); }),
       Headline::tr("Output tokens of completed requests over the whole run")},
      {Headline::tr("Mean batch"), or_dash(r.mean_running, format_number),
       Headline::tr("Requests running at once, mean over time")},
      {Headline::tr("Completed"), Headline::tr("%1 of %2").arg(count(r.completed), count(r.arrived)),
       Headline::tr("Requests that completed, of those that arrived")},
      {Headline::tr("Rejected"), count(r.rejected),
       Headline::tr("Requests that exceed the pool or the model's length limit")},
      {Headline::tr("Preemptions"), count(r.preemptions),
       Headline::tr("How often a running request was preempted")},
      {Headline::tr("Prefix hits"), Headline::tr("%1 tokens").arg(count(r.prefix_hit_tokens)),
       Headline::tr("Prompt tokens found in the cache at first admission")},
      {Headline::tr("Makespan"), format_seconds(seconds(r.makespan)),
       Headline::tr("From the first arrival to the last finish")},
  };
  if (r.slo_met_fraction)
    rows.push_back({Headline::tr("Targets met"), format_percent(*r.slo_met_fraction),
                    Headline::tr("Share of requests that met all latency targets")});
  return rows;
}

QString state_name(observe::State state) {
  static constexpr std::array<const char*, observe::kStates> kNames{
      QT_TRANSLATE_NOOP("Headline", "metadata"), QT_TRANSLATE_NOOP("Headline", "live"),
      QT_TRANSLATE_NOOP("Headline", "reserved"), QT_TRANSLATE_NOOP("Headline", "hole"),
      QT_TRANSLATE_NOOP("Headline", "tail"),     QT_TRANSLATE_NOOP("Headline", "padding"),
      QT_TRANSLATE_NOOP("Headline", "internal"), QT_TRANSLATE_NOOP("Headline", "cached"),
      QT_TRANSLATE_NOOP("Headline", "stranded"), QT_TRANSLATE_NOOP("Headline", "free")};
  return Headline::tr(kNames[observe::index(state)]);
}

QString state_meaning(observe::State state) {
  static constexpr std::array<const char*, observe::kStates> kMeanings{
      QT_TRANSLATE_NOOP("Headline", "block tables, maps and scales stored in the pool"),
      QT_TRANSLATE_NOOP("Headline", "allocated, written, and kept by at least one request"),
      QT_TRANSLATE_NOOP("Headline", "allocated for tokens that are still to be written"),
      QT_TRANSLATE_NOOP("Headline", "written and evicted, but the block is still held"),
      QT_TRANSLATE_NOOP("Headline", "rest of a held block that will never be written"),
      QT_TRANSLATE_NOOP("Headline", "no token can be stored here: null block and remainders"),
      QT_TRANSLATE_NOOP("Headline", "reserved beyond what the request will ever use"),
      QT_TRANSLATE_NOOP("Headline", "held by no request; its content can still be hit"),
      QT_TRANSLATE_NOOP("Headline", "held by no request, yet an allocation failed for lack of memory"),
      QT_TRANSLATE_NOOP("Headline", "held by no request, available at once")};
  return Headline::tr(kMeanings[observe::index(state)]);
}

}  // namespace kvplan::gui
