// The worked example of simulator/examples/pagedattention: its commands run as written on its page, results of
// arithmetic are exact, and every number of kvplan on the page is the one that the commands give.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>

#include "simulator/report/number_text.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

namespace dom = simdjson::dom;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

const std::string kPage = KVPLAN_SOURCE_DIR "/simulator/examples/pagedattention/README.md";
constexpr std::int64_t kTokenBytes = 819200;  // 2 x 40 x 5120 x 2
constexpr std::int64_t kPoolBytes = std::int64_t{12} << 30;
constexpr std::int64_t kSlots = 15728;

/// The page's commands without the program, files in `folder`.
std::vector<std::string> commands(const std::string& page, const TemporaryFolder& folder) {
  std::vector<std::string> out;
  const std::string begin = "\nbuild/bin/kvplan ";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    std::string command = page.substr(from, page.find('\n', from) - from);
    const auto place = [&](const std::string& name, const std::string& path) {
      for (std::size_t k = command.find(name); k != std::string::npos;
           k = command.find(name, k + path.size()))
        command.replace(k, name.size(), path);
    };
    place("hour.", folder.path() + "/hour.");
    place("simulator/examples/", KVPLAN_SOURCE_DIR "/simulator/examples/");
    out.push_back(command);
  }
  return out;
}

class PagedAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    page_ = read_file(kPage);
    const auto lines = commands(page_, folder_);
    ASSERT_EQ(lines.size(), 2U);
    const Outcome synth = run_kvplan(lines[0]);
    ASSERT_EQ(synth.exit_code, 0) << synth.err;
    compare_ = lines[1];
    const Outcome compared = run_kvplan(compare_ + " --json " + folder_.file("r.json"));
    ASSERT_EQ(compared.exit_code, 0) << compared.err;
    ASSERT_EQ(parser_.load(folder_.file("r.json")).get(report_), simdjson::SUCCESS);
  }
  [[nodiscard]] dom::element variant(const std::string& allocator) const {
    for (const dom::element one : report_["variants"])
      if (std::string_view(one["name"]) == "allocator=" + allocator) return one;
    ADD_FAILURE() << allocator;
    return report_;
  }
  [[nodiscard]] double share(const std::string& allocator, const char* state) const {
    return variant(allocator)["memory"]["mean_fraction"][state];
  }
  [[nodiscard]] double running(const std::string& allocator) const {
    return variant(allocator)["batch"]["mean_running"];
  }
  void expect_on_page(const std::string& text) const {
    EXPECT_NE(page_.find(text), std::string::npos) << "the page lacks: " << text;
  }

  TemporaryFolder folder_;
  std::string page_, compare_;
  dom::parser parser_;
  dom::element report_;
};

std::string percents(double share) {
  return fixed(100 * share, 1);
}

TEST_F(PagedAttention, IsExactWhereArithmeticDecides) {
  EXPECT_EQ(kPoolBytes / kTokenBytes, kSlots);
  for (const std::string allocator : {"buddy:reserve=max", "contiguous:reserve=max"}) {
    const dom::element one = variant(allocator);
    EXPECT_EQ(std::int64_t(one["memory"]["capacity_bytes"]), kPoolBytes);
    EXPECT_EQ(std::int64_t(one["batch"]["max_running"]), 7);
    const dom::element peak = one["memory"]["peak"]["bytes"];
    const auto bytes = [&](const char* state) { return std::int64_t(peak[state]); };
    EXPECT_EQ(bytes("padding"), kPoolBytes - kSlots * kTokenBytes);
    EXPECT_EQ(bytes("live") + bytes("reserved") + bytes("internal"), 7 * 2048 * kTokenBytes);
    EXPECT_EQ(bytes("stranded") + bytes("free"), (kSlots - 7 * 2048) * kTokenBytes);
    const double unusable =
        static_cast<double>(bytes("stranded") + bytes("free")) / static_cast<double>(kSlots * kTokenBytes);
    EXPECT_EQ(fixed(100 * unusable, 2), "8.85");
    EXPECT_EQ(fixed(100 * unusable, 1), "8.9") << "as the paper rounds it";
    EXPECT_NEAR(running(allocator), 7, 0.02);
    EXPECT_EQ(std::int64_t(one["preemptions"]), 0);
  }
  EXPECT_EQ(share("buddy:reserve=max", "live"), share("contiguous:reserve=max", "live"))
      << "equal sizes do not splinter";
  EXPECT_EQ(share("contiguous:reserve=oracle", "internal"), 0);
}

TEST_F(PagedAttention, TheLengthsFollowFromTheMaxBar) {
  // What 7 requests hold for their own use, and the spread of outputs with which a mean request holds it.
  const double held = (0.204 + 0.133) * static_cast<double>(kSlots) / 7;
  EXPECT_EQ(fixed(held, 0), "757");
  const double of_output = held - 161.31;
  EXPECT_EQ(fixed(of_output, 0), "596");
  EXPECT_EQ(fixed(std::sqrt(of_output / 337.99 - 1), 2), "0.87");
  EXPECT_EQ(fixed(161.31 + of_output / 2, 0), "459");
  EXPECT_EQ(percents((161.31 + of_output / 2) * 7 / static_cast<double>(kSlots)), "20.4")
      << "the paper's token states";
  EXPECT_EQ(percents(30.42 * (161.31 + of_output / 2) / static_cast<double>(kSlots)), "88.8");
  const Outcome info = run_kvplan("trace info " + folder_.file("hour.kvt") + " --json -");
  dom::parser parser;
  const std::string text = info.out;
  const dom::element trace = parser.parse(text);
  EXPECT_NEAR(double(trace["input_tokens"]["mean"]), 161.31, 0.02 * 161.31);
  EXPECT_NEAR(double(trace["output_tokens"]["mean"]), 337.99, 0.02 * 337.99);
  expect_on_page("A trace of " + grouped(std::int64_t(trace["requests"])) + " draws");
}

TEST_F(PagedAttention, ThePageHasTheNumbersOfTheCommands) {
  struct Bar {
    const char *name, *allocator, *live, *reserved, *rest, *batch;
  };
  for (const Bar& bar : {Bar{"Orca (Max)", "buddy:reserve=max", "20.4", " 13.3 ", "66.2", "7.00"},
                         Bar{"Orca (Pow2)", "buddy:reserve=output-pow2", "26.8", " 17.9 ", "55.2", "9.81"},
                         Bar{"Orca (Oracle)", "buddy:reserve=oracle", "38.2", " 25.2 ", "36.6", "13.62"},
                         Bar{"vLLM", "paged:block_tokens=16", "96.3", " ", "3.7", "30.42"}}) {
    const std::string begin = std::string("| ") + bar.name + " | `" + bar.allocator + "` | ";
    const double live = share(bar.allocator, "live");
    const double reserved = share(bar.allocator, "reserved");
    expect_on_page(begin + percents(live) + " | " + bar.live + " | " + percents(reserved) + " |" +
                   bar.reserved + "| " + percents(1 - live - reserved) + " | " + bar.rest + " |\n");
    expect_on_page(begin + fixed(running(bar.allocator), 2) + " | " + bar.batch + " |\n");
  }
  expect_on_page("`contiguous:reserve=oracle` | " + fixed(running("contiguous:reserve=oracle"), 2) +
                 " | |\n");
  const std::string max = "buddy:reserve=max", oracle = "buddy:reserve=oracle",
                    pow2 = "buddy:reserve=output-pow2";
  const std::string apart = "contiguous:reserve=output-pow2";
  expect_on_page("so nothing is rounded | " + percents(share(max, "internal")) + " | 57.3 |\n");
  expect_on_page("leave of the pool | " +
                 percents(1 - share(max, "internal") - share(max, "live") - share(max, "reserved")) +
                 " | 8.9 |\n");
  expect_on_page("and what lies idle | " + percents(1 - share(oracle, "live") - share(oracle, "reserved")) +
                 " | 36.6 |\n");
  // Rounding of outputs, for each live token: equal for any placement of the requests.
  expect_on_page("the buddy's own rounding | " +
                 percents(share(apart, "internal") / share(apart, "live") * share(pow2, "live")) +
                 " | 13.6 |\n");
  expect_on_page("> " + std::string(std::string_view(report_["answer"]["sentences"].at(0))) + "\n");
}

TEST_F(PagedAttention, ThePageSaysWhatTheRunsSay) {
  const std::string paged = "paged:block_tokens=16", oracle = "buddy:reserve=oracle";
  const std::string plain = "contiguous:reserve=oracle", pow2 = "buddy:reserve=output-pow2";
  expect_on_page("So our batch of " + fixed(running(paged), 1) + " is no prediction");
  expect_on_page("**Pow2** runs " + fixed(running(pow2), 1) + " requests at once (paper: 9.81), with " +
                 percents(share(pow2, "live")) + " % token states");
  expect_on_page("token states are " + percents(share(paged, "live")) + " % of the memory and " +
                 percents(share(paged, "live") /
                          (share(paged, "live") + share(paged, "reserved") + share(paged, "tail"))) +
                 " % of the blocks in use");
  expect_on_page(grouped(std::int64_t(variant(paged)["preemptions"])) + " times here");
  expect_on_page("run " + fixed(running(plain), 2) + " requests at once, not " + fixed(running(oracle), 2));
  expect_on_page("Paging runs " + fixed(running(paged) / running(oracle), 2) + " times as many requests");
  expect_on_page("A factor of " + fixed(running(plain) / running(oracle), 2) +
                 " of this is the rounding of the buddy allocator, and a factor of " +
                 fixed(running(paged) / running(plain), 2) + " comes from paging itself");
  // The memory is full all the time.
  const std::string without_page = compare_.substr(0, compare_.find(" --html"));
  dom::parser parser;
  const std::string fast = run_kvplan(without_page + " --set workload.rate_scale=4 --json -").out;
  for (const dom::element one : parser.parse(fast)["variants"])
    if (std::string_view(one["name"]) == "allocator=" + paged)
      expect_on_page(percents(one["memory"]["mean_fraction"]["live"]) +
                     " % of all memory are token states and " + fixed(one["batch"]["mean_running"], 1) +
                     " requests run");
  // The variants of Orca do not depend on the step's overhead.
  for (const char* overhead : {"500000", "25000000"}) {
    const std::string other =
        run_kvplan(without_page + " --set latency.overhead_ns=" + overhead + " --json -").out;
    for (const dom::element one : parser.parse(other)["variants"]) {
      const std::string_view whole = one["name"];
      const std::string name(whole.substr(std::string_view("allocator=").size()));
      if (name.rfind("buddy", 0) != 0) continue;
      for (const char* state : {"live", "reserved", "internal", "stranded"})
        EXPECT_NEAR(double(one["memory"]["mean_fraction"][state]), share(name, state), 0.01) << name << state;
    }
  }
}

}  // namespace
}  // namespace kvplan::report
