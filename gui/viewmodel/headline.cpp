#include "gui/viewmodel/headline.h"

#include <QCoreApplication>
#include <array>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("headline", text);
}

template <class Format>
QString or_dash(const std::optional<double>& value, Format format) {
  return value ? format(*value) : QStringLiteral("–");
}

}  // namespace

std::vector<HeadlineRow> headline(const plan::RunResult& r) {
  const auto latency = [](const std::optional<plan::LatencySummary>& s, double plan::LatencySummary::*field) {
    return or_dash(s ? std::optional((*s).*field) : std::nullopt, format_seconds);
  };
  const auto count = [](std::int64_t n) { return format_number(static_cast<double>(n)); };
  using L = plan::LatencySummary;
  std::vector<HeadlineRow> rows{
      {tr("TTFT p50"), latency(r.ttft, &L::p50), tr("Time from arrival to the first token, median")},
      {tr("TTFT p99"), latency(r.ttft, &L::p99), tr("Time from arrival to the first token, 99th percentile")},
      {tr("TPOT p50"), latency(r.tpot, &L::p50), tr("Time per further output token, median")},
      {tr("Output rate"),
       or_dash(r.output_tokens_per_s, [](double v) { return tr("%1 tokens/s").arg(format_number(v)); }),
       tr("Output tokens of completed requests over the whole run")},
      {tr("Mean batch"), or_dash(r.mean_running, format_number),
       tr("Requests running at once, mean over time")},
      {tr("Completed"), tr("%1 of %2").arg(count(r.completed), count(r.arrived)),
       tr("Requests served to their end, of those that arrived")},
      {tr("Rejected"), count(r.rejected), tr("Requests that the pool or the model's length cannot hold")},
      {tr("Preemptions"), count(r.preemptions), tr("Times a running request lost its memory")},
      {tr("Prefix hits"), tr("%1 tokens").arg(count(r.prefix_hit_tokens)),
       tr("Prompt tokens found in the cache at first admission")},
      {tr("Makespan"), format_seconds(seconds(r.makespan)), tr("From the first arrival to the last finish")},
  };
  if (r.slo_met_fraction)
    rows.push_back({tr("Targets met"), format_percent(*r.slo_met_fraction),
                    tr("Share of requests that met all latency targets")});
  return rows;
}

QString state_name(observe::State state) {
  return to_qstring(observe::kStateNames[observe::index(state)]);
}

QString state_meaning(observe::State state) {
  static constexpr std::array<const char*, observe::kStates> kMeanings{
      QT_TRANSLATE_NOOP("headline", "tables, maps and scales that lie in the pool"),
      QT_TRANSLATE_NOOP("headline", "held, written, and kept by some request"),
      QT_TRANSLATE_NOOP("headline", "held for tokens that are still to be written"),
      QT_TRANSLATE_NOOP("headline", "written and dropped, but its block is still held"),
      QT_TRANSLATE_NOOP("headline", "rest of a held block that will never be written"),
      QT_TRANSLATE_NOOP("headline", "no token can lie here: null block and remainders"),
      QT_TRANSLATE_NOOP("headline", "reserved beyond what the request will ever use"),
      QT_TRANSLATE_NOOP("headline", "held by nobody, its content can still be found again"),
      QT_TRANSLATE_NOOP("headline", "held by nobody, yet an allocation was refused for lack of memory"),
      QT_TRANSLATE_NOOP("headline", "held by nobody, available at once")};
  return tr(kMeanings[observe::index(state)]);
}

}  // namespace kvplan::gui
