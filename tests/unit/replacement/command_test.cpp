// kvplan cache --replacement: result keys, exact numbers on real traces, one line for bad input.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>

#include "simulator/replacement/replacements.h"
#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

namespace dom = simdjson::dom;
using traces::testing::Outcome;
using traces::testing::run_kvplan;
using traces::testing::shared_traces;
using traces::testing::TemporaryFolder;

/// Three prompts of two, one and two blocks: 1 2, 3, 1 2.
constexpr const char* kRows =
    R"({"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]})"
    "\n"
    R"({"timestamp": 1000, "input_length": 512, "output_length": 1, "hash_ids": [3]})"
    "\n"
    R"({"timestamp": 2000, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]})"
    "\n";

class ReplacementCommandTest : public ::testing::Test {
 protected:
  void SetUp() override { traces::testing::write_file(trace_, kRows); }
  [[nodiscard]] Outcome run(const std::string& options) const {
    return run_kvplan("cache '" + trace_ + "' --format mooncake " + options);
  }
  /// The one line that ends a run with code 2.
  [[nodiscard]] std::string error(const std::string& options) const {
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(outcome.out, "") << options;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  }
  TemporaryFolder folder_;
  std::string trace_ = folder_.file("t.jsonl");
};

TEST_F(ReplacementCommandTest, JsonHasThePromisedKeys) {
  const Outcome outcome =
      run("--replacement lru,slru:protected=0.5,ttl --capacity-blocks 2,3 --bound --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  dom::parser parser;
  const dom::element json = parser.parse(outcome.out);
  EXPECT_EQ(std::int64_t(json["block_tokens"]), 512);
  EXPECT_EQ(std::int64_t(json["references"]), 5);
  EXPECT_EQ(std::int64_t(json["distinct"]), 3);
  std::string seen;
  for (const dom::element result : json["results"]) {
    seen += std::string(result["replacement"]) + " " +
            std::to_string(std::int64_t(result["capacity_blocks"])) + " " +
            std::to_string(std::int64_t(result["hits"])) + "; ";
    EXPECT_EQ(std::string(result["mode"]), "object");
    EXPECT_EQ(double(result["hit_rate"]), static_cast<double>(std::int64_t(result["hits"])) / 5);
    EXPECT_TRUE(result["params"].is_object());
  }
  EXPECT_EQ(seen,
            "lru 2 0; lru 3 2; slru 2 0; slru 3 2; ttl 2 0; ttl 3 2; belady 2 1; belady 3 2; flow-bound 2 2; "
            "flow-bound 3 2; ");
  EXPECT_EQ(double(json["results"].at(2)["params"]["protected"]), 0.5);
  EXPECT_EQ(double(json["results"].at(4)["params"]["life_s"]), 300);
  EXPECT_TRUE(bool(json["results"].at(4)["params"]["renew"]));
  EXPECT_EQ(std::string(json["results"].at(8)["params"]["method"]), "min-cost-flow");
}

TEST_F(ReplacementCommandTest, CurveHasALineWhereItChanges) {
  EXPECT_EQ(run("--replacement lru --curve -").out,
            "capacity_blocks,hits,hit_rate\n0,0,0.000000000\n3,2,0.400000000\n");
  const std::string file = folder_.file("curve.csv");
  const Outcome both = run("--replacement lru --capacity-blocks 3 --curve '" + file + "'");
  EXPECT_NE(both.out.find("40.00 %"), std::string::npos) << both.out;
  EXPECT_NE(traces::testing::read_file(file).find("\n3,2,"), std::string::npos);
}

TEST_F(ReplacementCommandTest, ManySizesOfLruAreTheSameAsOneByOne) {
  std::string sizes = "1";
  for (int size = 2; size <= 12; ++size) sizes += "," + std::to_string(size);
  dom::parser parser;
  const dom::element json =
      parser.parse(run("--replacement lru --capacity-blocks " + sizes + " --json -").out);
  for (std::size_t k = 0; k < 12; ++k)
    EXPECT_EQ(std::int64_t(json["results"].at(k)["hits"]), k < 2 ? 0 : 2) << k + 1 << " blocks";
}

TEST_F(ReplacementCommandTest, BadInputIsOneLine) {
  const auto has = [&](const std::string& options, const std::string& part) {
    EXPECT_NE(error(options).find(part), std::string::npos) << options << ": " << error(options);
  };
  has("--replacement lur --capacity-blocks 3", "did you mean \"lru\"?");
  has("--replacement slru:protected=2 --capacity-blocks 3", "protected");
  has("--replacement slru:protected=0.12345678901234 --capacity-blocks 3", "slru:protected");
  has("--replacement lru", "--capacity-blocks");
  has("--replacement lru --capacity-blocks 3,x", "--capacity-blocks");
  has("--replacement lru --capacity-blocks 0", "--capacity-blocks");
  has("--replacement lru, --capacity-blocks 3", "--replacement");
  has("--replacement lru --capacity-blocks 3 --mode both", "--mode");
  has("--replacement lru --capacity-blocks 3 --driver seq", "--driver");
  has("--replacement lru --capacity-blocks 3 --blocks 9", "--blocks");
  has("--replacement fifo --curve -", "--curve");
  has("--replacement fifo --capacity-blocks 3 --sample 0.5", "--sample");
  has("--replacement lru --capacity-blocks 3 --sample 2", "--sample");
  has("--replacement lru --capacity-blocks 3 --sample 0.0001", "--sample");
  has("--replacement lru --capacity-blocks 3 --json - --curve -", "standard output");
  has("--replacement lru --capacity-blocks 3 --json '" + trace_ + "'", "a different file");
  has("--capacity-blocks 3 --driver seq --block-tokens 16 --blocks 9 --csv -", "--replacement");
  has("", "--driver");
}

TEST_F(ReplacementCommandTest, TracesWithoutBlocksOrAClockAreRefused) {
  traces::testing::write_file(trace_,
                              R"({"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": []})"
                              "\n");
  EXPECT_NE(error("--replacement lru --capacity-blocks 3").find("has no block hashes"), std::string::npos);
}

TEST(ReplacementList, EveryMemberIsListedAndExplained) {
  const std::string listed = run_kvplan("list replacement").out;
  for (const ::kvplan::Descriptor* d : replacement::replacement_descriptors()) {
    EXPECT_NE(listed.find("\n  " + std::string(d->name) + " "), std::string::npos) << d->name << "\n"
                                                                                   << listed;
    EXPECT_EQ(run_kvplan("explain " + std::string(d->name)).exit_code, 0) << d->name;
  }
}

}  // namespace
}  // namespace kvplan::cli
