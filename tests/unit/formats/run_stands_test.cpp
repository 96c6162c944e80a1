// Whether runs support each format: it runs the bundled sample and stores the bytes that `kvplan bytes` counts, or it
// is refused for a reason that simulator/formats/README.md has, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/formats/formats.h"
#include "simulator/model/kv_format.h"
#include "tests/unit/formats/stored_at_last.h"
#include "tests/unit/traces/support.h"

namespace kvplan::formats::test {
namespace {

using kvplan::test::stored_at_last;
using traces::testing::Outcome;
using traces::testing::run_kvplan;

const std::string kLlama = "llama-3-8b";
const std::string kLatent = "deepseek-v3";

/// A format as a scenario may name it, and where it applies.
struct Stand {
  std::string text;              ///< with the parameters that it needs
  std::string model{kLlama};     ///< a model that it supports
  std::string not_for{kLatent};  ///< a model, or other parameters, that it does not serve; empty: none
  std::string why{"a codec needs keys and values by head, and the model stores a latent vector"};
};

const std::map<std::string, Stand>& stands() {
  static const auto kStands = [] {
    std::map<std::string, Stand> out{
        {"fp8_ds_mla", {"fp8_ds_mla", kLatent, kLlama, "expected a model with a latent vector of 512"}},
        {"smaller-model", {.text = "smaller-model:model_layers=16"}}};
    for (const char* name : {"bf16", "fp16", "fp32", "fp4", "fp8", "int4", "int8", "native"})
      out[name] = {.text = name, .not_for = {}, .why = {}};
    for (const char* name :
         {"cam",   "cla",    "eigen",   "full",         "gear",   "int-channel", "int-tensor", "int-token",
          "kivi",  "kmeans", "kvquant", "layered",      "lorc",   "merge",       "minicache",  "mixed",
          "mxfp4", "nvfp4",  "palu",    "pyramid-int8", "sparse", "svd"})
      out[name] = {.text = name};
    return out;
  }();
  return kStands;
}

/// Parameters with which bytes do not follow from lengths, or nothing is stored.
const std::map<std::string, std::string> kRefused{
    {"minicache:keep=far", "angles decide which tokens are merged"},
    {"svd:energy=0.9", "singular values decide the rank"},
    {"minicache:keep=near", "angles decide which tokens are merged"},
    {"sparse:density=0", "expected a format that stores something for each token"},
    {"kivi:group=48,residual=96", "expected a divisor of the 128 channels"},
    {"palu:group=3", "a divisor of the 8 KV heads"},
    {"smaller-model:model_layers=33", "at most the 32 layers of this model"},
    {"smaller-model:model_layers=2,layer=5,layers=6",
     "expected a format that stores something for each token"}};

const std::string kShortSteps = " --set latency=affine:base_ns=1000,token_ns=1,context_ns=0";

/// Checks for one error line with this text, and no other output.
void expect_refused(const Outcome& found, const std::string& why) {
  EXPECT_EQ(found.exit_code, 2);
  EXPECT_EQ(found.out, "");
  EXPECT_EQ(std::count(found.err.begin(), found.err.end(), '\n'), 1) << found.err;
  EXPECT_NE(found.err.find(why), std::string::npos) << found.err;
}

Outcome run_sample(const std::string& format, const std::string& model) {
  return run_kvplan("run " + std::string(KVPLAN_SOURCE_DIR) +
                    "/traces/samples/chat.kvt --json - --set workload.limit=4 "
                    "--set memory.pool_tokens=20000 --set model=" +
                    model + " --set format=" + format + kShortSteps);
}

TEST(FormatStands, EveryFormatOfTheCatalogueHasOne) {
  std::set<std::string> names;
  for (const Descriptor* format : model::format_descriptors()) names.emplace(format->name);
  for (const Descriptor* codec : format_descriptors()) names.emplace(codec->name);
  for (const std::string& name : names)
    EXPECT_TRUE(stands().contains(name)) << name << " takes no stand: does it run, or why not?";
  EXPECT_EQ(names.size(), stands().size());
}

TEST(FormatStands, EachServesTheSampleOrSaysWhyNot) {
  for (const auto& [name, stand] : stands()) {
    SCOPED_TRACE(name);
    const Outcome served = run_sample(stand.text, stand.model);
    EXPECT_EQ(served.exit_code, 0) << served.err;
    EXPECT_NE(served.out.find("\"completed\": 4,"), std::string::npos) << served.out;
    if (!stand.not_for.empty()) expect_refused(run_sample(stand.text, stand.not_for), stand.why);
  }
  for (const auto& [text, why] : kRefused) {
    SCOPED_TRACE(text);
    expect_refused(run_sample(text, kLlama), why);
  }
}

/// One request of 700 tokens and 40 more: what it stores at last in a run is what lengths say of 738.
TEST(FormatStands, EachStoresWhatBytesCounts) {
  const traces::testing::TemporaryFolder folder;
  const std::string timeline = folder.file("timeline.csv");
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,700,40\n");
  for (const auto& [name, stand] : stands()) {
    SCOPED_TRACE(name);
    const std::string model = "--set model=" + stand.model + " --set format=" + stand.text;
    const Outcome run = run_kvplan("run " + folder.file("t.csv") + " --set memory.pool_tokens=20000 " +
                                   model + kShortSteps + " --timeline " + timeline);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Outcome bytes = run_kvplan("bytes --tokens 738 --prompt 700 --json - --model " + stand.model +
                                     " --format " + stand.text);
    ASSERT_EQ(bytes.exit_code, 0) << bytes.err;
    const std::string stored = std::to_string(stored_at_last(kvplan::test::read_file(timeline)));
    EXPECT_NE(bytes.out.find("\"total_bytes\": " + stored + ","), std::string::npos)
        << stored << " in a run; " << bytes.out;
  }
}

/// Layers with a window of 1024 in one format, the others in another, with a policy: runs and bytes count the same.
TEST(FormatStands, WindowsApartStoreWhatBytesCounts) {
  const traces::testing::TemporaryFolder folder;
  const std::string timeline = folder.file("timeline.csv");
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,1500,40\n");
  struct Case {
    std::string format, windows, policy;
  };
  for (const Case& c :
       {Case{"layered:factor_v=true", "fp16", ""}, Case{"kivi", "int8", ""},
        Case{"fp8", "kivi", "tova:budget=700"}, Case{"mixed", "bf16", "window:window=600"},
        Case{"native", "int-tensor", ""}, Case{"svd", "mixed", "streaming-llm:sink=4,recent=500"}}) {
    SCOPED_TRACE(c.format + " " + c.windows + " " + c.policy);
    const Outcome run =
        run_kvplan("run " + folder.file("t.csv") +
                   " --set memory.pool_tokens=20000 --set model=gemma-3-27b --set format=" + c.format +
                   " --set window_format=" + c.windows + kShortSteps + " --timeline " + timeline +
                   (c.policy.empty() ? "" : " --set eviction=" + c.policy + ",placement=compact"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Outcome bytes =
        run_kvplan("bytes --tokens 1538 --prompt 1500 --json - --model gemma-3-27b --format " + c.format +
                   " --window-format " + c.windows + (c.policy.empty() ? "" : " --policy " + c.policy));
    ASSERT_EQ(bytes.exit_code, 0) << bytes.err;
    const std::string stored = std::to_string(stored_at_last(kvplan::test::read_file(timeline)));
    EXPECT_NE(bytes.out.find("\"total_bytes\": " + stored + ","), std::string::npos)
        << stored << " in a run; " << bytes.out;
  }
}

/// gemma-3-27b: 52 of 62 layers see 1024 tokens. In fp16 each of their tokens takes 16 heads x 2 x 128 x 2 bytes, in
/// int8 of the others half of that.
TEST(FormatStands, WindowsApartByHand) {
  const auto of = [](const std::string& more) {
    return run_kvplan("bytes --tokens 5000 --json - --model gemma-3-27b " + more);
  };
  constexpr std::int64_t kToken = 16 * 2 * 128 * 2;
  const auto total = [](std::int64_t bytes) { return "\"total_bytes\": " + std::to_string(bytes) + ","; };
  EXPECT_NE(of("--format full --window-format fp16").out.find(total(52 * 1024 * kToken + 10 * 5000 * kToken)),
            std::string::npos);
  const Outcome found = of("--format int8:scale_bytes=0 --window-format native --policy window:window=300");
  EXPECT_NE(found.out.find(total(52 * 1024 * kToken + 10 * 300 * kToken / 2)), std::string::npos)
      << found.out;
  EXPECT_NE(found.out.find("\"window_format\": \"native\""), std::string::npos);
  expect_refused(run_kvplan("bytes --tokens 9 --model llama-3-8b --window-format fp16"),
                 "--window-format: expected a model with sliding-window layers");
  expect_refused(of("--window-format minicache"), "--window-format: minicache stores several layers jointly");
  expect_refused(of("--window-format kvquant --prompt 4000"),
                 "the model's sliding window of 1024 tokens drops older tokens");
}

}  // namespace
}  // namespace kvplan::formats::test
