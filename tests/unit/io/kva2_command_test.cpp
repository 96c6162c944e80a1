// Commands on .kva files of version 2: their output, also for files that were cut off.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>

#include "tests/unit/io/kva2_samples.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using attention::LayerInfo;
using attention::Part;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

/// Three layers of four (layer 2 is missing), two sequences, rows and tensors, sinks and a window in layer 1.
FullSample sample_file() {
  FullSample sample;
  sample.info = everything(4);
  auto& layers = sample.info.recorded_layers;
  layers.erase(layers.begin() + 2);
  layers[1].window = 6;
  layers[1].soft_cap = 5;
  layers[1].sink_logits = {0.5, -1, 2, 0};
  layers[1].bias_slopes = {0.1, 0.2, 0, 0.05};
  sample.info.sequences = {{"first", 24, 10}, {"second", 20, 9}};
  Random random(12, "commands");
  fill_sample(sample, random);
  return sample;
}

void save(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class KvaTwoCommand : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = kva2_of(sample_file(), Codec::kPlanesZstd, 4);
    whole_ = folder_.file("whole.kva");
    save(whole_, bytes_);
    cut_ = folder_.file("cut.kva");
    save(cut_, bytes_.substr(0, bytes_.size() * 9 / 10));
  }
  TemporaryFolder folder_;
  std::string bytes_, whole_, cut_;
};

TEST_F(KvaTwoCommand, InfoSaysWhatIsThere) {
  const auto ran = run_kvplan("attention info " + whole_ + " --json -");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  dom::parser parser;
  const dom::element info = parser.parse(ran.out);
  EXPECT_EQ(std::int64_t(info["version"]), 2);
  EXPECT_TRUE(info["cut"].is_null());
  ASSERT_EQ(dom::array(info["layers"]).size(), 3U);
  const dom::element layer = info["layers"].at(1);
  EXPECT_EQ(std::int64_t(layer["window"]), 6);
  EXPECT_EQ(double(layer["soft_cap"]), 5);
  EXPECT_EQ(double(layer["sink_logits"].at(2)), 2);
  EXPECT_DOUBLE_EQ(double(layer["rotary"]["frequencies"].at(1)), 0.1);
  EXPECT_EQ(std::string_view(info["token_classes"].at(2)), "needle");
  EXPECT_EQ(std::string_view(info["parts"].at(2)["element"]), "bf16");
  EXPECT_TRUE(bool(info["sequences"].at(1)["complete"]));
  const auto text = run_kvplan("attention info " + whole_);
  EXPECT_NE(text.out.find(
                "layers     1: rows, queries, keys, values, value norms, layer inputs, output weights; 4 "
                "query heads on 2 KV heads; window 6; soft cap 5; sinks; position bias (ALiBi); rotated 4 "),
            std::string::npos)
      << text.out;
}

TEST_F(KvaTwoCommand, EveryCommandSaysThatAFileWasCut) {
  for (const std::string command :
       {"attention info @", "attention analyse @", "attention plot @",
        "attention read @ --reader quest --budgets 4", "evict @ --policy h2o:hh=2,recent=2 --prefill 9",
        "frontier @ --policies h2o --budgets 5", "format @ --format full --prefill 9"}) {
    std::string with = command;
    const auto ran = run_kvplan(with.replace(with.find('@'), 1, cut_));
    EXPECT_EQ(ran.exit_code, 0) << command << ran.err;
    const std::string line = "kvplan: warning: " + cut_ + ": the file was truncated at byte ";
    EXPECT_EQ(ran.err.find(line), 0U) << command << ": " << ran.err;
    EXPECT_NE(ran.err.find(" or is unfinished: of sequence 1 "), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    std::string other = command;
    EXPECT_EQ(run_kvplan(other.replace(other.find('@'), 1, whole_)).err, "");
  }
  const auto info = run_kvplan("attention info " + cut_ + " --json -");
  dom::parser parser;
  const dom::element found = parser.parse(info.out);
  EXPECT_TRUE(found["cut"].is_string());
  EXPECT_TRUE(bool(found["sequences"].at(0)["complete"]));
  EXPECT_FALSE(bool(found["sequences"].at(1)["complete"]));
}

/// A run needs all layers. A sweep opens recordings once for all of its cases, and warns once.
TEST_F(KvaTwoCommand, RunsOfAFileThatWasCutSaySo) {
  FullSample sample;
  sample.info = everything(2);
  for (LayerInfo& layer : sample.info.recorded_layers) layer.value_size = layer.key_size;
  sample.info.sequences = {{"first", 24, 10}, {"second", 20, 9}};
  Random random(13, "runs");
  fill_sample(sample, random);
  const std::string bytes = kva2_of(sample, Codec::kPlanesZstd, 4);
  save(cut_, bytes.substr(0, bytes.size() * 9 / 10));
  const std::string trace = folder_.file("trace.csv");
  save(trace, "arrival_ns,input_tokens,output_tokens\n0,6,4\n");
  const std::string scenario =
      trace + " --set workload.attention=" + cut_ + " --set model=recording --set eviction=tova:budget=4 ";
  for (const std::string& command :
       {"run " + scenario + "--set memory.pool_tokens=200 --json -",
        "compare " + scenario + "--vary 'memory.pool_tokens=200;300' --json -",
        "sweep " + scenario + "--vary 'memory.pool_tokens=200;300' --threads 2 --out " +
            folder_.file("s.db")}) {
    const auto ran = run_kvplan(command);
    EXPECT_EQ(ran.exit_code, 0) << command << ran.err;
    const std::size_t at = ran.err.find(cut_ + ": the file was truncated at byte ");
    EXPECT_NE(at, std::string::npos) << command << ": " << ran.err;
    EXPECT_EQ(ran.err.find("the file was truncated", at + cut_.size() + 5), std::string::npos) << ran.err;
  }
}

TEST_F(KvaTwoCommand, AMissingLayerIsOneLineThatSaysWhichExist) {
  for (const std::string& command : {"evict " + whole_ + " --policy h2o:hh=2,recent=2 --prefill 9 --layer 2",
                                     "format " + whole_ + " --format full --prefill 9 --layer 2",
                                     "attention analyse " + whole_ + " --layer 2"}) {
    const auto ran = run_kvplan(command);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find("layer 2 of sequence 0 was not recorded; recorded layers: 0, 1, 3"),
              std::string::npos)
        << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

/// An assumption about any layer is stated once, for all layers together.
TEST_F(KvaTwoCommand, AllLayersSayWhichHeadsAreMissing) {
  FullSample sample;
  sample.info = everything(2);
  LayerInfo& second = sample.info.recorded_layers[1];
  second.recorded_kv_heads = {1};
  second.kv_heads = 1;
  second.query_heads = second.group;
  sample.info.sequences = {{"first", 24, 10}};
  Random random(17, "missing heads");
  fill_sample(sample, random);
  const std::string path = folder_.file("heads.kva");
  save(path, kva2_of(sample, Codec::kPlanesZstd, 4));
  const std::string note = "In layer " + std::to_string(second.layer) + ", only KV heads 1 were recorded";
  const std::string command = "evict " + path + " --policy h2o:hh=3,recent=3 --prefill 10 --all-layers";
  const auto text = run_kvplan(command);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const std::size_t at = text.out.find("Note: " + note);
  ASSERT_NE(at, std::string::npos) << text.out;
  EXPECT_EQ(text.out.find(note, at + note.size()), std::string::npos);
  dom::parser parser;
  const dom::element found = parser.parse(run_kvplan(command + " --json -").out);
  std::int64_t notes = 0;
  for (const dom::element assumption : dom::array(found["summary"]["assumptions"]))
    notes += std::string_view(assumption).starts_with(note) ? 1 : 0;
  EXPECT_EQ(notes, 1);
}

TEST_F(KvaTwoCommand, NeedlesAndErrorsAreKeys) {
  const auto ran =
      run_kvplan("evict " + whole_ + " --policy h2o:hh=3,recent=3 --prefill 10 --all-layers --json -");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  dom::parser parser;
  const dom::element found = parser.parse(ran.out);
  ASSERT_EQ(dom::array(found["layers"]).size(), 3U);
  EXPECT_EQ(std::int64_t(found["layers"].at(2)["layer"]), 3);
  const dom::element summary = found["layers"].at(1)["summary"];
  EXPECT_GT(double(summary["needle_recall"]), 0);
  EXPECT_EQ(double(summary["retained_by_class"]["needle"]), double(summary["needle_recall"]));
  EXPECT_GT(double(summary["output_error"]["mean"]), 0);

  const std::string command = "frontier " + whole_ + " --policies 'h2o;full' --budgets 6 --json - --threads ";
  const auto one = run_kvplan(command + "1");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(run_kvplan(command + "4").out, one.out);
  dom::parser second;
  const dom::element point = second.parse(one.out)["points"].at(0);
  EXPECT_GT(double(point["needle_recall"]), 0);
  EXPECT_LT(double(point["needle_recall"]), 1);
  EXPECT_GT(double(point["mass_standard_error"]), 0);
  EXPECT_GT(double(point["output_error_mean"]), 0);
}

}  // namespace
}  // namespace kvplan::io
