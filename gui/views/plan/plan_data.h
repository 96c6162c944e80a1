// A plan as written by `kvplan plan --json`: the deployments that it names, and the cases that its search tried.
#pragma once

#include <QJsonObject>

#include "gui/views/table_model.h"
#include "gui/worker/document.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::gui {

/// A deployment of the plan.
struct PlannedOption {
  QString role;  ///< "best", "fewer", "runner-up", ...
  QString name;
  std::optional<double> cost_per_hour, met_fraction;
  std::int64_t gpus{0}, preemptions{0};
  bool meets{false};
  QString targets;                      ///< "ttft p99 1.2 of 2, ..."
  std::vector<runs::Setting> settings;  ///< a scenario that runs it; empty if the plan has none
};

struct PlanStep {
  std::int64_t number{0};
  QString name, why, outcome;
};

struct PlanDocument final : Document {
  QString trace, model, currency;
  std::vector<PlannedOption> options;
  std::vector<PlanStep> steps;
  QStringList binding, notes, doubts;
  QString headroom;
};

/// A DocumentReader for plans.
std::optional<Result<DocumentPtr>> read_plan(std::string_view head, const std::string& path);

TableContent plan_options_table(const std::shared_ptr<const PlanDocument>& document);
TableContent plan_steps_table(const std::shared_ptr<const PlanDocument>& document);

}  // namespace kvplan::gui
