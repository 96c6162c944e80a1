// Pages: well-formed, self-contained, complete, safe for any name.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "simulator/report/html.h"
#include "simulator/report/number_text.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"

namespace kvplan::report {
namespace {

using testing::Element;
using testing::parse_xml;
using testing::result_of;
using testing::small_settings;
using testing::small_trace;

TEST(Html, HasTheTextsContentAndTheCharts) {
  const runs::RunResult result = result_of(small_settings(), small_trace(), 20);
  const Element page = parse_xml(run_html(result, "kvplan run 'my trace.csv' --html page.html"));
  EXPECT_EQ(page.name, "html");
  EXPECT_EQ(page.attributes.at("lang"), "en");
  std::vector<std::string> cells;
  for (const char* name : {"td", "th"})
    for (const Element* cell : page.named(name)) cells.push_back(cell->text);
  const auto has = [&](const std::string& cell) {
    EXPECT_NE(std::find(cells.begin(), cells.end(), cell), cells.end()) << cell;
  };
  const Content content = run_content(result);
  for (const Row& row : content.scenario.rows)
    for (const std::string& cell : row.cells) has(cell);
  for (const Table& table : content.tables)
    for (const Row& row : table.rows) {
      has(row.label);
      for (const std::string& cell : row.cells) has(cell);
    }
  const std::string text = page.all_text();
  for (const auto* lines : {&content.verdict, &content.meaning, &content.assumptions, &content.warnings})
    for (const std::string& line : *lines) EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(page.named("svg").size(), 3U);
  ASSERT_EQ(page.named("pre").size(), 1U);
  EXPECT_EQ(page.named("pre")[0]->text, "kvplan run 'my trace.csv' --html page.html");
}

TEST(Html, NamesAreUniqueAndUsedOnesExist) {
  const Element page = parse_xml(run_html(result_of(small_settings(), small_trace(), 20), "x"));
  std::vector<std::string> ids;
  std::vector<std::string> used;
  const std::function<void(const Element&)> walk = [&](const Element& e) {
    for (const auto& [name, value] : e.attributes) {
      if (name == "id") ids.push_back(value);
      if (name == "href") used.push_back(value.substr(1));
      if (name == "fill" && value.rfind("url(#", 0) == 0) used.push_back(value.substr(5, value.size() - 6));
    }
    for (const Element& child : e.children) walk(child);
  };
  walk(page);
  EXPECT_GT(used.size(), 5U);
  for (const std::string& id : used) EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
  for (const std::string& id : ids) EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
}

TEST(Html, FetchesAndRunsNothing) {
  const std::string page = run_html(result_of(small_settings(), small_trace(), 20), "x");
  for (const char* part : {"<script", "<link", "<img", "<iframe", "@import", "javascript:", "src=", "onload"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  // The only addresses are the two names of languages.
  std::size_t addresses = 0;
  for (std::size_t at = page.find("http"); at != std::string::npos; at = page.find("http", at + 1)) {
    EXPECT_TRUE(page.compare(at, 29, "http://www.w3.org/1999/xhtml\"") == 0 ||
                page.compare(at, 27, "http://www.w3.org/2000/svg\"") == 0);
    ++addresses;
  }
  EXPECT_EQ(addresses, 4U);
}

TEST(Html, AnyNameIsSafe) {
  runs::RunResult result = result_of(small_settings(), small_trace(), 5);
  const std::string hostile = "a<script>\"'&\xff\x01\xed\xa0\x80 \xc3\xa9";
  result.warnings.push_back(hostile);
  const std::string page = run_html(result, hostile);
  const Element root = parse_xml(page);
  // Each byte that is not UTF-8 becomes U+FFFD; é stays.
  const std::string shown =
      "a<script>\"'&\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xc3\xa9";
  EXPECT_EQ(root.named("pre").at(0)->text, shown);
  EXPECT_NE(root.all_text().find(shown), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(Html, APageWithoutRequestsHasNoCharts) {
  auto settings = small_settings();
  settings.push_back({"workload.limit", "0", {}, 0});
  const Element page = parse_xml(run_html(result_of(settings, small_trace(), 5), "x"));
  EXPECT_TRUE(page.named("svg").empty());
  EXPECT_NE(page.all_text().find("nothing to measure"), std::string::npos);
}

TEST(Html, SameResultSameBytes) {
  const auto page = [] { return run_html(result_of(small_settings(), small_trace(), 9), "x"); };
  EXPECT_EQ(page(), page());
}

}  // namespace
}  // namespace kvplan::report
