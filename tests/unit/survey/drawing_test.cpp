// Drawings and pages are well-formed for any input, and their fields read back as the numbers.
#include "simulator/survey/drawing.h"

#include <gtest/gtest.h>

#include "simulator/report/charts.h"
#include "simulator/report/heat_colours.h"
#include "simulator/survey/page.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/survey/recordings.h"

namespace kvplan::survey {
namespace {

using report::testing::Element;
using report::testing::parse_xml;

const Pause kNoPause = [] { return Status(Done{}); };

struct Drawn {
  explicit Drawn(const attention::Recording& recording)
      : survey(run({.recording = &recording}, kNoPause).value()),
        attention(attention_map(recording, {0, 1}, 1, kNoPause).value()),
        maps(maps_of(survey, 1)) {}
  Survey survey;
  std::optional<AttentionMap> attention;
  std::vector<Map> maps;
};

/// Rectangles with a title in them: the fields of maps.
std::vector<const Element*> fields_of(const Element& root) {
  std::vector<const Element*> out;
  for (const Element* rect : root.named("rect"))
    if (!rect->named("title").empty()) out.push_back(rect);
  return out;
}

TEST(SurveyDrawing, FieldsAreTheNumbers) {
  Random random(3, "drawing");
  const auto recording = random_recording(random, {100, 90}, 2, false);
  const Drawn drawn(recording);
  ASSERT_GT(drawn.maps.size(), 15U);
  for (const Map& map : drawn.maps) {
    SCOPED_TRACE(map.key);
    const Element root = parse_xml(chart(map, map.key));
    const auto fields = fields_of(root);
    std::size_t at = 0;
    double least = 1e300;
    double greatest = -1e300;
    for (const auto& row : map.cells)
      for (const Pooled& value : row)
        if (value) {
          least = std::min(least, *value);
          greatest = std::max(greatest, *value);
        }
    for (std::size_t r = 0; r < map.cells.size(); ++r)
      for (std::size_t c = 0; c < map.cells[r].size(); ++c, ++at) {
        ASSERT_LT(at, fields.size());
        const Pooled& value = map.cells[r][c];
        const std::string title = fields[at]->named("title")[0]->text;
        const std::string words = value ? field_text(map.scale, *value) + " " + map.unit : "no value";
        EXPECT_EQ(title,
                  map.down + " " + map.rows[r] + ", " + map.across + " " + map.columns[c] + ": " + words);
        const double share = value && greatest > least ? (*value - least) / (greatest - least) : 0;
        EXPECT_EQ(fields[at]->attributes.at("fill"),
                  value ? report::hex(report::heat_colour(share)) : "none");
      }
    EXPECT_EQ(at, fields.size());
    EXPECT_NE(root.all_text().find(map.title + " (" + map.unit + ")"), std::string::npos);
    EXPECT_NE(root.all_text().find(field_text(map.scale, greatest) + " " + map.unit), std::string::npos)
        << "the legend";
  }
}

TEST(SurveyDrawing, ManyColumnsHaveNoNumbersInThem) {
  Map map{.key = "k",
          .title = "t",
          .unit = "u",
          .down = "layer",
          .across = "query head",
          .rows = {"0"},
          .columns = {},
          .cells = {{}},
          .definition = ""};
  for (int c = 0; c < 40; ++c) {
    map.columns.push_back(std::to_string(c));
    map.cells[0].emplace_back(c);
  }
  const Element root = parse_xml(chart(map, "k"));
  EXPECT_EQ(fields_of(root).size(), 40U);
  EXPECT_EQ(root.all_text().find("37.0\n"), std::string::npos);
  EXPECT_LE(root.named("text").size(), 16U) << "titles, every fourth column, the legend";
}

/// Means of cells, and the paths that draw them, compared with sums over single weights.
TEST(SurveyDrawing, TheAttentionOfAHeadIsTheMeanOfItsCells) {
  for (const int tokens : {1, 7, 128, 129, 300}) {
    SCOPED_TRACE(tokens);
    Random random(static_cast<std::uint64_t>(tokens), "map");
    const auto rows = attention::random_rows(random, 2, tokens, attention::RowKind::kSmooth);
    const auto recording = attention::recording_of({rows});
    const AttentionMap map = attention_map(*recording, {0, 0}, 1, kNoPause).value();
    const int per = tokens <= 128 ? 1 : (tokens + 127) / 128;
    ASSERT_EQ(map.tokens_per_cell, per);
    ASSERT_EQ(static_cast<int>(map.cells.size()), (tokens + per - 1) / per);
    for (int r = 0; r < static_cast<int>(map.cells.size()); ++r)
      for (int c = 0; c <= r; ++c) {
        double sum = 0;
        int count = 0;
        for (int t = r * per; t < std::min(tokens, (r + 1) * per); ++t)
          for (int i = c * per; i < std::min(t + 1, (c + 1) * per); ++i) {
            sum += rows[1][std::size_t(t)][std::size_t(i)];
            ++count;
          }
        EXPECT_NEAR(map.cells[std::size_t(r)][std::size_t(c)], sum / count, 1e-12);
      }
    const Element root = parse_xml(chart(map, "a"));
    std::size_t drawn = 0;
    for (const Element* path : root.with("class", "cells")) {
      const std::string& d = path->attributes.at("d");
      drawn += static_cast<std::size_t>(std::count(d.begin(), d.end(), 'M'));
    }
    EXPECT_EQ(drawn, map.cells.size() * (map.cells.size() + 1) / 2);
  }
}

TEST(SurveyDrawing, RefusesHeadsThatAreNotThere) {
  Random random(1, "no");
  const auto recording =
      attention::recording_of({attention::random_rows(random, 2, 5, attention::RowKind::kTies)});
  EXPECT_EQ(attention_map(*recording, {0, 0}, 2, kNoPause).error().field, "--head");
  EXPECT_EQ(attention_map(*recording, {0, 1}, 0, kNoPause).error().field, "--layer");
  EXPECT_EQ(attention_map(*recording, {1, 0}, 0, kNoPause).error().field, "--sequence");
}

TEST(SurveyDrawing, SheetAndPageHaveAllMapsWhateverNamesTheyCarry) {
  Random random(4, "page");
  const auto recording = random_recording(random, {80}, 2, false);
  const Drawn drawn(recording);
  const std::string name = "a<b>&\"c\".kva";
  const Sheet all = sheet(drawn.maps, drawn.attention, name);
  const Element svg = parse_xml(document(all));
  EXPECT_EQ(svg.named("g").size(), drawn.maps.size() + 1);
  EXPECT_NE(svg.all_text().find(name), std::string::npos);
  for (const Element* group : svg.named("g")) {
    double x = 0;
    double y = 0;
    ASSERT_EQ(std::sscanf(group->attributes.at("transform").c_str(), "translate(%lf,%lf)", &x, &y), 2);
    EXPECT_LT(x, all.size.width);
    EXPECT_LT(y, all.size.height);
  }
  const Element html = parse_xml(page({drawn.survey, drawn.attention}, drawn.maps, name, "kvplan " + name));
  EXPECT_EQ(html.named("svg").size(), drawn.maps.size() + 1);
  EXPECT_EQ(html.named("table").size(), tables(drawn.survey).size());
  for (const Map& map : drawn.maps)
    EXPECT_NE(html.all_text().find(map.definition), std::string::npos) << map.key;
  EXPECT_NE(html.all_text().find("kvplan " + name), std::string::npos);
}

TEST(SurveyDrawing, ThemesLeaveNoVariables) {
  Random random(4, "theme");
  const auto recording = random_recording(random, {80}, 2, false);
  const Drawn drawn(recording);
  const std::string svg = document(sheet(drawn.maps, drawn.attention, "say var(--nothing)"));
  const std::string light = report::in_theme(svg, report::Theme::kLight);
  const std::string dark = report::in_theme(svg, report::Theme::kDark);
  for (const std::string& text : {light, dark}) {
    std::size_t left = 0;
    for (std::size_t at = text.find("var("); at != std::string::npos; at = text.find("var(", at + 1)) {
      EXPECT_EQ(text.substr(at, 14), "var(--nothing)");
      ++left;
    }
    EXPECT_EQ(left, 2U) << "the title, twice";
    parse_xml(text);
  }
  EXPECT_NE(light.find("fill=\"#ffffff\""), std::string::npos) << "paper";
  EXPECT_NE(dark.find("fill=\"#1e1e1e\""), std::string::npos);
}

}  // namespace
}  // namespace kvplan::survey
