// Fronts, heat maps and effects of a sweep compared with second, simple implementations over made-up databases, bit by
// bit; and the drawing: its texts, and that it can be read in light and dark mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "simulator/base/random.h"
#include "simulator/report/charts.h"
#include "simulator/report/heat_colours.h"
#include "simulator/sweep/effects.h"
#include "simulator/sweep/groups.h"
#include "simulator/sweep/heat.h"
#include "simulator/sweep/page.h"
#include "simulator/sweep/pareto.h"
#include "simulator/sweep/saturated.h"
#include "simulator/sweep/sql.h"
#include "tests/support/files.h"
#include "tests/unit/report/xml.h"

namespace kvplan::sweep {
namespace {

using runs::Better;

/// At least as good in everything and better in something, tested on every pair.
std::vector<std::int64_t> naive_front(const std::vector<Point>& points,
                                      const std::vector<NumberColumn>& columns) {
  std::vector<std::int64_t> front;
  for (const Point& one : points) {
    bool beaten = false;
    for (const Point& other : points) {
      bool as_good = true, better = false;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const double gain = columns[i].better == Better::kLower ? one.values[i] - other.values[i]
                                                                : other.values[i] - one.values[i];
        as_good = as_good && gain >= 0;
        better = better || gain > 0;
      }
      beaten = beaten || (as_good && better);
    }
    if (!beaten) front.push_back(one.number);
  }
  return front;
}

TEST(Pareto, IsWhatNoOtherPointBeats) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "pareto");
    std::vector<NumberColumn> columns(static_cast<std::size_t>(random.between(2, 4)));
    for (NumberColumn& column : columns)
      column.better = random.chance(1, 2) ? Better::kLower : Better::kHigher;
    const std::uint64_t values = random.chance(1, 2) ? 4 : 1000;  // many equal values
    std::vector<Point> points(random.below(80));
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].number = static_cast<std::int64_t>(i);
      for (std::size_t k = 0; k < columns.size(); ++k)
        points[i].values.push_back(static_cast<double>(random.below(values)) - 2);
    }
    const std::vector<Point> front = undominated(points, columns);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < front.size(); ++i) {
      numbers.push_back(front[i].number);
      if (i == 0) continue;
      // In order: not better in the first column than the one before, and so on.
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const double step = front[i].values[k] - front[i - 1].values[k];
        if (step == 0 && k + 1 < columns.size()) continue;
        if (step == 0) {
          EXPECT_LT(front[i - 1].number, front[i].number);
        } else {
          EXPECT_EQ(step > 0, columns[k].better == Better::kLower);
        }
        break;
      }
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(numbers, naive_front(points, columns));
  }
}

TEST(Groups, ValuesByThemselvesOrAsManyToEachRange) {
  const auto few = groups_of({"p", {"b", "a", "c"}}, 3, 2);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few.value().labels, (std::vector<std::string>{"b", "a", "c"}));
  const auto many = groups_of({"p", {"10", "9", "8.5", "100", "7", "20", "1"}}, 6, 3);
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many.value().labels, (std::vector<std::string>{"1..8.5", "9..10", "20..100"}));
  EXPECT_EQ(many.value().of.at("7"), 0U);
  EXPECT_EQ(many.value().of.at("10"), 1U);
  EXPECT_EQ(many.value().of.at("100"), 2U);
  EXPECT_EQ(groups_of({"p", {"1", "2", "3", "4"}}, 3, 3).value().labels,
            (std::vector<std::string>{"1..2", "3", "4"}));
  EXPECT_EQ(groups_of({"p", {"1", "2", "3", "x"}}, 3, 2).error().to_string(),
            "expected numbers, or at most 3 values; p has 4 values that are not all numbers");
}

/// A database of a grid with some cases missing, some failed and some without a value.
struct Made {
  test::TemporaryFolder folder;
  Head head;
  std::vector<Database::Row> rows;

  explicit Made(std::uint64_t seed) {
    Random random(seed, "database");
    head.program = "kvplan";
    head.varies = {{"mode", {"a", "b", "c"}}, {"size", {}}, {"one", {"x"}}};
    const std::int64_t sizes = random.chance(1, 2) ? 5 : 40;
    for (std::int64_t i = 0; i < sizes; ++i) head.varies[1].values.push_back(std::to_string(i * i + 3));
    head.figures = {{"time", "s", "lower"}, {"rate", "", "higher"}, {"count", "", ""}};
    head.cases = 3 * sizes;
    head.share = head.cases;
    for (std::int64_t number = 0; number < head.cases; ++number) {
      if (random.chance(1, 10)) continue;
      const bool failed = random.chance(1, 10);
      Database::Row row{number,
                        std::string(failed ? "failed" : "done"),
                        failed ? Cell(std::string("no")) : Cell(),
                        head.varies[0].values[static_cast<std::size_t>(number / sizes)],
                        (number % sizes) * (number % sizes) + 3,
                        std::string("x")};
      row.push_back(failed || random.chance(1, 10) ? Cell() : Cell(random.unit() * 3));
      row.push_back(failed ? Cell() : Cell(static_cast<double>(random.below(5)) / 7));
      row.push_back(failed ? Cell() : Cell(random.between(0, 9)));
      rows.push_back(row);
    }
  }
  Database database() {
    const std::string path = folder.file("db");
    {
      auto made = Database::create(path, head);
      EXPECT_TRUE(made.ok());
      // In any order, since rows are added as cases finish.
      for (std::size_t i = rows.size(); i-- > 0;) EXPECT_TRUE(made.value().add(rows[i]).ok());
      EXPECT_TRUE(made.value().commit().ok());
    }
    auto opened = Database::open(path);
    EXPECT_TRUE(opened.ok());
    return std::move(opened).value();
  }
};

double number_of(const Cell& cell) {
  const auto* const whole = std::get_if<std::int64_t>(&cell);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(cell);
}

bool has(const Cell& cell) {
  return !std::holds_alternative<std::monostate>(cell);
}

TEST(Heat, IsTheMeanOfEachCell) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Made made(seed);
    Database database = made.database();
    const auto map = heat_map(database, "time,size,mode");
    ASSERT_TRUE(map.ok()) << map.error().to_string();
    const HeatMap& heat = map.value();
    ASSERT_EQ(heat.rows, (std::vector<std::string>{"a", "b", "c"}));
    const std::size_t sizes = made.head.varies[1].values.size();
    ASSERT_EQ(heat.columns.size(), sizes > kMostHeatValues ? kHeatRanges : sizes);
    std::int64_t cases = 0;
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < heat.columns.size(); ++column) {
        // Compared by label only.
        const std::string& label = heat.columns[column];
        const std::size_t dots = label.find("..");
        const std::int64_t low = std::stoll(label);
        const std::int64_t high = dots == std::string::npos ? low : std::stoll(label.substr(dots + 2));
        double sum = 0;
        std::int64_t count = 0;
        for (const Database::Row& r : made.rows) {
          if (!has(r[6]) || std::get<std::string>(r[3]) != heat.rows[row]) continue;
          const std::int64_t size = std::get<std::int64_t>(r[4]);
          if (size < low || size > high) continue;
          sum += number_of(r[6]);
          ++count;
        }
        EXPECT_EQ(heat.at(row, column).cases, count);
        ASSERT_EQ(heat.at(row, column).mean.has_value(), count > 0);
        if (count > 0) {
          EXPECT_EQ(*heat.at(row, column).mean, sum / static_cast<double>(count));
        }
        cases += count;
      }
    EXPECT_EQ(cases,
              std::count_if(made.rows.begin(), made.rows.end(), [](const auto& r) { return has(r[6]); }));
    // The table has a line for each cell with cases, with digits that read back unchanged.
    std::istringstream csv(heat_csv(heat));
    std::string line;
    ASSERT_TRUE(std::getline(csv, line));
    EXPECT_EQ(line, "size,mode,cases,time");
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < heat.columns.size(); ++column) {
        if (!heat.at(row, column).mean) continue;
        ASSERT_TRUE(std::getline(csv, line));
        const std::string begin = heat.columns[column] + "," + heat.rows[row] + "," +
                                  std::to_string(heat.at(row, column).cases) + ",";
        EXPECT_EQ(line.substr(0, begin.size()), begin);
        EXPECT_EQ(std::stod(line.substr(begin.size())), *heat.at(row, column).mean);
      }
    EXPECT_FALSE(std::getline(csv, line));
  }
}

TEST(Effects, AreMeansAgainstTheMean) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Made made(seed);
    Database database = made.database();
    for (const auto& [name, at] :
         {std::pair<std::string, std::size_t>("time", 6), {"rate", 7}, {"count", 8}}) {
      const auto found = effects_of(database, parse_column(made.head, name).value());
      ASSERT_TRUE(found.ok());
      double sum = 0;
      std::int64_t count = 0;
      for (const Database::Row& row : made.rows)
        if (has(row[at])) {
          sum += number_of(row[at]);
          ++count;
        }
      ASSERT_EQ(found.value().cases, count);
      const double overall = sum / static_cast<double>(count);
      EXPECT_EQ(found.value().mean, overall);
      ASSERT_EQ(found.value().effects.size(), 2U);  // a path with one value has none
      const Effect& mode = found.value().effects[0];
      EXPECT_EQ(mode.path, "mode");
      double least = INFINITY, greatest = -INFINITY;
      for (const Level& level : mode.levels) {
        double level_sum = 0;
        std::int64_t level_count = 0;
        for (const Database::Row& row : made.rows)
          if (has(row[at]) && std::get<std::string>(row[3]) == level.label) {
            level_sum += number_of(row[at]);
            ++level_count;
          }
        EXPECT_EQ(level.cases, level_count);
        const double mean = level_sum / static_cast<double>(level_count);
        EXPECT_EQ(level.mean, mean);
        EXPECT_EQ(level.difference, mean - overall);
        least = std::min(least, mean);
        greatest = std::max(greatest, mean);
      }
      EXPECT_EQ(mode.spread, greatest - least);
      std::int64_t cases = 0;
      for (const Level& level : found.value().effects[1].levels) cases += level.cases;
      EXPECT_EQ(cases, count);
    }
  }
}

TEST(Pareto, OfADatabase) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Made made(seed);
    Database database = made.database();
    const auto columns = parse_columns(made.head, "time,rate,size:lower").value();
    const auto front = pareto_front(database, columns);
    ASSERT_TRUE(front.ok());
    std::vector<Point> points;
    for (const Database::Row& row : made.rows)
      if (has(row[6]))
        points.push_back(
            {std::get<std::int64_t>(row[0]), {number_of(row[6]), number_of(row[7]), number_of(row[4])}, {}});
    EXPECT_EQ(front.value().compared, static_cast<std::int64_t>(points.size()));
    std::vector<std::int64_t> numbers;
    for (const Point& point : front.value().points) numbers.push_back(point.number);
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(numbers, naive_front(points, columns));
    const std::string csv = front_csv(front.value());
    EXPECT_EQ(csv.find("case,mode,size,one,time,rate\n"), 0U);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<std::int64_t>(numbers.size()) + 1);
  }
}

TEST(Pareto, MoreCasesThanAreHeld) {
  const test::TemporaryFolder folder;
  Head head;
  head.varies = {{"size", {"1"}}};
  head.figures = {{"time", "s", "lower"}, {"rate", "", "higher"}};
  head.cases = head.share = 150'000;
  auto made = Database::create(folder.file("db"), head);
  ASSERT_TRUE(made.ok());
  Random random(9, "cases");
  std::vector<Point> points;
  for (std::int64_t number = 0; number < head.cases; ++number) {
    // Near a line on which no point beats another, so that the front is long.
    const double time = random.unit();
    points.push_back({number, {time, time - 1e-5 * random.unit()}, {}});
    ASSERT_TRUE(made.value()
                    .add({number, std::string("done"), Cell(), std::int64_t{1}, points.back().values[0],
                          points.back().values[1]})
                    .ok());
  }
  ASSERT_TRUE(made.value().commit().ok());
  const auto columns = parse_columns(head, "time,rate").value();
  const auto front = pareto_front(made.value(), columns);
  ASSERT_TRUE(front.ok());
  const std::vector<Point> wanted = undominated(points, columns);
  ASSERT_GT(wanted.size(), 5'000U);
  ASSERT_EQ(front.value().points.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(front.value().points[i].number, wanted[i].number);
    EXPECT_EQ(front.value().points[i].varied, std::vector<std::string>{"1"});
  }
}

TEST(Saturated, LatenciesAreNotRanked) {
  const test::TemporaryFolder folder;
  Head head;
  head.varies = {{"size", {"1", "2", "3"}}};
  head.figures = {{"latency_s.ttft.p99", "seconds", "lower"}, {"saturation.saturated", "", "lower"}};
  head.cases = head.share = 3;
  auto made = Database::create(folder.file("db"), head);
  ASSERT_TRUE(made.ok());
  const std::vector<std::pair<double, Cell>> cases{
      {0.5, Cell(std::int64_t{1})}, {2, Cell(std::int64_t{0})}, {8, Cell()}};
  for (std::int64_t number = 0; number < 3; ++number) {
    const auto& [latency, saturated] = cases[static_cast<std::size_t>(number)];
    ASSERT_TRUE(made.value().add({number, std::string("done"), Cell(), number + 1, latency, saturated}).ok());
  }
  ASSERT_TRUE(made.value().commit().ok());
  EXPECT_EQ(saturated_cases(made.value()).value(), 1);
  const std::string latency = steady_column(head, head.figures[0].name);
  Database::Row found;
  const auto query = made.value().query(
      "SELECT count(" + latency + "), min(" + latency + "), avg(" + latency + ") FROM cases",
      [&](const Database::Row& row) { found = row; });
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(found, (Database::Row{std::int64_t{2}, 2.0, 5.0}));
  EXPECT_EQ(steady_column(head, head.figures[1].name), quoted_name("saturation.saturated"));
  const auto columns = parse_columns(head, "latency_s.ttft.p99,size:lower").value();
  const Front front = pareto_front(made.value(), columns).value();
  EXPECT_EQ(front.compared, 2);
  ASSERT_EQ(front.points.size(), 1U);
  EXPECT_EQ(front.points[0].number, 1);
  const auto page = sweep_page(made.value(), {}, "kvplan report db");
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page.value().find("In 1 of them requests arrive faster than they are served"), std::string::npos);
  // In a database without this figure, no cases are left out.
  head.figures.pop_back();
  EXPECT_EQ(steady_column(head, head.figures[0].name), quoted_name("latency_s.ttft.p99"));
}

TEST(Analyses, WhatIsWrong) {
  Made made(1);
  Database database = made.database();
  const Head& head = made.head;
  const auto column = [&](const std::string& text) { return parse_columns(head, text).error().to_string(); };
  EXPECT_EQ(column("tim"), "expected a figure or a varied path (time), found \"tim\"");
  EXPECT_EQ(column("zz"), "expected a figure or a varied path (mode, size, one), found \"zz\"");
  EXPECT_EQ(column("time,time"), "expected each figure once, found time again");
  EXPECT_EQ(column("time:best"), "expected NAME, NAME:lower or NAME:higher, found \"time:best\"");
  EXPECT_EQ(column("mode"), "expected a path with numbers as values; those of mode are not numbers");
  EXPECT_EQ(pareto_front(database, parse_columns(head, "time").value()).error().to_string(),
            "expected two figures or more");
  EXPECT_EQ(pareto_front(database, parse_columns(head, "time,count").value()).error().to_string(),
            "expected count:lower or count:higher");
  for (const char* text : {"", "time", "time,size", "time,size,mode,one"})
    EXPECT_NE(heat_map(database, text).error().to_string().find("expected FIGURE,PATH,PATH"),
              std::string::npos);
  EXPECT_EQ(heat_map(database, "time,size,size").error().to_string(), "expected two paths, found size twice");
  EXPECT_EQ(heat_map(database, "time,size,sise").error().to_string(),
            "expected a varied path (mode, size, one), found \"sise\"");
}

double luminance(int red, int green, int blue) {
  const auto linear = [](int channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

TEST(Heat, ColoursGetDarker) {
  double before = 1;
  for (int i = 0; i <= 100; ++i) {
    const report::Colour colour = report::heat_colour(i / 100.0);
    const double now = luminance(colour.red, colour.green, colour.blue);
    EXPECT_LT(now, before) << i;
    before = now;
  }
}

TEST(Heat, TheDrawingCanBeRead) {
  Made made(3);
  Database database = made.database();
  const HeatMap map = heat_map(database, "time,size,mode").value();
  const auto svg = report::testing::parse_xml(report::svg_document(heat_chart(map, "heat")));
  const auto rects = svg.named("rect");
  std::size_t fields = 0, marked = 0;
  for (const auto* rect : rects) {
    const auto titles = rect->named("title");
    if (titles.empty()) continue;  // titles of the scale
    const HeatCell& cell = map.cells[fields++];
    EXPECT_EQ(rect->attributes.at("fill") == "none", !cell.mean);
    EXPECT_EQ(rect->attributes.at("stroke-dasharray") == "none", cell.mean.has_value());
    EXPECT_NE(titles[0]->text.find(cell.mean ? cell_text(*cell.mean) : "no case"), std::string::npos);
    if (rect->attributes.at("stroke") == "var(--ink)") {
      ++marked;
      for (const HeatCell& other : map.cells)
        if (other.mean) {
          EXPECT_LE(*cell.mean, *other.mean);  // less time is better
        }
    }
  }
  EXPECT_EQ(fields, map.cells.size());
  EXPECT_EQ(marked, 1U);
  // A field's number must be readable on the field's colour, not on the page's: contrast at least 4.5 to 1.
  std::size_t numbers = 0;
  for (const auto* text : svg.named("text")) {
    const auto style = text->attributes.find("style");
    if (style == text->attributes.end()) continue;
    ++numbers;
    const bool black = style->second == "fill:#000000";
    EXPECT_TRUE(black || style->second == "fill:#ffffff");
    const double x = std::stod(text->attributes.at("x")), y = std::stod(text->attributes.at("y")) - 4;
    for (const auto* rect : rects) {
      const auto value = [&](const char* name) { return std::stod(rect->attributes.at(name)); };
      if (rect->named("title").empty() || x < value("x") || x > value("x") + value("width") ||
          y < value("y") || y > value("y") + value("height"))
        continue;
      const std::string fill = rect->attributes.at("fill");
      const auto channel = [&](std::size_t at) { return std::stoi(fill.substr(at, 2), nullptr, 16); };
      const double l = luminance(channel(1), channel(3), channel(5));
      EXPECT_GE(black ? (l + 0.05) / 0.05 : 1.05 / (l + 0.05), 4.5) << fill;
    }
  }
  EXPECT_EQ(numbers, static_cast<std::size_t>(std::count_if(map.cells.begin(), map.cells.end(),
                                                            [](const HeatCell& cell) { return cell.mean; })));
}

}  // namespace
}  // namespace kvplan::sweep
