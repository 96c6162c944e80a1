// `kvplan plan` as its user runs it: killed and resumed, its page, and mistakes in its options.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <regex>
#include <thread>

#include "simulator/report/number_text.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::planner {
namespace {

using report::testing::parse_xml;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// A trace with a calm and a busy half.
void write_trace(const std::string& path, int requests) {
  std::mt19937 random(11);
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  std::int64_t at = 0;
  for (int i = 0; i < requests; ++i) {
    at += static_cast<std::int64_t>(random() % (i < requests / 2 ? 24'000'000U : 8'000'000U));
    rows += std::to_string(at) + "," + std::to_string(20 + random() % 400) + "," +
            std::to_string(1 + random() % 60) + "\n";
  }
  write_file(path, rows);
}

const std::vector<std::string> kSmall{
    "--set",      "memory.pool_tokens=4000",
    "--set",      "latency=affine:base_ns=4000000,token_ns=30000,context_ns=300",
    "--target",   "ttft.p95<=200ms",
    "--target",   "tpot.p90<=20ms",
    "--max-gpus", "16"};

std::string joined(const std::vector<std::string>& arguments) {
  std::string out;
  for (const std::string& argument : arguments) out += " '" + argument + "'";
  return out;
}

/// Starts `kvplan`; nothing is printed.
pid_t start(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(300);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  std::vector<char*> argv{const_cast<char*>("kvplan")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(KVPLAN_PROGRAM_DIR "/kvplan", argv.data());
  ::_exit(99);
}

TEST(PlanCommand, KilledAtTenMomentsAndResumedItGivesTheSameAnswer) {
  const TemporaryFolder folder;
  write_trace(folder.file("t.csv"), 3000);
  std::vector<std::string> plan{"plan", folder.file("t.csv")};
  plan.insert(plan.end(), kSmall.begin(), kSmall.end());
  plan.insert(plan.end(), {"--may", "max-seqs=4;8;16;64", "--may", "token-budget=256;512;2048"});
  const Outcome whole = run_kvplan(joined(plan));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string database = folder.file("p.db");
  plan.insert(plan.end(), {"--out", database});
  std::mt19937 random(5);
  int killed = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = start(plan);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 60));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    if (::access(database.c_str(), F_OK) == 0 && plan.back() != "--resume") plan.emplace_back("--resume");
  }
  EXPECT_GT(killed, 0);
  const Outcome resumed = run_kvplan(joined(plan));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, whole.out);
}

TEST(PlanCommand, ThePageIsWellFormedAndHasItsCharts) {
  const TemporaryFolder folder;
  write_trace(folder.file("t <&>.csv"), 600);
  const Outcome outcome = run_kvplan("plan '" + folder.file("t <&>.csv") + "'" + joined(kSmall) +
                                     " --html '" + folder.file("p.html") + "'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto page = parse_xml(read_file(folder.file("p.html")));
  EXPECT_EQ(page.named("svg").size(), 6U);
  const std::string text = page.all_text();
  for (const char* words : {"Answer", "Around it", "What binds over time", "Requests in time over cost",
                            "GPUs needed over the trace", "What formulas would have bought", "How sure",
                            "What the answer rests on", "Steps of the search", "kvplan plan"})
    EXPECT_NE(text.find(words), std::string::npos) << words;
  // The answer is a point of its own, with its name.
  const auto marked = page.with("class", "point knee");
  EXPECT_EQ(
      std::count_if(marked.begin(), marked.end(), [](const auto* each) { return each->name == "circle"; }),
      1);
}

/// The worked plan's page says what the command prints. Figures move with pools and step times
/// (simulator/examples/plan/run.sh writes them again); the parts of the answer do not.
TEST(PlanCommand, TheWorkedPlanHasAllPartsOfItsExpectedOutput) {
  KVPLAN_NEED_SHARED();
  const std::string source = KVPLAN_SOURCE_DIR;
  const Outcome outcome =
      run_kvplan("plan '" + traces::testing::shared_traces() +
                 "/azure_llm_2023_conv.csv' --model llama-3.1-70b --set deployment.weight_bits=8 --devices "
                 "'h100-sxm;h200-sxm' --prices '" +
                 source +
                 "/simulator/examples/prices.json' --target 'ttft.p99<=2s' --target 'tpot.p95<=60ms' --rate "
                 "'1;3' --export "
                 "vllm --threads 2 --resamples 2");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string expected = read_file(source + "/simulator/examples/plan/expected/azure.txt");
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')), expected.substr(0, expected.find('\n')));
  for (const char* part : {"\nAnswer at 1 times", "\nAnswer at 3 times", "\nAround it\n", "\nfewer: ",
                           "\nmore: ", "\nhead-room: ", "\nwhat binds ", "\nover the trace: ", "\nHow sure\n",
                           "\nthis traffic: ", "\nOther devices\n", "\nWhat formulas would have bought\n",
                           "\nHow to start it\n", "\nvllm serve meta-llama/Llama-3.1-70B", "\nDoubts\n"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
    EXPECT_NE(expected.find(part), std::string::npos) << part;
  }
}

/// The interval of the pool is that of its derivation, and the start-up contract names its ends.
TEST(PlanCommand, ADerivedPoolHasAnIntervalThatTheStartUpContractNames) {
  const TemporaryFolder folder;
  write_trace(folder.file("t.csv"), 200);
  const std::string command = "plan '" + folder.file("t.csv") +
                              "' --model llama-3-8b --devices h100-sxm --target 'ttft.p95<=2s' --max-gpus 2 ";
  const Outcome json = run_kvplan(command + "--json -");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  std::smatch pool;
  ASSERT_TRUE(std::regex_search(
      json.out, pool, std::regex(R"("pool":\s*\{\s*"tokens":\s*(\d+),\s*"low":\s*(\d+),\s*"high":\s*(\d+))")))
      << json.out;
  const std::int64_t tokens = std::stoll(pool[1]), low = std::stoll(pool[2]), high = std::stoll(pool[3]);
  EXPECT_LT(low, tokens);
  EXPECT_LT(tokens, high);
  EXPECT_LT(static_cast<double>(high - low), 0.1 * static_cast<double>(tokens));
  const Outcome text = run_kvplan(command + "--export vllm");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("between " + report::grouped(low) + " and"), std::string::npos) << text.out;
}

TEST(PlanCommand, MistakesAreOneLineThatSaysWhatWouldHelp) {
  const TemporaryFolder folder;
  write_trace(folder.file("t.csv"), 200);
  write_file(folder.file("prices.json"),
             R"({"currency": "USD", "source": "a test", "devices": {"l40s": {"per": "gpu_hour", )"
             R"("gpus_per_node": 1, "on_demand": 1}}})");
  const std::string trace = "plan '" + folder.file("t.csv") + "' ";
  const std::string prices = " --prices '" + folder.file("prices.json") + "'";
  const std::pair<std::string, const char*> cases[] = {
      {"--devices l40s --model llama-3.1-405b --max-gpus 2 --target 'ttft.p99<=2s'", "--max-gpus"},
      {"--devices h100-sxm --target 'ttft.p99<=2s'" + prices, "expected a price for h100-sxm"},
      {"--devices h100-sxm --target 'ttft.p99<=2GB'", "unit s, ms or us"},
      {"--devices h100-sxm --target 'ttft.p99<=1us'", "would have to be"},
      {"--devices l40s --budget 0.5 --target 'ttft.p99<=60s'" + prices, "--budget 1"},
      {"--target 'ttft.p99<=2s'", "add --devices"},
      {"--devices h100-sxm", "add --target"},
      {"--devices h100-sxm --target 'ttft.p99<=2s' --resume", "--out"},
      {"--devices h100-sxm --target 'ttft.p99<=2s' --rate 0", "--rate"},
      {"--devices h100-sxm --devices l40s --target 'ttft.p99<=2s'",
       "--devices: expected it once, found it 2 times"},
      {"--devices h100-sxm --target 'goodput>=1e300/s' --target 'ttft<=1s'", "at most 1e9/s"},
  };
  for (const auto& [options, words] : cases) {
    const Outcome outcome = run_kvplan(trace + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << options << "\n" << outcome.err;
  }
}

/// A server of Llama 2 takes 4,096 tokens; two requests are longer.
TEST(PlanCommand, RequestsBeyondTheModelAreRejectedAndSaid) {
  const TemporaryFolder folder;
  std::string rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i) + (i % 20 == 3 ? ",4090,50\n" : ",500,50\n");
  write_file(folder.file("t.csv"), rows);
  const auto plan = [&](const std::string& flags) {
    return run_kvplan("plan " + folder.file("t.csv") +
                      " --model llama-2-7b --devices h100-sxm --max-gpus 2 --resamples 0 " + flags);
  };
  const std::string said =
      "2 of 40 requests of the trace are longer than 4,096 tokens, for which the model was made: servers "
      "reject "
      "them, and they count as late (engine.allow_long_max_model_len=true serves them)";
  const auto without_breaks = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
      const std::size_t end = text.find_first_not_of(" \n", at);
      text.replace(at, end == std::string::npos ? end : end - at, " ");
      ++at;
    }
    return text;
  };
  const Outcome loose = plan("--target 'ttft.p50<=5s'");
  EXPECT_EQ(loose.exit_code, 0) << loose.err;
  EXPECT_NE(without_breaks(loose.out).find(said), std::string::npos) << loose.out;
  const Outcome strict = plan("--target 'ttft.p99<=5s'");
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_NE(strict.err.find(said), std::string::npos) << strict.err;
  const Outcome allowed = plan("--target 'ttft.p99<=5s' --set engine.allow_long_max_model_len=true");
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_NE(without_breaks(allowed.out).find("max_model_len is 5120"), std::string::npos) << allowed.out;
}

/// A former error: values that no deployment can have were left out of the search in silence, and so were values in a
/// file.
TEST(PlanCommand, ValuesThatTheSearchMayChooseAreChecked) {
  const TemporaryFolder folder;
  write_trace(folder.file("t.csv"), 50);
  write_file(folder.file("seqs"), "4\n8\n");
  write_file(folder.file("wrong"), "4\nbanana\n");
  const std::string plan = "plan '" + folder.file("t.csv") + "'" + joined(kSmall) + " --may '";
  const std::pair<std::string, std::string> cases[] = {
      {"max-seqs=banana", "found \"banana\""},
      {"max-seqs=8;banana", "found \"banana\""},
      {"max-seqs=@" + folder.file("wrong"), "found \"banana\""},
      {"max-seqs=@" + folder.file("none"), "none: cannot open"},
      {"tp=1;0", "deployment.tp"},
      {"kv-format=fp8;bananas", "bananas"},
      {"allocator=paged;nonsense", "nonsense"},
      {"nonsense=1", "expected a path of a scenario"},
      {"engine.nonsense=1", "no parameter nonsense"},
      {"workload.trace=/nowhere", "use --set workload.trace=VALUE"},
      {"targets.ttft_s=3", "use --set targets.ttft_s=VALUE"},
      {"prices=/nowhere", "use --set prices=VALUE"},
      {"seed=1;2", "use --set seed=VALUE"},
      {"max-seqs=1..1000000:1", "expected at most 100,000 combinations"},
      {"max-seqs=1..1000000:1' --may 'token-budget=1..1000000:1' --may 'block=1..1000000:1' --may "
       "'engine.long_prefill_threshold=1..1000000:1",
       "expected at most 100,000 combinations"},
  };
  for (const auto& [may, words] : cases) {
    const Outcome outcome = run_kvplan(plan + may + "'");
    EXPECT_EQ(outcome.exit_code, 2) << may;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << may << "\n" << outcome.err;
  }
  const Outcome lost = run_kvplan(plan + "latency=calibrated:file=/nowhere'");
  EXPECT_EQ(lost.exit_code, 0) << lost.err;
  EXPECT_NE(lost.out.find("could not run: "), std::string::npos) << lost.out;
  EXPECT_NE(lost.out.find("/nowhere: cannot open"), std::string::npos) << lost.out;
  const Outcome values = run_kvplan(plan + "max-seqs=4;8'");
  EXPECT_EQ(values.exit_code, 0) << values.err;
  EXPECT_EQ(run_kvplan(plan + "max-seqs=@" + folder.file("seqs") + "'").out, values.out);
}

}  // namespace
}  // namespace kvplan::planner
