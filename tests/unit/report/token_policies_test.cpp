// The worked example of simulator/examples/token_policies: its commands run as written on its page, and every number in
// its tables is the one that they give.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "simulator/report/number_text.h"
#include "tests/support/sanitized.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

namespace dom = simdjson::dom;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

const std::string& page() {
  static const std::string kPage =
      read_file(KVPLAN_SOURCE_DIR "/simulator/examples/token_policies/README.md");
  return kPage;
}

/// The page's command number `which`, from 0, for this tree; `trace` where it names the hour.
std::string command_of_page(int which, const std::string& trace) {
  const std::string begin = "\nbuild/bin/kvplan ";
  std::size_t at = page().find(begin);
  for (; which > 0; --which) at = page().find(begin, at + 1);
  std::string command = page().substr(at + begin.size(), page().find('\n', at + 1) - at - begin.size());
  replace(command, "simulator/examples/", KVPLAN_SOURCE_DIR "/simulator/examples/");
  replace(command, "traces/samples/", KVPLAN_SOURCE_DIR "/traces/samples/");
  replace(command, "AzureLLMInferenceTrace_conv.csv", trace);
  return command;
}

/// The lines of the page's table number `which`, from 0, below its head.
std::string table_of_page(int which) {
  const std::string head = "---:|\n";
  std::size_t at = page().find(head);
  for (; which > 0; --which) at = page().find(head, at + 1);
  at += head.size();
  return page().substr(at, page().find("\n\n", at) + 1 - at);
}

/// The report of a command, and where figures are in it.
class Report {
 public:
  explicit Report(const std::string& command) {
    const Outcome compared = run_kvplan(command + " --json " + folder_.file("r.json"));
    EXPECT_EQ(compared.exit_code, 0) << compared.err;
    EXPECT_EQ(parser_.load(folder_.file("r.json")).get(report_), simdjson::SUCCESS);
  }
  [[nodiscard]] dom::array variants() const { return report_["variants"]; }
  [[nodiscard]] dom::element variant(std::string_view policy, std::string_view placement,
                                     std::string_view table) const {
    for (const dom::element v : variants())
      if (names(v) == std::array{policy, placement, table}) return v;
    ADD_FAILURE() << policy;
    return report_;
  }
  /// Policy, placement, table.
  static std::array<std::string_view, 3> names(dom::element variant) {
    const dom::element eviction = variant["scenario"]["eviction"];
    std::array<std::string_view, 3> out{eviction["name"].get_string().value(), "-", "all"};
    if (out[0] != "full") out[1] = eviction["placement"];
    if (variant["scenario"]["memory"]["allocator"]["table"].get(out[2]) != simdjson::SUCCESS) out[2] = "all";
    return out;
  }

 private:
  TemporaryFolder folder_;
  dom::parser parser_;
  dom::element report_;
};

double number(dom::element of, const char* pointer) {
  return double(of.at_pointer(pointer));
}

struct Column {
  const char* pointer;
  double unit;
  int decimals;
};

std::string table_of(const Report& report, const std::vector<Column>& columns) {
  std::string out;
  for (const dom::element v : report.variants()) {
    const auto [policy, placement, table] = Report::names(v);
    out += "| `" + std::string(policy) + "` | " + std::string(placement) + " | " + std::string(table);
    for (const Column& each : columns)
      out += " | " + fixed(number(v, each.pointer) / each.unit, each.decimals);
    out += " |\n";
  }
  return out;
}

/// The rules of the design notes, applied to the row of `full`.
std::string rules_of(const Report& report) {
  const dom::element full = report.variant("full", "-", "all");
  const dom::element half = report.variant("pyramidkv", "compact", "layer");
  const dom::element one_table = report.variant("pyramidkv", "compact", "all");
  const auto capacity = number(full, "/memory/capacity_bytes");
  const double running = number(full, "/batch/mean_running");
  std::string out;
  const auto row = [&](const std::string& rule, double would_be, double is, int decimals) {
    out += "| " + rule + " | " + fixed(would_be, decimals) + " | " + fixed(is, decimals) + " |\n";
  };
  row("a 70 B model takes 32 GB for 8,192 tokens: tokens that fit into four devices",
      std::floor(4 * capacity / (32e9 / 8192)), std::floor(capacity / (80 * 2 * 2 * 128 * 2)), 0);
  row("half of the cache takes half of the memory: requests at once, where `full` runs " + fixed(running, 0),
      2 * running, number(half, "/batch/mean_running"), 0);
  row("the same in one table for all layers", 2 * running, number(one_table, "/batch/mean_running"), 0);
  const auto scaled = [&](const std::string& rule, const char* pointer, double factor, int decimals) {
    row(rule, factor * number(full, pointer), number(half, pointer), decimals);
  };
  scaled("half of the cache gives 1.3 times the throughput: output tokens a second",
         "/throughput/output_tokens_per_s", 1.3, 0);
  scaled("half of the cache, 75 % of the time to the first token: TTFT, s", "/latency_s/ttft/p99", 0.75, 1);
  scaled("half of the cache, 80 % of the time of each token after it: TPOT, s", "/latency_s/tpot/p50", 0.8,
         3);
  return out;
}

TEST(TokenPoliciesExample, NumbersAreTheCommands) {
  if (KVPLAN_SHADOW_MEMORY != 0) GTEST_SKIP() << "a page's numbers are the gate's: minutes with sanitizers";
  const std::string trace = traces::testing::shared_traces() + "/azure_llm_2023_conv.csv";
  if (!std::filesystem::exists(trace)) GTEST_SKIP() << "no shared trace " << trace;
  const Report report(command_of_page(0, trace));
  EXPECT_EQ(table_of_page(0), table_of(report, {{"/batch/mean_running", 1, 0},
                                                {"/batch/max_running", 1, 0},
                                                {"/preemptions", 1, 0},
                                                {"/slo/goodput_per_s", 1, 2},
                                                {"/latency_s/ttft/p99", 1, 1},
                                                {"/latency_s/tpot/p50", 1, 3},
                                                {"/memory/mean_fraction/live", 0.01, 1},
                                                {"/memory/mean_fraction/hole", 0.01, 1},
                                                {"/evictions/compaction_bytes", 1e9, 1}}));
  EXPECT_EQ(table_of_page(1), rules_of(report));
  // The variant that the rules call half of the cache.
  const auto of_request = [&](const char* policy, const char* placement, const char* table) {
    const dom::element v = report.variant(policy, placement, table);
    return number(v, "/memory/mean_fraction/live") / number(v, "/batch/mean_running");
  };
  const double share = of_request("pyramidkv", "compact", "layer") / of_request("full", "-", "all");
  EXPECT_NE(page().find("keeps per request " + fixed(100 * share, 0) + " % of what `full` keeps"),
            std::string::npos)
      << share;
}

TEST(TokenPoliciesExample, RecordedOnesToo) {
  EXPECT_EQ(table_of_page(2),
            table_of(Report(command_of_page(1, "")), {{"/batch/mean_running", 1, 2},
                                                      {"/batch/max_running", 1, 0},
                                                      {"/preemptions", 1, 0},
                                                      {"/slo/goodput_per_s", 1, 1},
                                                      {"/latency_s/ttft/p99", 0.001, 0},
                                                      {"/memory/mean_fraction/live", 0.01, 1},
                                                      {"/memory/mean_fraction/hole", 0.01, 1},
                                                      {"/evictions/compaction_bytes", 1e6, 1}}));
}

/// Writes the requests of the hour that the page's awk command keeps.
void write_short(const std::string& hour, const std::string& path) {
  std::ifstream in(hour);
  std::ofstream out(path);
  std::string line;
  std::getline(in, line);
  out << line << "\n";
  while (std::getline(in, line)) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    const int input = std::stoi(line.substr(first + 1)), output = std::stoi(line.substr(second + 1));
    if (input + output <= 390 && output >= 50) out << line << "\n";
  }
}

TEST(TokenPoliciesExample, RecordingsThatStandForTheModelToo) {
  if (KVPLAN_SHADOW_MEMORY != 0) GTEST_SKIP() << "a page's numbers are the gate's: minutes with sanitizers";
  const std::string hour = traces::testing::shared_traces() + "/azure_llm_2023_conv.csv";
  if (!std::filesystem::exists(hour)) GTEST_SKIP() << "no shared trace " << hour;
  EXPECT_NE(page().find("awk -F, 'NR == 1 || ($2 + $3 <= 390 && $3 + 0 >= 50)'"), std::string::npos);
  const TemporaryFolder folder;
  write_short(hour, folder.file("short.csv"));
  std::string command = command_of_page(2, "");
  replace(command, "short.csv", folder.file("short.csv"));
  replace(command, ",traces/samples/", "," KVPLAN_SOURCE_DIR "/traces/samples/");
  EXPECT_EQ(table_of_page(3), table_of(Report(command), {{"/batch/mean_running", 1, 2},
                                                         {"/batch/max_running", 1, 0},
                                                         {"/preemptions", 1, 0},
                                                         {"/slo/goodput_per_s", 1, 2},
                                                         {"/latency_s/ttft/p99", 1, 2},
                                                         {"/memory/mean_fraction/live", 0.01, 1},
                                                         {"/memory/mean_fraction/hole", 0.01, 1},
                                                         {"/evictions/compaction_bytes", 1e9, 1}}));
}

}  // namespace
}  // namespace kvplan::report
