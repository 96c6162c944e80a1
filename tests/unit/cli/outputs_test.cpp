// No command overwrites a file that it reads, and no two outputs are one file.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include <filesystem>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

constexpr const char* kRows = "arrival_ns,input_tokens,output_tokens\n0,100,20\n5,7,9\n";

/// The file size is limited: the larger output fails, and the smaller one does not appear either.
TEST(Outputs, AllAppearOrNone) {
  const TemporaryFolder folder;
  write_file(folder.file("t.csv"), kRows);
  const auto run = [&](const char* command) {
    return run_kvplan(command + (" '" + folder.file("t.csv") + "' ") +
                      (std::string(command) == "compare" ? "--vary 'seed=1;2' " : "") + "--json '" +
                      folder.file("a.json") + "' --html '" + folder.file("b.html") + "'");
  };
  for (const char* command : {"run", "compare"}) {
    EXPECT_EQ(run(command).exit_code, 0);
    const auto json = std::filesystem::file_size(folder.file("a.json"));
    const auto html = std::filesystem::file_size(folder.file("b.html"));
    std::filesystem::remove(folder.file("a.json"));
    std::filesystem::remove(folder.file("b.html"));
    ASSERT_NE(json / 4096, html / 4096);
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);  // inherited by the programs that are started
    const struct rlimit limit { (json + html) / 2, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Outcome outcome = run(command);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("cannot write"), std::string::npos) << outcome.err;
    EXPECT_EQ(folder.listing(), "t.csv") << command;
  }
}

class OverInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(at("t.csv"), kRows);
    write_file(at("s.json"), R"({"workload": {"trace": "t.csv"}})");
    const std::string golden = KVPLAN_SOURCE_DIR "/tests/golden/replay/";
    write_file(at("a.kva"), read_file(golden + "A.kva"));
    write_file(at("b.kva"), read_file(golden + "E.kva"));
    write_file(at("scores.json"), "[[1,2,3,4]]");
    std::filesystem::create_symlink("t.csv", at("link.csv"));
    std::filesystem::create_hard_link(at("t.csv"), at("hard.csv"));
    for (const char* name : {"t.csv", "s.json", "a.kva", "b.kva", "scores.json"})
      inputs_.push_back(read_file(at(name)));
    listing_ = folder_.listing();
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.file(name); }
  /// `arguments`, in which every file name after an @ is one of the folder.
  void expect_refused(std::string arguments, const std::string& output, const std::string& message) {
    for (std::size_t mark = 0; (mark = arguments.find('@')) != std::string::npos;)
      arguments.replace(mark, 1, folder_.path() + "/");
    const Outcome outcome = run_kvplan(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, "kvplan: " + at(output) + ": " + message + "\n") << arguments;
    EXPECT_EQ(folder_.listing(), listing_) << arguments;
    std::size_t i = 0;
    for (const char* name : {"t.csv", "s.json", "a.kva", "b.kva", "scores.json"})
      EXPECT_EQ(read_file(at(name)), inputs_[i++]) << arguments << name;
  }

  TemporaryFolder folder_;
  std::string listing_;
  std::vector<std::string> inputs_;
};

/// kvplan-validate, which reads event logs, does not decompress files.
TEST_F(OverInputs, EventLogsAreCompressedInsideOnly) {
  for (const std::string ending : {".gz", ".zst"})
    expect_refused("run @t.csv --events @log.kve" + ending, "log.kve" + ending,
                   "expected a file name without " + ending +
                       ": an event log is compressed internally and written as it is");
}

TEST_F(OverInputs, EveryCommandRefuses) {
  const std::string why = "expected a different file: this one is the input and would be overwritten";
  const auto refused = [&](const std::string& arguments, const std::string& output) {
    expect_refused(arguments, output, why);
  };
  for (const char* output : {"t.csv", "link.csv", "hard.csv"}) {
    const std::string name = std::string("@") + output;
    refused("trace info @t.csv --json " + name, output);
    refused("trace head @t.csv --json " + name, output);
    refused("trace convert @t.csv -o " + name, output);
    refused("trace import @t.csv -o " + name, output);
    refused("cache @t.csv --driver seq --block-tokens 4 --blocks 90 --csv " + name, output);
    refused("cache @t.csv --driver sched --block-tokens 4 --blocks 90 --csv - --step-csv " + name, output);
    for (const char* flag : {"--json ", "--html "}) {
      refused("compare @t.csv --vary 'seed=1;2' " + (flag + name), output);
      refused("compare @s.json --vary 'seed=1;2' " + (flag + name), output);
    }
    for (const char* flag : {"--json ", "--html ", "--requests ", "--timeline ", "--events ", "--report "}) {
      refused("run @t.csv " + (flag + name), output);
      refused("run @s.json " + (flag + name), output);
    }
  }
  refused("trace import @link.csv @t.csv -o @t.csv", "t.csv");
  refused("run @s.json --json @s.json", "s.json");
  refused("compare @s.json --vary 'seed=1;2' --json @s.json", "s.json");
  refused("convert @s.json @s.json", "s.json");
  refused("evict @a.kva --policy tova:budget=5 --prefill 8 --json @a.kva", "a.kva");
  refused(
      "evict @a.kva --policy tova:budget=5 --budget headkv:scores=@scores.json,capacity=9,window=4 --prefill "
      "8 "
      "--json @scores.json",
      "scores.json");
  refused("evict @a.kva --policy duo-attention:gates=@scores.json --prefill 8 --json @scores.json",
          "scores.json");
  refused(
      "budget --layers 1 --prompt 9 --policy headkv:scores=@scores.json,capacity=9,window=4 --json "
      "@scores.json",
      "scores.json");
  refused("frontier @a.kva --policies duo-attention:gates=@scores.json --budgets 4 --json @scores.json",
          "scores.json");
  refused("attention info @a.kva --json @a.kva", "a.kva");
  refused("attention convert @a.kva -o @a.kva", "a.kva");
  refused("run @t.csv --set workload.attention=@a.kva,@b.kva --set eviction=tova:budget=5 --json @b.kva",
          "b.kva");
  refused(
      "compare @t.csv --set eviction=tova:budget=5 --vary 'workload.attention=@a.kva;@b.kva' --json @b.kva",
      "b.kva");
}

/// A former error: outputs must not overwrite files that a value names, or files that an input names.
TEST_F(OverInputs, WhateverNamesTheInput) {
  const std::string why = "expected a different file: this one is the input and would be overwritten";
  const auto refused = [&](const std::string& arguments, const std::string& output) {
    const std::string before = read_file(at(output));
    listing_ = folder_.listing();
    expect_refused(arguments, output, why);
    EXPECT_EQ(read_file(at(output)), before) << arguments;
  };
  write_file(at("seeds"), "1\n2\n");
  const std::string seeds = at("seeds");
  const Outcome outcome =
      run_kvplan("compare '" + at("t.csv") + "' --vary seed=@" + seeds + " --json " + seeds);
  EXPECT_EQ(outcome.err, "kvplan: " + seeds + ": " + why + "\n");
  EXPECT_EQ(read_file(seeds), "1\n2\n");
  write_file(at("cases.csv"), "seed\n1\n");
  refused("sweep @t.csv --cases @cases.csv --out @db --shards 2 --sbatch @cases.csv", "cases.csv");
  const std::string sweep = "sweep @t.csv --vary 'seed=1;2' --out @db --shards 2 ";
  write_file(at("prices.json"), read_file(KVPLAN_SOURCE_DIR "/simulator/examples/prices.json"));
  refused(sweep + "--set deployment.device=a100-sxm-80 --prices @prices.json --sbatch @prices.json",
          "prices.json");
  write_file(at("m.json"), read_file(KVPLAN_SOURCE_DIR "/simulator/model/data/llama-2-7b.json"));
  refused("sweep @t.csv --vary 'model=llama-3-8b;@m.json' --out @db --shards 2 --sbatch @m.json", "m.json");
  refused("bytes --model @m.json --tokens 5 --json @m.json", "m.json");
  for (const char* name : {"A.json", "A.q.f32", "A.k.f32", "A.v.f32"})
    write_file(at(name), read_file(KVPLAN_SOURCE_DIR "/tests/golden/formats/inputs/" + std::string(name)));
  refused("format @A.json --format int8 --prefill 20 --json @A.k.f32", "A.k.f32");
}

/// A former error: a model that a server's command or an option names was overwritten; so were the values of --may.
TEST_F(OverInputs, TheModelOfAServerAndValuesOfAPlan) {
  const std::string why = "expected a different file: this one is the input and would be overwritten";
  const auto refused = [&](const std::string& arguments, const std::string& output) {
    const std::string before = read_file(at(output));
    listing_ = folder_.listing();
    expect_refused(arguments, output, why);
    EXPECT_EQ(read_file(at(output)), before) << arguments;
  };
  write_file(at("m.json"), read_file(KVPLAN_SOURCE_DIR "/simulator/model/data/llama-2-7b.json"));
  write_file(at("hf_quant_config.json"), "{}");
  write_file(at("seqs"), "1\n2\n");
  for (const char* flag : {"--json ", "-o "}) {
    refused("scenario from-command 'vllm serve @m.json' " + (flag + std::string("@m.json")), "m.json");
    refused("scenario from-command 'vllm serve x' --model @m.json " + (flag + std::string("@m.json")),
            "m.json");
    refused("scenario from-command 'vllm serve x' --model @m.json " +
                (flag + std::string("@hf_quant_config.json")),
            "hf_quant_config.json");
  }
  const std::string seqs = at("seqs");
  const Outcome outcome = run_kvplan(
      "plan '" + at("t.csv") + "' --set memory.pool_tokens=4000 --target ttft.p99\\<=9s --may max-seqs=@" +
      seqs + " --json " + seqs);
  EXPECT_EQ(outcome.err, "kvplan: " + seqs + ": " + why + "\n");
  EXPECT_EQ(read_file(seqs), "1\n2\n");
}

TEST_F(OverInputs, TheValidatorRefusesToo) {
  ASSERT_EQ(run_kvplan("run '" + at("t.csv") + "' --events '" + at("l.kve") + "'").exit_code, 0);
  const std::string log = read_file(at("l.kve"));
  const Outcome outcome = traces::testing::run_program(
      "kvplan-validate", "replay '" + at("l.kve") + "' --json '" + at("l.kve") + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "kvplan-validate: " + at("l.kve") +
                             ": expected a different file: this one is the input and would be overwritten\n");
  EXPECT_EQ(read_file(at("l.kve")), log);
}

TEST_F(OverInputs, OutputsAreApart) {
  const std::string why = "expected a different file for each output";
  expect_refused("run @t.csv --json @new --requests @new", "new", why);
  expect_refused("run @t.csv --timeline @new --html @./new", "./new", why);
  expect_refused("compare @t.csv --vary 'seed=1;2' --json @new --html @new", "new", why);
  expect_refused("cache @t.csv --driver sched --block-tokens 4 --blocks 90 --csv @new --step-csv @new", "new",
                 why);
}

TEST_F(OverInputs, DevicesAndOtherFilesAreWritten) {
  const std::string begin = "run '" + at("t.csv") + "' ";
  EXPECT_EQ(run_kvplan(begin + "--json /dev/null --requests /dev/null").exit_code, 0);
  EXPECT_EQ(run_kvplan(begin + "--json '" + at("new") + "'").exit_code, 0);
  EXPECT_EQ(run_kvplan(begin + "--json '" + at("new") + "'").exit_code, 0) << "an older result is replaced";
}

}  // namespace
}  // namespace kvplan::cli
