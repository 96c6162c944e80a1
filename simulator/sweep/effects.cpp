#include "simulator/sweep/effects.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/number_text.h"
#include "simulator/sweep/groups.h"
#include "simulator/sweep/table.h"

namespace kvplan::sweep {
namespace {

Effect effect_of(const std::vector<Point>& points, std::size_t path, const Groups& groups, double overall) {
  Effect effect;
  effect.path = groups.path;
  std::vector<double> sums(groups.labels.size());
  for (const std::string& label : groups.labels) effect.levels.push_back({label, 0, {}, {}});
  for (const Point& point : points) {
    const auto group = groups.of.find(point.varied[path]);
    if (group == groups.of.end()) continue;
    sums[group->second] += point.values[0];
    ++effect.levels[group->second].cases;
  }
  std::optional<double> least, greatest;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Level& level = effect.levels[i];
    if (level.cases == 0) continue;
    level.mean = sums[i] / static_cast<double>(level.cases);
    level.difference = *level.mean - overall;
    least = std::min(least.value_or(*level.mean), *level.mean);
    greatest = std::max(greatest.value_or(*level.mean), *level.mean);
  }
  if (least) effect.spread = *greatest - *least;
  return effect;
}

std::string difference_text(const Effects& effects, double difference) {
  const std::string text = value_text(effects.figure.unit, std::abs(difference));
  return (difference < 0 ? "-" : "+") + text;
}

}  // namespace

Result<Effects> effects_of(Database& database, const NumberColumn& figure) {
  Effects effects;
  effects.figure = figure;
  KVPLAN_TRY(const std::vector<Point> points, read_points(database, {figure}));
  effects.cases = static_cast<std::int64_t>(points.size());
  if (points.empty()) return effects;
  double sum = 0;
  for (const Point& point : points) sum += point.values[0];
  effects.mean = sum / static_cast<double>(points.size());
  const std::vector<plan::Vary>& varies = database.head().varies;
  for (std::size_t path = 0; path < varies.size(); ++path) {
    if (varies[path].values.size() < 2) continue;
    const Result<Groups> groups = groups_of(varies[path], kMostLevels, kLevelRanges);
    if (groups) effects.effects.push_back(effect_of(points, path, groups.value(), *effects.mean));
  }
  return effects;
}

std::vector<report::Table> effect_tables(const Effects& effects) {
  std::vector<report::Table> tables;
  for (const Effect& effect : effects.effects) {
    report::Table table{
        effects.figure.name + " by " + effect.path, {"cases", "mean", "difference"}, {}, true};
    if (effects.mean)
      table.title += ": " + value_text(effects.figure.unit, *effects.mean) + " over all " +
                     report::grouped(effects.cases) + " cases";
    if (effect.spread) table.title += ", spread " + value_text(effects.figure.unit, *effect.spread);
    for (const Level& level : effect.levels)
      table.rows.push_back(
          {level.label,
           {report::grouped(level.cases), level.mean ? value_text(effects.figure.unit, *level.mean) : "",
            level.difference ? difference_text(effects, *level.difference) : ""}});
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string effects_csv(const std::vector<Effects>& all) {
  std::string text = "figure,path,value,cases,mean,difference\n";
  const auto number = [](const std::optional<double>& value) { return value ? cell_text(*value) : ""; };
  for (const Effects& effects : all)
    for (const Effect& effect : effects.effects)
      for (const Level& level : effect.levels) {
        std::string line = effects.figure.name;
        for (const std::string& field : {effect.path, level.label, std::to_string(level.cases),
                                         number(level.mean), number(level.difference)})
          append_csv_field(line, field);
        text += line + "\n";
      }
  return text;
}

}  // namespace kvplan::sweep
