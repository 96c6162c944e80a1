// Results equal the golden cases of ../golden/policies, from their JSON and from the same rows stored as .kva.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <map>

#include "simulator/io/attention_json.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_writer.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using attention::Outcome;
using attention::Sets;

const std::string kFolder = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/policies/";

Sets sets_of(dom::element array) {
  Sets out;
  for (const auto set : array.get_array()) {
    out.emplace_back();
    for (const auto p : set.get_array()) out.back().push_back(static_cast<std::int32_t>(int64_t(p)));
  }
  return out;
}

/// `NAME:key=value,...` of a case, with the names of the command line.
std::string policy_of(dom::element golden) {
  // Policies with different names in the two.
  static const std::map<std::string_view, std::string> kNames{
      {"h2o_real_drop", "h2o"},
      {"h2o_masked", "h2o-masked"},
      {"streaming", "streaming-llm"},
      {"keyformer_paper", "keyformer"},
      {"keyformer_gptj", "keyformer-gptj"},
      {"seed_lfu_lru", "seed-lru"},  // the case has the mode as a parameter
      {"seed_threshold", "seed-threshold"},
      {"seed_proportional", "seed-proportional"}};
  const std::string_view name = golden["policy"];
  const auto found = kNames.find(name);
  std::string out = found == kNames.end() ? std::string(name) : found->second;
  char separator = ':';
  for (const auto param : golden["params"].get_object()) {
    out.append(1, separator).append(param.key).append("=");
    out +=
        param.value.is_string() ? std::string(std::string_view(param.value)) : simdjson::minify(param.value);
    separator = ',';
  }
  return out;
}

/// The recording of a case: its JSON, and the same as .kva.
std::vector<std::shared_ptr<const attention::Recording>> recordings_of(const std::string& input) {
  std::vector<std::shared_ptr<const attention::Recording>> out;
  auto json = open_attention(kFolder + input);
  EXPECT_TRUE(json.ok()) << json.error().to_string();
  out.push_back(json.value());
  for (const Codec codec : {Codec::kZstd, Codec::kZlib, Codec::kStored}) {
    std::string bytes;
    const auto sink = [&](std::string_view part) -> Status {
      bytes += part;
      return Done{};
    };
    EXPECT_TRUE(write_kva(*json.value(), attention::Element::kF64, 0, codec, sink).ok());
    auto kva = open_kva(random_access_of(bytes, input + ".kva"));
    EXPECT_TRUE(kva.ok()) << kva.error().to_string();
    out.push_back(kva.value());
  }
  return out;
}

TEST(GoldenPolicies, EqualInEverySetAndMass) {
  int cases = 0;
  for (const std::string name :
       {"window_A", "streaming_A", "h2o_A", "h2o_A_stream", "h2o_E_ties", "h2o_masked_A", "tova_A",
        "tova_E_ties", "snapkv_A_kernel1", "keyformer_paper_A", "keyformer_gptj_A", "threshold_A_max",
        "threshold_A_mean", "proportional_A_max", "scissorhands_A", "lfu_A", "random_A"}) {
    dom::parser parser;
    const dom::element golden = parser.load(kFolder + name + ".json");
    const auto prompt = std::int64_t(golden["prefill_len"]);
    for (const auto& recording : recordings_of(std::string(std::string_view(golden["input"])))) {
      SCOPED_TRACE(name);
      const Outcome found = attention::run_policy(*recording, policy_of(golden), prompt);
      EXPECT_EQ(found.after_prefill, sets_of(golden["after_prefill"]));
      std::size_t i = 0;
      for (const auto step : golden["steps"].get_array()) {
        ASSERT_LT(i, found.retained.size());
        EXPECT_EQ(std::int64_t(step["t"]), prompt + static_cast<std::int64_t>(i));
        EXPECT_EQ(found.retained[i], sets_of(step["retained"])) << "step " << i;
        std::size_t h = 0;
        for (const auto mass : step["attended_mass"].get_array())
          EXPECT_NEAR(found.mass[i][h++], double(mass), 1e-11) << "step " << i;
        EXPECT_EQ(h, found.mass[i].size());
        ++i;
      }
      EXPECT_GT(i, 0U);
      ++cases;
    }
  }
  EXPECT_EQ(cases, 17 * 4);
}

TEST(GoldenPolicies, TopKMass) {
  dom::parser parser;
  const dom::element golden = parser.load(kFolder + "oracle_A.json");
  for (const auto& recording : recordings_of("inputs/A.json")) {
    for (const auto k : golden["topk_mass"].get_object()) {
      SCOPED_TRACE(k.key);
      const Outcome found = attention::run_policy(*recording, "oracle-topk:k=" + std::string(k.key), 8);
      std::size_t i = 0;
      for (const auto mass : k.value.get_array()) {
        ASSERT_LT(i, found.mass.size());
        EXPECT_NEAR(found.mass[i][0], double(mass), 1e-11) << "step " << i;
        const std::size_t length = found.retained[i][0].size();
        EXPECT_EQ(length, std::min<std::size_t>(9 + i, std::stoul(std::string(k.key))));
        ++i;
      }
      EXPECT_EQ(i, 56U);
    }
  }
}

TEST(GoldenPolicies, GreedyBound) {
  dom::parser parser;
  const dom::element golden = parser.load(kFolder + "oracle_A.json");
  const dom::element bound = golden["suffix_oracle"];
  const std::string policy = "oracle-suffix:budget=" + simdjson::minify(golden["params"]["budget"]);
  for (const auto& recording : recordings_of("inputs/A.json")) {
    const Outcome found = attention::run_policy(*recording, policy, 8);
    const Sets expected = sets_of(bound["retained"]);
    ASSERT_EQ(expected.size(), found.retained.size() + 1);
    EXPECT_EQ(found.after_prefill, Sets{expected[0]});
    std::size_t i = 0;
    for (const auto mass : bound["attended_mass"].get_array()) {
      EXPECT_EQ(found.retained[i], Sets{expected[i + 1]}) << "step " << i;
      EXPECT_NEAR(found.mass[i][0], double(mass), 1e-9) << "step " << i;
      ++i;
    }
    EXPECT_EQ(i, found.retained.size());
  }
}

/// Files that are provided with the project: the present ones must be those that are tested here.
TEST(GoldenPolicies, CopiesAreCurrent) {
  const char* named = std::getenv("KVPLAN_SHARED");
  const std::string shared = named != nullptr ? named : std::string(KVPLAN_SOURCE_DIR) + "/../shared";
  if (!std::filesystem::exists(shared + "/golden/policies"))
    GTEST_SKIP() << "no shared data at " << shared << ": set KVPLAN_SHARED to compare the copies";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (!entry.is_regular_file()) continue;
    const auto path = std::filesystem::relative(entry.path(), kFolder).string();
    simdjson::padded_string mine;
    simdjson::padded_string theirs;
    ASSERT_EQ(simdjson::padded_string::load(entry.path().string()).get(mine), simdjson::SUCCESS);
    ASSERT_EQ(simdjson::padded_string::load(shared + "/golden/policies/" + path).get(theirs),
              simdjson::SUCCESS);
    EXPECT_EQ(std::string_view(mine), std::string_view(theirs)) << path;
  }
}

}  // namespace
}  // namespace kvplan::io
