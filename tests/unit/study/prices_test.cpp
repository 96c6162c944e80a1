// Price lists and the cost of runs: nodes and sums by hand, every possible mistake in a list, and the
// commands.
#include <gtest/gtest.h>

#include <filesystem>

#include "simulator/io/price_file.h"
#include "simulator/run/summary.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const std::string kTrace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
const std::string kExample = KVPLAN_SOURCE_DIR "/simulator/examples/prices.json";

std::string list_of(const std::string& device, const std::string& top = "") {
  return R"({"currency": "USD", "source": "made up for a test", )" + top + R"("devices": {"h100-sxm": {)" +
         device + "}}}";
}
const std::string kNode = R"("per": "node_hour", "gpus_per_node": 8, "on_demand": 20, "reserved": 12.5)";
const std::string kGpu = R"("per": "gpu_hour", "gpus_per_node": 4, "on_demand": 2.5)";

Cost cost(const std::string& text, std::int64_t gpus) {
  const auto prices = io::parse_prices(text, "p.json");
  EXPECT_TRUE(prices.ok()) << prices.error().to_string();
  const auto found = cost_of(prices.value(), "h100-sxm", gpus);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  return found.value();
}

TEST(Prices, WholeNodesArePaid) {
  for (const auto& [gpus, nodes] : {std::pair(1, 1), std::pair(8, 1), std::pair(9, 2), std::pair(64, 8)}) {
    EXPECT_EQ(cost(list_of(kNode), gpus).nodes, nodes);
    EXPECT_EQ(cost(list_of(kNode), gpus).per_hour, 20.0 * nodes);
  }
  // Priced per device, still in whole nodes of four.
  EXPECT_EQ(cost(list_of(kGpu), 5).nodes, 2);
  EXPECT_EQ(cost(list_of(kGpu), 5).per_hour, 2 * 4 * 2.5);
  EXPECT_EQ(cost(list_of(kGpu), 5).currency, "USD");
}

TEST(Prices, APurchaseIsChosenForAllOrForOne) {
  EXPECT_EQ(cost(list_of(kNode, R"("purchase": "reserved", )"), 8).per_hour, 12.5);
  EXPECT_EQ(cost(list_of(kNode + R"(, "purchase": "reserved")"), 8).per_hour, 12.5);
  EXPECT_EQ(cost(list_of(kNode + R"(, "purchase": "on_demand")", R"("purchase": "reserved", )"), 8).per_hour,
            20);
}

TEST(Prices, SpareNodesArePaidToo) {
  const auto with = [](const std::string& spares, std::int64_t gpus) {
    return cost(list_of(kNode, "\"spares\": " + spares + ", "), gpus).nodes;
  };
  EXPECT_EQ(with(R"({"nodes": 2})", 24), 3 + 2);
  EXPECT_EQ(with(R"({"nodes": 0})", 24), 3);
  EXPECT_EQ(with(R"({"share": 0.1})", 8), 1 + 1) << "rounded up";
  EXPECT_EQ(with(R"({"share": 0.1})", 80), 10 + 1) << "and no further: exact";
  EXPECT_EQ(with(R"({"share": 0.1})", 81), 11 + 2);
  EXPECT_EQ(with(R"({"share": 0})", 80), 10);
  EXPECT_EQ(cost(list_of(kNode + R"(, "spares": {"nodes": 3})", R"("spares": {"nodes": 1}, )"), 8).nodes, 4);
}

TEST(Prices, EachSlipIsOneLineWithItsField) {
  const auto error = [](const std::string& text) {
    const auto prices = io::parse_prices(text, "p.json");
    return prices.ok() ? std::string("no error") : prices.error().to_string();
  };
  EXPECT_EQ(error(list_of(kNode)), "no error");
  const std::string at = "p.json: devices.h100-sxm";
  const std::vector<std::pair<std::string, std::string>> slips{
      {"[]", "p.json: expected a JSON object with device prices"},
      {"{", "p.json: expected a JSON object with device prices: "},
      {"{}", "p.json: currency: expected a string, found nothing"},
      {R"({"currency": "USD"})", "p.json: source: expected a string, found nothing"},
      {R"({"currency": "USD", "source": "x"})", "p.json: devices: expected an object, found nothing"},
      {R"({"currency": "USD", "source": "x", "devices": {}})", "p.json: devices: expected at least one"},
      {R"({"curency": "USD"})", "p.json: curency: unknown key \"curency\"; did you mean \"currency\"?"},
      {R"({"currency": "USD", "currency": "EUR"})",
       "p.json: currency: expected each key once, found it twice"},
      {R"({"currency": "USD", "source": "x", "devices": {"h1000": {}}})",
       "p.json: devices.h1000: unknown device \"h1000\""},
      {list_of(R"("per": "hour")"), at + ".per: expected one of gpu_hour, node_hour, found \"hour\""},
      {list_of(R"("per": "gpu_hour")"),
       at + ".gpus_per_node: expected a whole number from 1 to 1024, found nothing"},
      {list_of(R"("per": "gpu_hour", "gpus_per_node": 0)"),
       at + ".gpus_per_node: expected a whole number from 1 to 1024, found \"0\""},
      {list_of(R"("per": "gpu_hour", "gpus_per_node": 1)"), at + ".on_demand: expected a number from 0 to "},
      {list_of(R"("per": "gpu_hour", "gpus_per_node": 1, "on_demand": -2)"),
       at + ".on_demand: expected a number from 0 to 1e+09, found \"-2\""},
      {list_of(R"("per": "gpu_hour", "gpus_per_node": 1, "on_demand": "2")"),
       at + ".on_demand: expected a number from 0 to "},
      {list_of(kNode + R"(, "price": 3)"), at + ".price: unknown key \"price\""},
      {list_of(kNode + R"(, "purchase": "spot")"), at + ".spot: expected a number from 0 to "},
      {list_of(kNode, R"("spares": {}, )"), "p.json: spares: expected either \"nodes\" or \"share\""},
      {list_of(kNode, R"("spares": {"nodes": 1, "share": 1}, )"), "p.json: spares: expected either "},
      {list_of(kNode, R"("spares": {"nodes": -1}, )"),
       "p.json: spares.nodes: expected a whole number from 0"},
      {list_of(kNode, R"("spares": {"share": 1.5}, )"),
       "p.json: spares.share: expected a number from 0 to 1"},
      {R"({"currency": "a\nb"})", "p.json: currency: expected a string with one line"},
  };
  for (const auto& [text, beginning] : slips) {
    EXPECT_EQ(error(text).substr(0, beginning.size()), beginning) << text << "\n" << error(text);
    EXPECT_EQ(error(text).find('\n'), std::string::npos);
  }
}

TEST(Prices, FiguresFollowFromTheRun) {
  std::vector<Setting> settings{{"deployment.device", "h100-sxm", {}, 0},
                                {"deployment.tp", "2", {}, 0},
                                {"fleet.replicas", "3", {}, 0},
                                {"prices", "p", {}, 0},
                                {"engine.max_model_len", "8192", {}, 0}};
  RunOptions options;
  options.open_prices = [](const std::string&) { return io::parse_prices(list_of(kGpu), "p"); };
  const auto run =
      run_scenario(report::testing::scenario_of(settings), report::testing::small_trace(), options);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  const RunResult& r = run.value();
  EXPECT_EQ(gpus_of(r), 6);
  ASSERT_TRUE(r.cost.has_value());
  EXPECT_EQ(r.cost->nodes, 2);
  EXPECT_EQ(r.cost->per_hour, 20);
  const double hours = seconds(r.makespan) / 3600;
  EXPECT_NEAR(*cost_per_million_output_tokens(r) * static_cast<double>(r.output_tokens) / 1e6, 20 * hours,
              1e-12 * 20 * hours);
  settings[0] = {"deployment.device", "l40s", {}, 0};
  const auto other =
      run_scenario(report::testing::scenario_of(settings), report::testing::small_trace(), options);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().to_string(), "p: expected a price for l40s, but the price list only has h100-sxm");
}

TEST(Prices, ByCommand) {
  const TemporaryFolder folder;
  const std::string common = "'" + kTrace + "' --set workload.limit=30 --set engine.max_model_len=32768";
  const std::string device = " --set deployment.device=h100-sxm";
  const Outcome out = run_kvplan("run " + common + device + " --prices '" + kExample + "' --json -");
  ASSERT_EQ(out.exit_code, 0) << out.err;
  for (const char* key :
       {"\"gpus\": 1,", "\"nodes\": 1,", "\"cost_per_hour\": 20,", "\"cost_per_million_output_tokens\": "})
    EXPECT_NE(out.out.find(key), std::string::npos) << key;
  EXPECT_NE(out.out.find("made up"), std::string::npos) << "the report says what the prices are";
  const Outcome without = run_kvplan("run " + common + device + " --json -");
  EXPECT_NE(without.out.find("\"gpus\": 1,\n  \"nodes\": null,\n  \"cost_per_hour\": null"),
            std::string::npos);
  // Mistakes end with exit code 2 and one line.
  write_file(folder.file("bad.json"), list_of(R"("per": "gpu_hour", "gpus_per_node": 1, "on_demand": -1)"));
  for (const std::string& wrong :
       {common + " --prices '" + kExample + "'", common + device + " --prices " + folder.file("bad.json"),
        common + device + " --prices " + folder.file("none.json")}) {
    const Outcome slip = run_kvplan("run " + wrong);
    EXPECT_EQ(slip.exit_code, 2);
    EXPECT_EQ(slip.err.find('\n'), slip.err.size() - 1) << slip.err;
    EXPECT_EQ(slip.err.find("kvplan: "), 0U);
  }
  // A sweep does not begin either with a list with which no case could run.
  for (const char* const list : {"bad.json", "none.json"}) {
    const Outcome slip = run_kvplan("sweep " + common + device + " --vary 'seed=1;2' --out " +
                                    folder.file("db") + " --prices " + folder.file(list));
    EXPECT_EQ(slip.exit_code, 2) << slip.out;
    EXPECT_NE(slip.err.find(list), std::string::npos) << slip.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("db")));
  }
  EXPECT_NE(
      run_kvplan("run " + common + " --prices '" + kExample + "'").err.find("expected deployment.device"),
      std::string::npos);
  const Outcome sides = run_kvplan("compare " + common + device + " --prices '" + kExample +
                                   "' --set targets.e2e_s=1000 --vary 'fleet.replicas=1;9'");
  EXPECT_EQ(sides.exit_code, 0) << sides.err;
  EXPECT_NE(sides.out.find("\nCost\n"), std::string::npos) << sides.out;
  EXPECT_NE(sides.out.find("replicas=1 costs least where at least 99 % of the requests meet all targets"),
            std::string::npos)
      << sides.out;
}

TEST(Prices, ASweepKnowsItsCasesByTheListToo) {
  const TemporaryFolder folder;
  const std::string list = folder.file("p.json");
  const std::string sweep = "sweep '" + kTrace +
                            "' --set workload.limit=30 --set deployment.device=h100-sxm --set "
                            "engine.max_model_len=32768 --prices " +
                            list + " --vary 'fleet.replicas=1;2;9' --resume --out " + folder.file("s.db");
  write_file(list, list_of(kNode));
  ASSERT_EQ(run_kvplan(sweep).exit_code, 0);
  ASSERT_EQ(run_kvplan(sweep).exit_code, 0) << "nothing is left to do";
  const Outcome front = run_kvplan("report " + folder.file("s.db") +
                                   " --pareto cost_per_hour,latency_s.e2e.p99 --pareto-csv -");
  EXPECT_EQ(front.exit_code, 0) << front.err;
  EXPECT_NE(front.out.find(",20,"), std::string::npos) << front.out;
  write_file(list, list_of(R"("per": "node_hour", "gpus_per_node": 8, "on_demand": 21)"));
  const Outcome other = run_kvplan(sweep);
  EXPECT_EQ(other.exit_code, 2) << "other prices are another sweep";
  EXPECT_EQ(other.err.find('\n'), other.err.size() - 1) << other.err;
}

}  // namespace
}  // namespace kvplan::runs
