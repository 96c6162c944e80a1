#include "simulator/planner/plan_html.h"

#include "simulator/planner/plan_charts.h"
#include "simulator/planner/plan_sentences.h"
#include "simulator/report/charts.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

using report::Markup;

void write_drawn(Markup& html, const std::string& title, const std::string& chart) {
  if (!chart.empty()) report::write_chart(html, title, chart);
}

report::Table devices_table(const Plan& plan, const RatePlan& rate) {
  report::Table table{"Devices", {"cost", "in time", "outcome"}, {}, false};
  const auto row = [&](const Option& option) {
    table.rows.push_back(
        {option.name(),
         {cost_text(plan, option), option.met ? report::percent(*option.met) : report::kNoNumber,
          verdict_text(option, plan.requests)}});
  };
  row(*rate.best);
  for (const Option& each : rate.runners_up) row(each);
  for (const Unmet& each : rate.unmet)
    table.rows.push_back({each.device, {report::kNoNumber, report::kNoNumber, each.why}});
  return table;
}

report::Table formulas_table(const Plan& plan, const RatePlan& rate) {
  report::Table table{"What formulas would have bought", {"formula", "buys", "cost", "outcome"}, {}, false};
  for (const Baseline& each : rate.baselines)
    table.rows.push_back({each.name,
                          {each.formula, each.option.name(), cost_text(plan, each.option),
                           verdict_text(each.option, plan.requests)}});
  return table;
}

void write_rate(Markup& html, const Plan& plan, const RatePlan& rate, std::size_t number) {
  const auto id = [&](const char* name) { return name + std::to_string(number); };
  report::write_list(html, answer_title(plan, rate), {answer_line(plan, rate), service_line(plan, rate)});
  report::write_table(html, targets_table(rate));
  report::write_list(html, "Around it", around_lines(plan, rate));
  report::write_list(html, "How sure", sure_lines(rate));
  write_drawn(html, "What the answer rests on", tornado_chart(rate, id("tornado")));
  if (!rate.sensitivity.empty()) report::write_table(html, sensitivity_table(rate));
  write_drawn(html, "Cost and requests in time", cost_chart(plan, rate, id("cost")));
  write_drawn(html, "What binds over time", pressure_chart(rate, id("pressure")));
  if (!rate.pressure.empty()) {
    write_drawn(html, "KV memory of the answer", report::memory_chart(*rate.run, id("memory")));
    write_drawn(html, "Queue of the answer", report::batch_chart(*rate.run, id("batch")));
  }
  write_drawn(html, "GPUs needed over the trace", day_chart(rate, id("day")));
  report::write_table(html, devices_table(plan, rate));
  report::write_list(html, "The same price", rate.ties);
  if (!rate.baselines.empty()) report::write_table(html, formulas_table(plan, rate));
  if (rate.exported) html.leaf("h2", "How to start it").leaf("pre", rate.exported->text).line_break();
}

}  // namespace

std::string plan_html(const Plan& plan, const std::string& command) {
  Markup html;
  report::begin_page(html, "Plan for " + plan.model, question_line(plan) + ".");
  for (std::size_t i = 0; i < plan.rates.size(); ++i)
    if (plan.rates[i].best) write_rate(html, plan, plan.rates[i], i);
  report::write_list(html, "Doubts", doubt_lines(plan, true));
  report::Table refused{"Shapes that were left out", {"why"}, {}, false};
  for (const Refusal& each : plan.refused) refused.rows.push_back({each.shape, {each.why}});
  if (!refused.rows.empty()) report::write_table(html, refused);
  report::Table path{"Steps of the search", {"why", "outcome"}, {}, false};
  for (const PathStep& each : plan.path) path.rows.push_back({each.name, {each.why, each.outcome}});
  report::write_table(html, path);
  report::end_page(html, command);
  return html.take();
}

}  // namespace kvplan::planner
