#include "gui/viewmodel/fit_rows.h"

#include <QCoreApplication>
#include <QStringList>

#include "gui/viewmodel/catalogue_text.h"
#include "gui/viewmodel/formatting.h"
#include "simulator/report/number_text.h"
#include "simulator/report/target_words.h"
#include "simulator/run/summary.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Fits {
  Q_DECLARE_TR_FUNCTIONS(Fits)
};

QString truth(bool holds) {
  return holds ? Fits::tr("yes") : Fits::tr("no");
}

QString amount(std::int64_t number, Unit unit) {
  if (unit == Unit::kBytes) return format_bytes(static_cast<double>(number));
  return Fits::tr("%1 %2", "number, unit")
      .arg(format_number(static_cast<double>(number)), catalogue_text(unit_name(unit)));
}

QString obstacle_name(const model::Obstacle& obstacle) {
  if (obstacle.obstacle == model::kNoRoom) return Fits::tr("Weights and buffers");
  if (obstacle.obstacle == model::kStartMemory) return Fits::tr("Outside the engine's share");
  if (obstacle.obstacle == model::kLongestRequest) return Fits::tr("Longest request");
  return to_qstring(obstacle.obstacle);  // of a report of another version
}

QString obstacle_help(const model::Obstacle& obstacle) {
  if (obstacle.obstacle == model::kNoRoom)
    return Fits::tr("Weights and buffers leave no memory for one token of KV cache");
  if (obstacle.obstacle == model::kStartMemory)
    return Fits::tr("The memory left by the pool rule is too small for what must fit into it");
  return Fits::tr("A request of the engine's maximum length does not fit into the empty pool");
}

void add_obstacles(const std::vector<model::Obstacle>& obstacles, std::vector<HeadlineRow>& rows) {
  for (const model::Obstacle& each : obstacles) {
    QString value =
        Fits::tr("needs %1, has %2").arg(amount(each.need, each.unit), amount(each.have, each.unit));
    QStringList ways;
    for (const std::string& setting : each.remedies) ways << to_qstring(setting);
    // Each suggestion has its own line, and can be copied into the form or a command.
    if (!ways.isEmpty()) value += QLatin1Char('\n') + ways.join(QLatin1Char('\n'));
    QString help = obstacle_help(each);
    if (!ways.isEmpty())
      help = Fits::tr("%1. Each of these changes solves it: %2").arg(help, ways.join(QStringLiteral(", ")));
    rows.push_back({obstacle_name(each), value, help});
  }
}

HeadlineRow starts_row(bool starts) {
  return {Fits::tr("Memory suffices to start"), truth(starts),
          Fits::tr("Weights, buffers and a longest request fit")};
}

void add_targets(const runs::RunSummary& r, std::vector<HeadlineRow>& rows) {
  if (r.slo_met)
    rows.push_back({Fits::tr("Targets hold"), truth(*r.slo_met),
                    r.slo_met_fraction || r.percentiles.empty()
                        ? Fits::tr("At least %1 of the requests meet all targets, and every percentile holds")
                              .arg(to_qstring(report::fraction_text(r.scenario.target_fraction)))
                        : Fits::tr("Every percentile holds")});
  for (const runs::PercentileOutcome& each : r.percentiles) {
    QString value = QStringLiteral("–");
    if (each.holds) {
      const QString had = each.have_s   ? format_seconds(*each.have_s)
                          : *each.holds ? Fits::tr("no request")
                                        : Fits::tr("a request did not complete");
      value = Fits::tr("%1: %2", "yes or no, latency").arg(truth(*each.holds), had);
    }
    rows.push_back({Fits::tr("%1 at most %2", "TTFT p99, time")
                        .arg(to_qstring(report::percentile_name(each.name)), format_seconds(each.need_s)),
                    value,
                    Fits::tr("Over the requests that arrive in the window; a request that does not complete "
                             "counts as slower than any other")});
  }
}

void add_cost(const runs::RunSummary& r, std::vector<HeadlineRow>& rows) {
  if (!r.cost) return;
  const auto money = [&](const std::optional<double>& value) {
    return value ? Fits::tr("%1 %2", "amount, currency")
                       .arg(to_qstring(report::rounded(*value)), to_qstring(r.cost->currency))
                 : QStringLiteral("–");
  };
  const auto count = [](std::int64_t n) { return format_number(static_cast<double>(n)); };
  rows.push_back({Fits::tr("GPUs"), count(runs::gpus_of(r)), Fits::tr("Ranks of all replicas")});
  rows.push_back(
      {Fits::tr("Nodes"), count(r.cost->nodes), Fits::tr("Nodes for these GPUs, including spare nodes")});
  rows.push_back({Fits::tr("Cost per hour"), money(r.cost->per_hour), Fits::tr("For all of these nodes")});
  rows.push_back({Fits::tr("Cost per million output tokens"), money(runs::cost_per_million_output_tokens(r)),
                  Fits::tr("At the mean output rate of the whole run")});
}

}  // namespace

std::vector<HeadlineRow> fit_rows(const runs::RunSummary& r) {
  std::vector<HeadlineRow> rows;
  if (r.starts) rows.push_back(starts_row(*r.starts));
  add_obstacles(r.obstacles, rows);
  rows.push_back({Fits::tr("No rejections or preemptions"),
                  r.unhindered ? truth(*r.unhindered) : QStringLiteral("–"),
                  Fits::tr("No request was rejected or preempted")});
  add_targets(r, rows);
  if (r.saturation && r.saturation->saturated)
    rows.push_back({Fits::tr("Saturated"), truth(*r.saturation->saturated),
                    Fits::tr("Requests arrive faster than they are served")});
  add_cost(r, rows);
  return rows;
}

std::vector<HeadlineRow> fit_rows(const std::vector<model::Obstacle>& obstacles) {
  std::vector<HeadlineRow> rows{starts_row(false)};
  add_obstacles(obstacles, rows);
  return rows;
}

}  // namespace kvplan::gui
