// Every format takes a stand about runs: it serves the bundled sample and stores what `kvplan bytes` counts, or it is
// refused for a reason that simulator/formats/README.md has, too.
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

/// What a scenario can say of a format.
struct Stand {
  std::string text;              ///< with parameters that it needs
  std::string model{kLlama};     ///< that it serves
  std::string not_for{kLatent};  ///< a model, or other parameters, that it does not serve; empty: none
  std::string why{"expected a model that stores keys and values by head; this one stores a latent vector"};
};

const std::map<std::string, Stand>& stands() {
  static const auto kStands = [] {
    std::map<std::string, Stand> out{
        {"fp8_ds_mla", {"fp8_ds_mla", kLatent, kLlama, "expected a model with a latent vector of 512"}},
        {"smaller-model", {.text = "smaller-model:model_layers=16"}}};
    for (const char* name : {"bf16", "fp16", "fp4", "fp8", "int4", "int8", "native"})
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
    {"minicache:keep=near", "angles decide which tokens are merged"},
    {"sparse:density=0", "expected a format that stores something of each token"},
    {"kivi:group=48,residual=96", "expected a divisor of the 128 channels"},
    {"palu:group=3", "a divisor of the 8 KV heads"},
    {"smaller-model:model_layers=33", "at most the 32 layers of this model"},
    {"smaller-model:model_layers=2,layer=5,layers=6",
     "expected a format that stores something of each token"}};

const std::string kShortSteps = " --set latency=affine:base_ns=1000,token_ns=1,context_ns=0";

/// One line with this in it, and nothing else.
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

}  // namespace
}  // namespace kvplan::formats::test
