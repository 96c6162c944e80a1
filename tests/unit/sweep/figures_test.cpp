// The list of figures has every number of the report that is not of a replica, a group of layers or the scenario.
#include <gtest/gtest.h>
#include <simdjson.h>

#include "simulator/results/figures.h"
#include "simulator/results/report.h"
#include "tests/unit/report/cases.h"

namespace kvplan::runs {
namespace {

std::string text_of(const FigureValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return shortest(*real);
  if (const auto* holds = std::get_if<bool>(&value)) return *holds ? "true" : "false";
  return "null";
}

using Flat = std::vector<std::pair<std::string, std::string>>;

/// Numbers, truths and nulls by their keys; arrays and texts are left out.
void flatten(const simdjson::dom::element& element, const std::string& name, Flat& out) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::OBJECT: {
      const simdjson::dom::object object = element.get_object().value();
      for (const auto& [key, value] : object)
        flatten(value, name.empty() ? std::string(key) : name + "." + std::string(key), out);
      break;
    }
    case element_type::INT64:
      out.emplace_back(name, std::to_string(element.get_int64().value()));
      break;
    case element_type::DOUBLE:
      out.emplace_back(name, shortest(element.get_double().value()));
      break;
    case element_type::BOOL:
      out.emplace_back(name, element.get_bool().value() ? "true" : "false");
      break;
    case element_type::NULL_VALUE:
      out.emplace_back(name, "null");
      break;
    default:
      break;
  }
}

Flat report_numbers(const RunResult& result) {
  const std::string json = report_json(result);
  simdjson::dom::parser parser;
  Flat out;
  const simdjson::dom::object document = parser.parse(json).get_object().value();
  for (const auto& [key, value] : document)
    if (!std::string_view(key).starts_with("scenario") && key != "seed" && key != "currency")  // a text
      flatten(value, std::string(key), out);
  return out;
}

Flat figure_numbers(const RunResult& result) {
  Flat out;
  for (const Figure& figure : figures()) out.emplace_back(figure.name, text_of(figure.value(result)));
  return out;
}

TEST(Figures, AreTheNumbersOfTheReport) {
  auto settings = report::testing::small_settings();
  settings.push_back({"targets.ttft_s", "1", {}, 0});
  settings.push_back({"targets.percentiles_s", "ttft.p50=0.3", {}, 0});
  RunResult result = report::testing::result_of(settings, report::testing::small_trace(), 0);
  // Figures that a small run does not have: numbers that distinguish all keys.
  result.answers = workload::AnswerCounts{8, 7, 6};
  result.step_time = StepTimeSummary{{51, 52, 53, 54, 55, 56, 57}, {0.1, 0.2, 0.3, 0.15, 0.05, 0.2, 0.7}};
  result.coverage = Coverage{11, 12, 13, 14, 0.25, 0.125};
  result.placing = {21, 22, 23, 24, {25'000}, 0.5};
  result.evicted_tokens = 31;
  result.evicted_blocks = 32;
  result.hole_bytes_peak = 33;
  result.starts = true;
  result.cost = Cost{41, 42.5, "USD", {}};
  const Flat report = report_numbers(result);
  const Flat list = figure_numbers(result);
  ASSERT_EQ(list.size(), report.size())
      << "a number of the report has no line in results/figures.cpp, or none is there";
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i], report[i]);
}

TEST(Figures, AreNullWhereTheReportIs) {
  RunResult result =
      report::testing::result_of(report::testing::small_settings(), report::testing::small_trace(), 0);
  result.memory.reset();
  result.ttft.reset();
  result.step_time.reset();
  Flat expected;
  for (auto& [name, text] : report_numbers(result)) {
    if (name != "coverage" && name != "answers" && name != "step_time") {
      expected.emplace_back(name, text);
      continue;
    }
    for (const Figure& figure : figures())
      if (figure.name.starts_with(name + ".")) expected.emplace_back(figure.name, "null");
  }
  EXPECT_EQ(figure_numbers(result), expected);
}

}  // namespace
}  // namespace kvplan::runs
