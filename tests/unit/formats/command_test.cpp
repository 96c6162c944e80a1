// kvplan format: inputs of both kinds, eviction, and what is refused, in one line that names the field.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/unit/io/kva_samples.h"
#include "tests/unit/traces/support.h"

namespace kvplan::formats {
namespace {

namespace dom = simdjson::dom;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const std::string kInputs = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/inputs/";

/// A small layer as a JSON with raw files: 4 query heads on 2, 8 channels, 12 tokens.
class Files {
 public:
  explicit Files(const TemporaryFolder& folder) : folder_(folder) {
    auto sample = io::tensor_sample(3, 12, attention::Element::kF16);
    for (auto& head : sample.values) head.resize(12 * 8, 0.5F);  // the same number of channels as keys
    sample.info.value_size = 8;
    queries = sample.queries;
    keys = sample.keys;
    values = sample.values;
    kva = io::kva_of(sample, io::Codec::kZstd);
  }
  /// Writes all files; returns the path of the JSON.
  std::string write(const std::string& more = "") const {
    tensor("q", queries);
    tensor("k", keys);
    tensor("v", values);
    write_file(folder_.file("x.kva"), kva);
    write_file(folder_.file("x.json"),
               R"({"query_heads":4,"kv_heads":2,"head_dim":8,"T":12,"files":{"Q":"q","K":"k","V":"v"})" +
                   more + "}");
    return folder_.file("x.json");
  }

  std::vector<std::vector<float>> queries, keys, values;
  std::string kva;

 private:
  void tensor(const std::string& name, const std::vector<std::vector<float>>& heads) const {
    std::string bytes;
    for (const auto& head : heads) bytes.append(reinterpret_cast<const char*>(head.data()), head.size() * 4);
    write_file(folder_.file(name), bytes);
  }
  const TemporaryFolder& folder_;
};

/// A pyramid's budget, H2O's scores, INT8: each layer keeps what `kvplan evict` keeps of it with that budget.
TEST(FormatCommand, ABudgetOfAllLayersComesFirst) {
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva";
  const std::string budget = " --prefill 60 --budget pyramidkv:capacity=24,window=8,beta=6 --json - --layer ";
  const std::string policy = "h2o:hh=20,recent=8";
  dom::parser kept_by;
  dom::parser stored_by;
  std::size_t first = 0, last = 0;
  for (const std::string layer : {"0", "2", "5"}) {
    SCOPED_TRACE("layer " + layer);
    const auto evict = run_kvplan("evict " + sample + " --policy " + policy + budget + layer);
    const auto format =
        run_kvplan("format " + sample + " --format int-token --evict " + policy + budget + layer);
    ASSERT_EQ(evict.exit_code, 0) << evict.err;
    ASSERT_EQ(format.exit_code, 0) << format.err;
    const dom::element kept = kept_by.parse(evict.out)["after_prefill"];
    const dom::element retained = stored_by.parse(format.out)["after_prefill"]["retained"];
    EXPECT_EQ(simdjson::minify(kept), simdjson::minify(retained));
    last = dom::array(dom::array(retained).at(0)).size();
    if (layer == "0") first = last;
  }
  EXPECT_GT(first, last) << "the pyramid is wider below";
  const auto alone = run_kvplan("format " + sample + " --format int-token" + budget + "0");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err,
            "kvplan: --budget: expected a policy with a parameter for its number of tokens (--evict)\n");
}

/// kvplan evict --format gives the results of kvplan evict and kvplan format --evict for the same tokens, in one.
TEST(FormatCommand, EvictStoresWhatStaysInAFormat) {
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva --prefill 60 ";
  const std::string policy = "h2o:hh=20,recent=8";
  const std::string budget = " --budget pyramidkv:capacity=24,window=8,beta=6";
  dom::parser a, b, c;
  const auto parsed = [](dom::parser& parser, const std::string& command) -> dom::element {
    const auto ran = run_kvplan(command + " --json -");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return parser.parse(ran.out);
  };
  const std::string evict = "evict " + sample + "--policy " + policy + budget;
  for (const std::string layer : {" --layer 0", " --layer 3"}) {
    SCOPED_TRACE(layer);
    const dom::element kept = parsed(a, evict + layer);
    const dom::element both = parsed(b, evict + layer + " --format kivi:group=8,residual=8");
    const dom::element format =
        parsed(c, "format " + sample + "--format kivi:group=8,residual=8 --evict " + policy + budget + layer);
    for (const char* key : {"policy", "params", "after_prefill", "steps", "summary"})
      EXPECT_EQ(simdjson::minify(both[key]), simdjson::minify(kept[key])) << key;
    EXPECT_EQ(kept["format"].error(), simdjson::NO_SUCH_FIELD);
    for (const char* key : {"format", "params", "class", "byte_columns", "steps", "summary"})
      EXPECT_EQ(simdjson::minify(both["format"][key]), simdjson::minify(format[key])) << key;
    EXPECT_EQ(simdjson::minify(both["format"]["after_prefill"]["bytes"]),
              simdjson::minify(format["after_prefill"]["bytes"]));
  }

  // All layers: bytes add up, and for errors the mean and the largest are printed.
  const dom::element all = parsed(a, evict + " --format kivi:group=8,residual=8");
  std::int64_t bytes = 0, peak = 0, layers = 0;
  double error = 0, most = 0;
  for (const dom::element layer : dom::array(all["layers"])) {
    const dom::element stored = layer["format"]["summary"];
    bytes += std::int64_t(stored["final_bytes"]);
    peak += std::int64_t(stored["peak_bytes"]);
    error += double(stored["mean_output_error"]);
    most = std::max(most, double(stored["max_output_error"]));
    ++layers;
  }
  EXPECT_EQ(layers, 6);
  EXPECT_EQ(std::int64_t(all["summary"]["stored_bytes"]), bytes);
  EXPECT_EQ(std::int64_t(all["summary"]["peak_stored_bytes"]), peak);
  EXPECT_NEAR(double(all["summary"]["mean_output_error"]), error / 6, 1e-12);
  EXPECT_EQ(double(all["summary"]["max_output_error"]), most);

  // A policy that keeps everything, and tables for people.
  const dom::element whole = parsed(a, "evict " + sample + "--policy full --format int-token");
  const dom::element alone = parsed(b, "format " + sample + "--format int-token");
  EXPECT_EQ(simdjson::minify(whole["format"]["summary"]), simdjson::minify(alone["summary"]));
  const auto one = run_kvplan(evict + " --layer 3 --format int-token");
  EXPECT_NE(
      one.out.find("Stored bytes in format int-token, compared with a full cache of 2 bytes per element:\n"),
      std::string::npos)
      << one.out;
  const auto table = run_kvplan(evict + " --format int-token");
  EXPECT_NE(table.out.find("stored in int-token\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("   stored     error"), std::string::npos) << table.out;
}

TEST(FormatCommand, EvictRefusesFormatsThatItCannotTry) {
  const std::string source = KVPLAN_SOURCE_DIR;
  const std::string rest = " --policy h2o:hh=4,recent=4 --prefill 10 --format ";
  const auto unknown = run_kvplan("evict " + source + "/traces/samples/tiny_llama.kva" + rest + "int5");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err.rfind("kvplan: --format: ", 0), 0U) << unknown.err;
  const auto rows = run_kvplan("evict " + source + "/tests/golden/replay/A.kva" + rest + "int-token");
  EXPECT_EQ(rows.exit_code, 2);
  EXPECT_NE(rows.err.find("A.kva"), std::string::npos) << rows.err;
  EXPECT_EQ(std::count(rows.err.begin(), rows.err.end(), '\n'), 1) << rows.err;
}

TEST(FormatCommand, BothKindsOfInputGiveTheSame) {
  const TemporaryFolder folder;
  const Files files(folder);
  const std::string json = files.write();
  dom::parser a;
  dom::parser b;
  for (const std::string format : {"int-token:group=4", "kivi:group=4,residual=4", "svd:rank=3,update=2",
                                   "kmeans:recent=2,clusters=3"}) {
    const std::string rest = " --format " + format + " --prefill 7 --probe V,1,5,2 --json -";
    const auto raw = run_kvplan("format " + json + rest);
    const auto kva = run_kvplan("format " + folder.file("x.kva") + rest);
    ASSERT_EQ(raw.exit_code, 0) << raw.err;
    ASSERT_EQ(kva.exit_code, 0) << kva.err;
    const dom::element one = a.parse(raw.out);
    const dom::element two = b.parse(kva.out);
    for (const char* key : {"params", "after_prefill", "steps", "checkpoints", "summary"})
      EXPECT_EQ(simdjson::minify(one[key]), simdjson::minify(two[key])) << format << " " << key;
    EXPECT_EQ(dom::array(one["steps"]).size(), 5U);
  }
  EXPECT_EQ(run_kvplan("evict " + json + " --policy tova:budget=4 --prefill 7 --json -").exit_code, 0)
      << "the same file is a recording for the other commands";
  EXPECT_EQ(run_kvplan("attention info " + json).exit_code, 0);
  EXPECT_EQ(run_kvplan("format --format full --prefill 7 --probe K,0,1,2 --probe V,1,3,4 " + json).exit_code,
            0)
      << "the input may come last";
}

TEST(FormatCommand, SaysWhatItDid) {
  const auto text =
      run_kvplan("format " + kInputs + "A.json --format kivi:bits=4,group=8,residual=40 --prefill 100");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* part :
       {"kivi:bits=4,group=8,residual=40", "160 tokens, of them 100 prompt", "codes", "output error"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part;
  const auto whole = run_kvplan("format " + kInputs + "A.json --format full --prefill 160 --json -");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  dom::parser parser;
  const dom::element found = parser.parse(whole.out);
  EXPECT_EQ(dom::array(found["steps"]).size(), 0U);
  EXPECT_TRUE(found["summary"]["mean_output_error"].is_null());
  const auto help = run_kvplan("format --help");
  EXPECT_NE(help.out.find("kivi:bits=2,group=32,residual=128"), std::string::npos);
}

/// One cluster for the values of both heads gives nonzero values where a head had only zeros: relative to these, an
/// error is not a number, in the text and in the JSON.
TEST(FormatCommand, AnErrorRelativeToNothingIsNoNumber) {
  const TemporaryFolder folder;
  Files files(folder);
  std::fill(files.values[0].begin(), files.values[0].end(), 0.0F);
  const std::string run = "format " + files.write() +
                          " --prefill 7 --format kmeans:form=seed,clusters=1,recent=0,sinks=0,iterations=1";
  const auto json = run_kvplan(run + " --json -");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  dom::parser parser;
  const dom::element root = parser.parse(json.out);
  EXPECT_TRUE(root.at_pointer("/checkpoints/1/V/0/relative_frobenius").is_null());
  EXPECT_FALSE(root.at_pointer("/checkpoints/1/V/1/relative_frobenius").is_null());
  const auto text = run_kvplan(run);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.find("inf"), std::string::npos) << text.out;
  const std::size_t row = text.out.find("error of values");
  ASSERT_NE(row, std::string::npos);
  EXPECT_EQ(text.out[text.out.find('\n', row) - 1], '-') << text.out;
}

/// With a policy that drops tokens while decoding, a format that encodes when it appends stores the policy's tokens.
TEST(FormatCommand, FollowsAPolicyThatDropsWhileDecoding) {
  const std::string input = kInputs + "A.json";
  const std::string policy = "h2o:hh=10,recent=14";
  const auto kept = run_kvplan("evict " + input + " --policy " + policy + " --prefill 100 --json -");
  const auto found = run_kvplan("format " + input + " --format int-token:bits=4,group=8 --evict " + policy +
                                " --prefill 100 --json -");
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  ASSERT_EQ(found.exit_code, 0) << found.err;
  dom::parser a;
  dom::parser b;
  const dom::element sets = a.parse(kept.out);
  const dom::element format = b.parse(found.out);
  EXPECT_EQ(simdjson::minify(format["after_prefill"]["retained"]), simdjson::minify(sets["after_prefill"]));
  // 24 tokens in 2 heads: 16 bytes of codes for 32 channels, 4 groups with a scale and a zero point of 2 bytes.
  constexpr std::int64_t kOfToken = 16 + 4 * 4;
  for (const dom::element step : dom::array(format["steps"])) {
    EXPECT_EQ(std::int64_t(step["bytes"].at(14)), 24 * 2 * 2 * kOfToken);
    EXPECT_EQ(std::int64_t(step["total_at_attend"]), 25 * 2 * 2 * kOfToken);
  }
  for (const char* other : {"tova:budget=24", "seed-lru:budget=24", "window:window=24"}) {
    const auto ran = run_kvplan("format " + input + " --format kivi:group=8,residual=8 --evict " + other +
                                " --prefill 100 --json -");
    EXPECT_EQ(ran.exit_code, 0) << other << ran.err;
  }
}

/// A model of one layer with the heads of the inputs.
constexpr const char* kConfig =
    R"({"model_type":"llama","num_hidden_layers":1,"num_attention_heads":4,"num_key_value_heads":2,)"
    R"("head_dim":32,"hidden_size":128,"intermediate_size":256,"vocab_size":100,"torch_dtype":"float16"})";

/// For a short name, the bytes are those of `kvplan bytes`, except for the separately stored scales.
TEST(FormatCommand, ShortNamesTakeTheBytesOfKvplanBytes) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  dom::parser a;
  dom::parser b;
  for (const std::string format : {"int8", "int8:group=16", "int4", "int4:group=8", "fp4"}) {
    const auto found = run_kvplan("format " + kInputs + "A.json --prefill 100 --json - --format " + format);
    const auto bytes = run_kvplan("bytes --model " + folder.file("config.json") +
                                  " --tokens 160 --json - --format " + format);
    ASSERT_EQ(found.exit_code, 0) << found.err;
    ASSERT_EQ(bytes.exit_code, 0) << bytes.err;
    const std::int64_t stored = a.parse(found.out)["summary"]["final_bytes"];
    const std::int64_t told = b.parse(bytes.out)["total_bytes"];
    const bool beside = format == "int8" || format == "fp4";
    EXPECT_EQ(stored, told + (beside ? 8 : 0)) << format;
  }
}

/// Bytes from lengths equal the bytes counted while encoding: in every region, with a policy that drops prompt tokens
/// or one that drops tokens while decoding.
TEST(FormatCommand, CodecsTakeTheBytesOfKvplanBytes) {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"), kConfig);
  dom::parser a;
  dom::parser b;
  for (const auto& [format, policy] : std::vector<std::pair<std::string, std::string>>{
           {"full", ""},
           {"kivi:group=16,residual=32", ""},
           {"kivi:group=16,residual=32", "snapkv:window=8,capacity=50"},
           {"svd:rank=8,update=16", "snapkv:window=8,capacity=50"},
           {"gear:group=16,residual=32", ""},
           {"layered:window=20,rank=4,factor_v=true", ""},
           {"eigen:rank=8,rank_v=6", "h2o:hh=10,recent=14"},
           {"kmeans:clusters=9", ""},
           {"pyramid-int8:max_len=40,layers=1", ""},
           {"mixed:recent=16,middle=32", ""},
           {"fp8:scale=amax,per=head", "window:window=30"},
           {"sparse:density=0.3", "streaming-llm:sink=4,recent=30"},
           {"nvfp4", "tova:budget=24"}}) {
    SCOPED_TRACE(format + " " + policy);
    const auto found = run_kvplan("format " + kInputs + "A.json --prefill 100 --json - --format " + format +
                                  (policy.empty() ? "" : " --evict " + policy));
    const auto told = run_kvplan("bytes --model " + folder.file("config.json") +
                                 " --tokens 160 --prompt 100 --json - --format " + format +
                                 (policy.empty() ? "" : " --policy " + policy));
    ASSERT_EQ(found.exit_code, 0) << found.err;
    ASSERT_EQ(told.exit_code, 0) << told.err;
    const dom::element last = a.parse(found.out)["steps"].at(59)["bytes"];
    const dom::element bytes = b.parse(told.out);
    std::string regions;
    for (const char* side : {"K", "V"})
      for (const auto& [name, number] : dom::object(bytes["regions"][side]))
        regions += simdjson::minify(number) + ",";
    const std::int64_t total = std::int64_t(bytes["total_bytes"]) - std::int64_t(bytes["policy_bytes"]);
    EXPECT_EQ("[" + regions + std::to_string(total) + "]", simdjson::minify(last));
  }
}

/// Checks for exit code 2 and one line with these words.
void expect_refused(const std::string& arguments, const std::vector<std::string>& words) {
  const auto ran = run_kvplan(arguments);
  EXPECT_EQ(ran.exit_code, 2) << arguments;
  EXPECT_TRUE(ran.out.empty()) << arguments;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  for (const std::string& word : words)
    EXPECT_NE(ran.err.find(word), std::string::npos) << arguments << ": " << ran.err;
}

TEST(FormatCommand, RefusesParametersThatDoNotFit) {
  const std::string input = "format " + kInputs + "A.json --prefill 100 --json - ";
  expect_refused(input + "--format int-tokn", {"--format", "int-token"});
  expect_refused(input + "--format int-token:bit=4", {"--format", "int-token", "\"bit\"", "bits"});
  expect_refused(input + "--format int-token:bits=9", {"int-token:bits", "2 to 8"});
  expect_refused(input + "--format int-token:group=5",
                 {"int-token:group", "divisor of the 32 channels", "5"});
  expect_refused(input + "--format kivi:group=8,residual=20", {"kivi:residual", "multiple of group = 8"});
  expect_refused(input + "--format kivi:group=12,residual=24", {"kivi:group", "32 channels"});
  expect_refused(input + "--format mixed:group=7", {"mixed:group"});
  expect_refused(input + "--format layered:window=4,keep_recent=5",
                 {"layered:keep_recent", "at most window = 4"});
  expect_refused(input + "--format kmeans:recent=90,sinks=10",
                 {"kmeans:recent", "less than the prompt's 100"});
  expect_refused(input + "--format pyramid-int8:layer=8,layers=8",
                 {"pyramid-int8:layer", "less than layers = 8"});
  expect_refused(input + "--format full --evict oracle-topk:k=5", {"oracle-topk", "keeps every token"});
  expect_refused(input + "--format full --evict snapkv:window=8,capacity=20,group=1",
                 {"snapkv:group", "2 query heads"});
  expect_refused(input + "--format full --evict snapkv:capacity=2", {"--evict", "snapkv:capacity"});
  for (const char* probe : {"K,0,5", "Q,0,5,1", "K,0,5,x", "K,-1,5,1", ""})
    expect_refused(input + "--format full --probe '" + probe + "'", {"--probe"});
  expect_refused(input + "--format full --probe K,2,5,1", {"probe 1: head", "0 to 1"});
  expect_refused(input + "--format full --probe K,1,160,1", {"probe 1: position", "0 to 159"});
  expect_refused(input + "--format full --probe K,1,5,1 --probe V,0,5,32", {"probe 2: channel", "0 to 31"});
  expect_refused("format " + kInputs + "A.json --format full --prefill 161", {"prefill", "160"});
  expect_refused("format " + kInputs + "A.json --format full --prefill 0", {"--prefill"});
  expect_refused("format " + kInputs + "A.json --format full --prefill 9 --layer 1", {"layer", "0 to 0"});
  expect_refused("format " + kInputs + "A.json --format full --prefill 9 --json " + kInputs + "A.json",
                 {"a different file"});
  expect_refused("format " + std::string(KVPLAN_SOURCE_DIR) +
                     "/tests/golden/policies/inputs/A.json --format full --prefill 9",
                 {"A.json", "attention rows"});
}

TEST(FormatCommand, RefusesDamagedTensors) {
  const TemporaryFolder folder;
  Files files(folder);
  const std::string run = "format " + folder.file("x.json") + " --prefill 7 --format ";
  files.write();
  expect_refused(run + "nvfp4", {"nvfp4", "multiple of 16", "8"});
  expect_refused(run + "mxfp4", {"mxfp4", "multiple of 32", "8"});
  files.write(R"(,"fnv":{"Q":"0000000000000000"})");
  expect_refused(run + "full", {"fnv.Q", "0000000000000000"});
  files.write(R"(,"prefill_len":13)");
  expect_refused(run + "full", {"prefill_len", "1 to 12"});
  files.keys[1][9] = std::numeric_limits<float>::quiet_NaN();
  files.write();
  expect_refused(run + "full", {"files.K", "finite", "byte " + std::to_string((12 * 8 + 9) * 4)});
  files.keys[1][9] = 70000;
  files.write();
  expect_refused(run + "full", {"keys of head 1, token 1, channel 1", "65504"});
  files.keys[1].pop_back();
  files.write();
  expect_refused(run + "full", {"files.K", "expected 768 bytes", "764"});
  const auto rewrite = [&](const std::string& json) { write_file(folder.file("x.json"), json); };
  rewrite(R"({"query_heads":4,"kv_heads":2,"head_dim":8,"T":12,"files":{"Q":"q","K":"k"}})");
  expect_refused(run + "full", {"files.K"});
  rewrite(R"({"query_heads":4,"kv_heads":2,"head_dim":8,"T":12,"files":{"Q":"q"}})");
  expect_refused(run + "full", {"files.K", "is missing"});
  rewrite(R"({"query_heads":4,"kv_heads":2,"head_dim":8,"T":12,"files":{"Q":"nowhere"}})");
  expect_refused(run + "full", {"nowhere"});
  rewrite(R"({"query_heads":4,"kv_heads":3,"head_dim":8,"T":12,"files":{}})");
  expect_refused(run + "full", {"kv_heads", "divisor"});
  rewrite(R"({"query_heads":4,"kv_heads":2,"head_dim":0,"T":12,"files":{}})");
  expect_refused(run + "full", {"head_dim"});
  rewrite(R"({"query_heads":4,"kv_heads":2,"T":12,"files":{}})");
  expect_refused(run + "full", {"head_dim", "is missing"});
  rewrite(R"({"query_heads":1024,"kv_heads":1024,"head_dim":65536,"T":1048576,"files":{}})");
  expect_refused(run + "full", {"4 GiB"});
  rewrite(R"({"query_heads":4,"kv_heads":2,"head_dim":8,"T":12,"files":7})");
  expect_refused(run + "full", {"files", "an object"});
}

}  // namespace
}  // namespace kvplan::formats
