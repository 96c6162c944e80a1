// Whole steps from a calibration: which rows are used, what reports state, what is refused.
#include "simulator/io/measured_steps.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace kvplan::io {
namespace {

using test::TemporaryFolder;

CalibrationColumn numbers(std::string name, std::string unit, std::vector<double> values) {
  return {std::move(name), std::move(unit), std::move(values), {}};
}

Calibration three_steps() {
  Calibration c;
  c.made_by = "measure-steps 1.0";
  c.when = "2026-11-22T04:05:06Z";
  c.device.name = "Made-up\n1";
  c.software = {"1.2", "3.4", "vllm", "0.11", "00ff"};
  c.tables.push_back({"step",
                      {numbers("sequences", "count", {1, 8, 8}), numbers("computed", "tokens", {1, 8, 520}),
                       numbers("context", "tokens", {10, 1000, 0}), numbers("samples", "count", {9, 9, 9}),
                       numbers("median", "ns", {5.0004882813, 2000, 9000.5}), numbers("p10", "ns", {1, 1, 1}),
                       numbers("p90", "ns", {9999, 9999, 9999})}});
  return c;
}

std::string error_of(const Calibration& c, std::string_view model = "llama-2-7b") {
  const auto steps = measured_steps(c, model, "c.json");
  return steps.ok() ? "" : steps.error().to_string();
}

TEST(MeasuredSteps, MediansAreRoundedOnceAndExact) {
  const auto steps = measured_steps(three_steps(), "llama-2-7b", "c.json").value();
  const auto at = [&](std::int64_t sequences, std::int64_t computed, std::int64_t context) {
    return steps.table.piece(sequences, computed, context).at_begin;
  };
  EXPECT_EQ(at(1, 1, 10), 5 * 1024 + 1) << "halves up";
  EXPECT_EQ(at(8, 8, 1000), 2000 * 1024);
  EXPECT_EQ(at(8, 520, 0), 9000 * 1024 + 512);
  EXPECT_EQ(steps.assumptions.at(0),
            "Step times were measured: 3 steps of a model that the file does not name on Made-up?1, driver "
            "1.2, vllm "
            "0.11, 2026-11-22T04:05:06Z.");
  EXPECT_EQ(steps.assumptions.at(1),
            "Steps of 1 to 8 sequences, 1 to 520 computed tokens and 0 to 1000 context tokens were measured. "
            "kvplan interpolates linearly between them. Below the smallest measured step it uses that step's "
            "duration; above the largest it extrapolates from the last two.");
}

/// The middle measurement counts, of two the shorter; a note says so.
TEST(MeasuredSteps, OfSeveralMeasurementsTheMiddleOne) {
  const auto steps_of = [](const std::vector<double>& median) {
    const std::vector<double> ones(median.size(), 1);
    Calibration c = three_steps();
    c.tables[0].columns = {numbers("sequences", "count", ones), numbers("computed", "tokens", ones),
                           numbers("context", "tokens", ones),  numbers("samples", "count", ones),
                           numbers("median", "ns", median),     numbers("p10", "ns", ones),
                           numbers("p90", "ns", ones)};
    return measured_steps(c, "llama-2-7b", "c.json").value();
  };
  EXPECT_EQ(steps_of({70}).assumptions.size(), 2U);
  for (const auto& [median, taken] : {std::pair{std::vector<double>{60, 50}, 50}, {{90, 10, 30}, 30}}) {
    const runs::MeasuredSteps steps = steps_of(median);
    EXPECT_EQ(steps.table.piece(1, 1, 1).at_begin, taken * 1024);
    EXPECT_EQ(steps.assumptions.back(),
              "1 step was measured more than once: kvplan uses the median duration, and of two durations the "
              "shorter one.");
  }
}

TEST(MeasuredSteps, ATableWithoutRowsIsAnError) {
  Calibration c = three_steps();
  for (CalibrationColumn& column : c.tables[0].columns) column.numbers.clear();
  EXPECT_EQ(error_of(c), "c.json: step: expected at least one step, found none");
}

TEST(MeasuredSteps, AColumnOfModelsChooses) {
  Calibration c = three_steps();
  c.tables[0].columns.push_back({"model", "text", {}, {"a", "llama-2-7b", "a"}});
  const auto steps = measured_steps(c, "llama-2-7b", "c.json").value();
  EXPECT_EQ(steps.table.piece(1, 1, 10).at_begin, 2000 * 1024) << "the only one of this model";
  EXPECT_NE(steps.assumptions.at(0).find("1 step of llama-2-7b on"), std::string::npos);
  EXPECT_EQ(error_of(c, "b"), "c.json: step.model: expected steps of model b, found steps of a, llama-2-7b");
  c.tables[0].columns.back() = numbers("model", "count", {1, 2, 3});
  EXPECT_EQ(error_of(c), "c.json: step.model: expected model names, in a column with the unit text");
}

TEST(MeasuredSteps, WhatCannotBeNamesItsRow) {
  Calibration c = three_steps();
  c.tables[0].name = "other";
  EXPECT_EQ(error_of(c),
            "c.json: tables: expected a table \"step\" with durations of whole steps, found none");
  c = three_steps();
  c.tables[0].columns[0].numbers[1] = 0;
  EXPECT_EQ(error_of(c), "c.json: step[1].sequences: expected at least one sequence");
  c = three_steps();
  c.tables[0].columns[1].numbers[2] = 7;
  EXPECT_EQ(error_of(c), "c.json: step[2].computed: expected at least one token per sequence");
  c = three_steps();
  c.tables[0].columns[4].numbers[0] = 1e300;
  EXPECT_EQ(error_of(c), "c.json: step[0].median: expected at most 13 days");
}

TEST(MeasuredSteps, FilesThatAreNone) {
  const TemporaryFolder folder;
  EXPECT_FALSE(open_measured_steps(folder.file("none.json"), "m").ok());
  EXPECT_FALSE(open_measured_steps(folder.path(), "m").ok());
  const std::string path = folder.file("c.json");
  test::write_file(path, calibration_json(three_steps()));
  EXPECT_TRUE(open_measured_steps(path, "m").ok());
  test::write_file(path, "{}");
  EXPECT_NE(open_measured_steps(path, "m").error().to_string().find("expected \"schema\""),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan::io
