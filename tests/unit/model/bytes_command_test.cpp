// `kvplan bytes`, and models by path in runs.
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

const std::string kConfig =
    R"({"num_hidden_layers":4,"hidden_size":64,"num_attention_heads":8,"num_key_value_heads":2,)"
    R"("intermediate_size":128,"vocab_size":1000,"sliding_window":32})";

/// Runs `kvplan bytes` and hands its JSON to `look`.
template <class Look>
void with_json(const std::string& arguments, Look look) {
  const Outcome outcome = run_kvplan("bytes " + arguments + " --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  dom::parser parser;
  dom::element root;
  ASSERT_EQ(parser.parse(outcome.out).get(root), simdjson::SUCCESS);
  look(root);
}

std::int64_t number(dom::element root, const char* pointer) {
  std::int64_t out = -1;
  EXPECT_EQ(root.at_pointer(pointer).get_int64().get(out), simdjson::SUCCESS) << pointer;
  return out;
}

std::int64_t sum(dom::element root, const char* key, std::size_t expected) {
  std::int64_t out = 0;
  std::size_t count = 0;
  dom::array values;
  EXPECT_EQ(root[key].get_array().get(values), simdjson::SUCCESS);
  for (const dom::element value : values) {
    out += value.get_int64().value_unsafe();
    ++count;
  }
  EXPECT_EQ(count, expected);
  return out;
}

TEST(CliBytes, TheKeysOfTheResult) {
  with_json("--model gemma-3-27b --tokens 5000", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 81920 + 425984);
    EXPECT_EQ(number(root, "/total_bytes"), 81920 * 5000 + 425984 * 1024);
    EXPECT_EQ(number(root, "/metadata_bytes"), 0);
    EXPECT_EQ(sum(root, "per_layer", 62), number(root, "/total_bytes"));
    EXPECT_EQ(number(root, "/cluster/total_bytes"), number(root, "/total_bytes"));
  });
  with_json("--model llama-3-70b --tp 16 --tokens 100 --format fp4", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 40960 / 2 * 5625 / 10000);
    EXPECT_EQ(number(root, "/metadata_bytes"), 100 * 80 * 256 / 16);
    EXPECT_EQ(number(root, "/cluster/total_bytes"), 16 * number(root, "/total_bytes"));
    EXPECT_EQ(2 * number(root, "/cluster/replicated_bytes"), number(root, "/cluster/total_bytes"));
  });
  with_json("--model deepseek-v3 --pp 4 --tokens 10", [](dom::element root) {
    EXPECT_EQ(sum(root, "per_layer", 16), number(root, "/total_bytes")) << "the fullest stage";
    EXPECT_EQ(number(root, "/stages/2/layers"), 16);
    EXPECT_EQ(number(root, "/bytes_per_token_by_heads"), 4997120);
  });
  with_json("--model mistral-7b --tokens 9000 --policy streaming-llm:sink=4,recent=1020",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 131072 * 1024); });
  with_json("--model mistral-7b --tokens 9000 --policy window:window=6000",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 131072 * 4096); });
}

TEST(CliBytes, BudgetsOfPolicies) {
  // H2O: 20 tokens of each of 8 heads in 32 layers, with an accumulator of 4 bytes; with reuse 4 more for the map.
  with_json("--model llama-3-8b --tokens 1000 --policy h2o:hh=15,recent=5", [](dom::element root) {
    EXPECT_EQ(number(root, "/total_bytes"), 20 * 32 * 8 * (2 * 128 * 2 + 4));
    EXPECT_EQ(number(root, "/metadata_bytes"), 20 * 32 * 8 * 4);
  });
  with_json("--model llama-3-8b --tokens 1000 --policy h2o:hh=15,recent=5,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 20 * 32 * 8 * 8); });
  with_json("--model llama-3-8b --tokens 7 --policy h2o:hh=15,recent=5 --format int4 --tp 16",
            [](dom::element root) {
              EXPECT_EQ(number(root, "/total_bytes"), 7 * 32 * (128 + 2 * 4 * 4 + 4))
                  << "fewer tokens than the budget";
            });
  // TOVA: one set for a layer's heads, and with reuse one map.
  with_json("--model deepseek-v3 --tokens 1000 --policy tova:budget=100,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/total_bytes"), 100 * 61 * (576 * 2 + 4)); });
  with_json("--model llama-3-8b --tokens 1000 --policy tova:budget=100,placement=reuse",
            [](dom::element root) { EXPECT_EQ(number(root, "/metadata_bytes"), 100 * 32 * 4); });
}

TEST(CliBytes, TextSaysWhatEachGroupTakes) {
  const Outcome outcome = run_kvplan("bytes --model gemma-3-27b --tokens 5000");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"52 layers, 16 heads of 128 + 128, window 1,024", "436,207,616 (416 MiB)", "845,807,616 (807 MiB)"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST(CliBytes, AFileIsAModel) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  with_json("--model " + folder.file("config.json") + " --tokens 100", [](dom::element root) {
    EXPECT_EQ(number(root, "/bytes_per_token"), 4 * 2 * 2 * 8 * 2);
    EXPECT_EQ(number(root, "/total_bytes"), 4 * 2 * 2 * 8 * 2 * 32);
  });
}

TEST(CliBytes, ErrorsAreOneLine) {
  const auto error = [](const std::string& arguments) {
    const Outcome outcome = run_kvplan("bytes " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(error("--model llama-3-8 --tokens 1").substr(0, 69),
            "kvplan: --model: unknown model \"llama-3-8\"; did you mean \"llama-3-8b\"");
  EXPECT_EQ(error("--model nowhere.json --tokens 1"),
            "kvplan: nowhere.json: cannot open: No such file or directory\n");
  EXPECT_NE(error("--model llama-3-8b --format fp5 --tokens 1").find("--format: fp5: unknown format \"fp5\""),
            std::string::npos);
  EXPECT_EQ(error("--model llama-3-8b --format fp8_ds_mla --tokens 1"),
            "kvplan: fp8_ds_mla: expected a model with a latent vector of 512 and 64 rotary elements\n");
  EXPECT_NE(error("--model llama-3-8b").find("--tokens is required"), std::string::npos);
}

TEST(ModelByPath, RunsCountFromTheScenariosFolder) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  write_file(folder.file("bare"), kConfig);
  const std::string trace = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/chat.kvt";
  const auto run = [&](const std::string& model) {
    write_file(folder.file("s.json"), R"({"model": ")" + model + R"(", "workload": {"trace": ")" + trace +
                                          R"(", "limit": 20}, "memory": {"pool_tokens": 100000}})");
    return run_kvplan("run " + folder.file("s.json") + " --json -");
  };
  for (const char* model : {"config.json", "./config.json", "./bare"}) {
    const Outcome outcome = run(model);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    dom::parser parser;
    dom::element root;
    ASSERT_EQ(parser.parse(outcome.out).get(root), simdjson::SUCCESS);
    EXPECT_EQ(number(root, "/memory/capacity_bytes"), 256 * 100000) << "windows do not cut what a run holds";
    EXPECT_NE(outcome.out.find("4 of the model's 4 layers see only a window"), std::string::npos);
    EXPECT_NE(outcome.out.find(": 4 layers, 256 bytes a token."), std::string::npos);
  }
  const Outcome missing = run("nowhere.json");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err,
            "kvplan: " + folder.file("nowhere.json") + ": cannot open: No such file or directory\n");
  // A scenario that is written elsewhere names the same file.
  EXPECT_EQ(run("./bare").exit_code, 0);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(run_kvplan("run s.json --json -").exit_code, 0);
  EXPECT_EQ(run_kvplan("convert s.json t.json").exit_code, 0);
  std::filesystem::current_path(here);
  EXPECT_NE(read_file(folder.file("t.json")).find("\"./bare\""), std::string::npos);
}

TEST(ModelByPath, StepTimesSayWhatTheyMiss) {
  const TemporaryFolder folder;
  const std::string file = folder.file("c.json");
  write_file(file, R"({"num_hidden_layers":4,"hidden_size":64,"num_attention_heads":8})");
  const std::string run = "run " + std::string(KVPLAN_SOURCE_DIR) +
                          "/traces/samples/chat.kvt --set workload.limit=20 --set model=" + file;
  const Outcome roofline = run_kvplan(run);
  EXPECT_EQ(roofline.exit_code, 2);
  EXPECT_EQ(roofline.err,
            "kvplan: model: the weights of " + file + " cannot be counted: vocab_size is not given\n");
  const std::string affine = " --set latency=affine:base_ns=1,token_ns=1,context_ns=1 --json ";
  EXPECT_EQ(run_kvplan(run + affine + "-").exit_code, 0);
  const std::string before = read_file(file);
  EXPECT_EQ(run_kvplan(run + affine + file).exit_code, 2) << "an output over the model";
  EXPECT_EQ(read_file(file), before);
}

}  // namespace
}  // namespace kvplan
