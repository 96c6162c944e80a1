// `kvplan scenario from-log`: the scenario that it writes has the pool that the log reports.
#include <gtest/gtest.h>

#include <simdjson.h>

#include <filesystem>

#include "tests/unit/traces/support.h"

namespace kvplan {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

namespace dom = simdjson::dom;

const std::string kGolden = KVPLAN_SOURCE_DIR "/tests/golden/startup/";
const std::string kTrace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";

std::int64_t number(dom::element root, const char* pointer) {
  std::int64_t out = -1;
  EXPECT_EQ(root.at_pointer(pointer).get_int64().get(out), simdjson::SUCCESS) << pointer;
  return out;
}

TEST(FromLog, TheScenarioRunsWithThePoolOfTheLog) {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("scenario.json");
  const Outcome made =
      run_kvplan("scenario from-log " + kGolden + "llama-3.1-8b-tp2.log --model llama-3-8b -o " + scenario);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("vllm-v1 0.19.0, meta-llama/Llama-3.1-8B-Instruct"), std::string::npos) << made.out;
  const Outcome run =
      run_kvplan("run " + scenario + " --set workload.trace=" + kTrace + " --set workload.limit=20 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  dom::parser parser;
  dom::element root;
  ASSERT_EQ(parser.parse(run.out).get(root), simdjson::SUCCESS);
  // 65,293 blocks of 16 tokens; a rank of two has 4 of 8 KV heads of 32 layers, 128 elements each, keys and values.
  constexpr std::int64_t kTokenBytes = 2 * 4 * 128 * 32 * 2;
  EXPECT_EQ(number(root, "/memory/capacity_bytes"), 65'293 * 16 * kTokenBytes);
  EXPECT_EQ(number(root, "/scenario/engine/max_seqs"), 1024);
  EXPECT_EQ(number(root, "/scenario/engine/max_model_len"), 8192);
}

/// Of every recorded start, where kvplan knows the model by its name: the scenario runs, with the blocks of the log.
TEST(FromLog, EveryRecordedStartRunsWithItsBlocks) {
  if (traces::testing::shared_traces().empty())
    GTEST_SKIP() << "needs the recorded start-ups beside the source tree";
  const auto logs =
      std::filesystem::path(traces::testing::shared_traces()).parent_path() / "golden/pool/logs";
  const TemporaryFolder folder;
  const std::string scenario = folder.file("scenario.json");
  int ran = 0, unknown = 0, failed = 0;
  for (const auto& file : std::filesystem::directory_iterator(logs)) {
    SCOPED_TRACE(file.path().filename().string());
    const Outcome made =
        run_kvplan("scenario from-log " + file.path().string() + " --device h100-sxm --json -");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    dom::parser parser;
    dom::element root;
    ASSERT_EQ(parser.parse(made.out).get(root), simdjson::SUCCESS);
    if (root["pool_blocks"].is_null()) {
      ++failed;
      continue;
    }
    const std::int64_t blocks = number(root, "/pool_blocks");
    const Outcome written =
        run_kvplan("scenario from-log " + file.path().string() + " --device h100-sxm -o " + scenario);
    ASSERT_EQ(written.exit_code, 0) << written.err;
    if (written.out.find("is not bundled") != std::string::npos) {
      ++unknown;
      continue;
    }
    const Outcome run = run_kvplan("run " + scenario + " --set workload.trace=" + kTrace +
                                   " --set workload.limit=2 --json -");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(parser.parse(run.out).get(root), simdjson::SUCCESS);
    EXPECT_EQ(number(root, "/scenario/memory/pool_blocks"), blocks);
    EXPECT_EQ(number(root, "/requests/arrived"), 2);
    // The bytes of a block: those of its tokens on a rank of the deciding stage, where layers are alike.
    if (root["memory"]["layer_groups"].get_array().value_unsafe().size() == 0) {
      EXPECT_EQ(number(root, "/memory/capacity_bytes"),
                blocks * 16 * number(root, "/deployment/token_bytes"));
    }
    ++ran;
  }
  EXPECT_GE(ran, 25);
  EXPECT_EQ(ran + unknown, 38);
  EXPECT_EQ(failed, 3);
}

/// A terminal could take a control character of a log as a command.
TEST(FromLog, ControlCharactersOfALogAreNotPrinted) {
  const TemporaryFolder folder;
  std::string log = read_file(kGolden + "gpt-oss-20b-failed.log");
  const std::string model = "openai/gpt-oss-20b";
  for (std::size_t at = 0; (at = log.find(model, at)) != std::string::npos;)
    log.replace(at, model.size(), "openai/gpt\x1b[31m-oss");
  for (std::size_t at = 0; (at = log.find("Error: ", at)) != std::string::npos; at += 7)
    log.replace(at, 7, "Error:\x1b");
  write_file(folder.file("x.log"), log);
  const Outcome outcome = run_kvplan("scenario from-log " + folder.file("x.log"));
  EXPECT_NE(outcome.out.find("\\x1B"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << outcome.out;
}

/// A server started with --dtype float32 has elements of four bytes in its cache and its weights.
TEST(FromLog, TheCacheHasTheServersElements) {
  const TemporaryFolder folder;
  std::string text = read_file(kGolden + "llama-3.1-8b-tp2.log");
  for (std::size_t at = 0; (at = text.find("dtype=torch.bfloat16", at)) != std::string::npos; ++at)
    text.replace(at, 20, "dtype=torch.float32");
  write_file(folder.file("server.log"), text);
  const std::string scenario = folder.file("scenario.json");
  const Outcome made = run_kvplan("scenario from-log " + folder.file("server.log") +
                                  " --model llama-3-8b --device h100-sxm -o " + scenario);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string written = read_file(scenario);
  EXPECT_NE(written.find("\"format\": \"fp32\""), std::string::npos) << written;
  EXPECT_NE(written.find("\"weight_bits\": 32"), std::string::npos) << written;
  const Outcome run =
      run_kvplan("run " + scenario + " --set workload.trace=" + kTrace + " --set workload.limit=20 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  dom::parser parser;
  dom::element root;
  ASSERT_EQ(parser.parse(run.out).get(root), simdjson::SUCCESS);
  EXPECT_EQ(number(root, "/memory/capacity_bytes"), std::int64_t{65'293} * 16 * 2 * 4 * 128 * 32 * 4);
}

/// A server that started with a longer request than its model's was told that it may.
TEST(FromLog, AServerThatStartedMayHaveAnyLength) {
  const TemporaryFolder folder;
  std::string text = read_file(kGolden + "llama-3.1-8b-tp2.log");
  for (const auto& [key, longer] : {std::pair{"max_seq_len=8192", "max_seq_len=819200"},
                                    std::pair{"'max_model_len': 8192", "'max_model_len': 819200"},
                                    std::pair{"for 8,192 tokens", "for 819,200 tokens"}})
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; ++at)
      text.replace(at, std::string_view(key).size(), longer);
  write_file(folder.file("server.log"), text);
  const std::string scenario = folder.file("scenario.json");
  const Outcome made = run_kvplan("scenario from-log " + folder.file("server.log") +
                                  " --model llama-3-8b --device h100-sxm -o " + scenario);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(read_file(scenario).find("max_model_len=819200,allow_long_max_model_len=true"), std::string::npos)
      << read_file(scenario);
}

TEST(FromLog, LoggedBesidePredicted) {
  const Outcome outcome = run_kvplan("scenario from-log " + kGolden +
                                     "llama-3.1-8b-tp2.log --model llama-3-8b --device h100-sxm --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  dom::parser parser;
  dom::element root;
  ASSERT_EQ(parser.parse(outcome.out).get(root), simdjson::SUCCESS);
  EXPECT_EQ(number(root, "/pool_tokens"), 1'044'688);
  EXPECT_EQ(number(root, "/pool_blocks"), 65'293);
  EXPECT_EQ(number(root, "/tensor_parallel"), 2);
  int both = 0;
  dom::array terms;
  ASSERT_EQ(root["terms"].get_array().get(terms), simdjson::SUCCESS);
  for (const dom::element term : terms)
    both += !term["logged"].is_null() && !term["predicted"].is_null() ? 1 : 0;
  EXPECT_EQ(both, 7);
}

TEST(FromLog, WhatIsMissingIsNamed) {
  const Outcome unknown = run_kvplan("scenario from-log " + kGolden + "gemma-3-12b.log");
  EXPECT_EQ(unknown.exit_code, 0) << unknown.err;
  EXPECT_NE(unknown.out.find("\"google/gemma-3-12b-it\" is not bundled; give its config.json with --model"),
            std::string::npos)
      << unknown.out;
  EXPECT_NE(unknown.out.find("give it with --device"), std::string::npos) << unknown.out;
  const Outcome failed = run_kvplan("scenario from-log " + kGolden + "gpt-oss-20b-failed.log");
  EXPECT_EQ(failed.exit_code, 0) << failed.err;
  EXPECT_NE(failed.out.find("The server did not start"), std::string::npos) << failed.out;
}

TEST(FromLog, NoLogAndNoModel) {
  const Outcome trace = run_kvplan("scenario from-log " + kTrace);
  EXPECT_EQ(trace.exit_code, 2);
  EXPECT_NE(trace.err.find("expected the start-up log of vLLM"), std::string::npos) << trace.err;
  const Outcome model = run_kvplan("scenario from-log " + kGolden + "gemma-3-12b.log --model no-such-model");
  EXPECT_EQ(model.exit_code, 2);
  const TemporaryFolder folder;
  const std::string copy = folder.file("server.log");
  write_file(copy, read_file(kGolden + "gemma-3-12b.log"));
  const Outcome over = run_kvplan("scenario from-log " + copy + " -o " + copy);
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_EQ(read_file(copy), read_file(kGolden + "gemma-3-12b.log"));
}

}  // namespace
}  // namespace kvplan
