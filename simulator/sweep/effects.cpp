#include "simulator/sweep/effects.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/number_text.h"
#include "simulator/sweep/groups.h"
#include "simulator/sweep/table.h"

namespace kvplan::sweep {
namespace {

/// The sums of an effect, while its cases are added.
struct Sums {
  Groups groups;
  std::vector<double> sums;
  std::vector<std::int64_t> cases;
};

Effect effect_of(const Sums& sums, double overall) {
  Effect effect;
  effect.path = sums.groups.path;
  std::optional<double> least, greatest;
  for (std::size_t i = 0; i < sums.sums.size(); ++i) {
    Level level{sums.groups.labels[i], sums.cases[i], {}, {}};
    if (level.cases > 0) {
      level.mean = sums.sums[i] / static_cast<double>(level.cases);
      level.difference = *level.mean - overall;
      least = std::min(least.value_or(*level.mean), *level.mean);
      greatest = std::max(greatest.value_or(*level.mean), *level.mean);
    }
    effect.levels.push_back(std::move(level));
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
  std::vector<Sums> all;
  std::vector<std::string> paths;
  for (const runs::Vary& vary : database.head().varies) {
    if (vary.values.size() < 2) continue;
    Result<Groups> groups = groups_of(vary, kMostLevels, kLevelRanges);
    if (!groups) continue;
    const std::size_t levels = groups.value().labels.size();
    all.push_back(
        {std::move(groups).value(), std::vector<double>(levels), std::vector<std::int64_t>(levels)});
    paths.push_back(vary.path);
  }
  double sum = 0;
  KVPLAN_TRY_DO(each_point(database, {figure}, paths, [&](const Point& point) {
    sum += point.values[0];
    ++effects.cases;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto group = all[i].groups.of.find(point.varied[i]);
      if (group == all[i].groups.of.end()) continue;
      all[i].sums[group->second] += point.values[0];
      ++all[i].cases[group->second];
    }
  }));
  if (effects.cases == 0) return effects;
  effects.mean = sum / static_cast<double>(effects.cases);
  for (const Sums& sums : all) effects.effects.push_back(effect_of(sums, *effects.mean));
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
