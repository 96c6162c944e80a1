// Every policy of the catalogue, whatever it is: parameters that are given any legal small value, and laws
// that hold for all. A new policy is tested here from the day it is in the catalogue.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/attention/trajectory.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

/// A policy with random parameters in their ranges: those without a default small, of the others some.
std::string random_text(const Descriptor& descriptor, Random& random) {
  std::string out(descriptor.name);
  char separator = ':';
  for (const Param& param : descriptor.params) {
    if (param.name == "group") continue;
    if (!param.fallback.empty() && param.kind != ParamKind::kText && random.chance(1, 2)) continue;
    std::string value;
    if (param.name == "score") {
      constexpr std::array<std::string_view, 3> kScores{"accumulated", "windowed / (1 + age)",
                                                        "\"max(last, 0.1) * pow(2, -age / 8)\""};
      value = kScores[random.below(kScores.size())];
    } else if (param.kind == ParamKind::kText && !param.choices.empty()) {
      value = param.choices[random.below(param.choices.size())];
    } else if (param.kind == ParamKind::kFlag) {
      value = random.chance(1, 2) ? "true" : "false";
    } else if (param.kind == ParamKind::kInteger) {
      const auto low = static_cast<std::int64_t>(param.low);
      value = std::to_string(
          random.between(low, std::min<std::int64_t>(low + 12, static_cast<std::int64_t>(param.high))));
    } else if (param.kind == ParamKind::kDecimal) {
      value = std::to_string(param.low + (std::min(param.high, param.low + 1) - param.low) * random.unit());
    } else {
      continue;
    }
    out.append(1, separator).append(param.name).append("=").append(value);
    separator = ',';
  }
  return out;
}

/// One that the policy accepts.
std::string legal_text(const Descriptor& descriptor, Random& random) {
  for (int tries = 0; tries < 200; ++tries) {
    const std::string text = random_text(descriptor, random);
    if (parse_policy(text).ok()) return text;
  }
  ADD_FAILURE() << "no parameters that " << descriptor.name << " accepts";
  return "full";
}

class Conformance : public testing::TestWithParam<const PolicyKind*> {};

TEST_P(Conformance, DescribesItself) {
  const PolicyKind& kind = *GetParam();
  EXPECT_EQ(kind.descriptor.family, kFamily);
  EXPECT_FALSE(kind.descriptor.summary.empty());
  EXPECT_FALSE(kind.descriptor.source.empty());
  EXPECT_FALSE(kind.golden_name.empty());
  const auto params = kind.descriptor.params;
  ASSERT_GE(params.size(), 3U);
  EXPECT_EQ(params[params.size() - 3].name, "group");
  EXPECT_EQ(params[params.size() - 2].name, "agg");
  EXPECT_EQ(params[params.size() - 1].name, "placement");
  for (const Param& param : params) EXPECT_FALSE(param.help.empty()) << param.name;
}

TEST_P(Conformance, KeepsOnlyWhatItHadAndRepeatsItself) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, "conformance");
    const int heads = 1 + static_cast<int>(random.below(3));
    const int tokens = 2 + static_cast<int>(random.below(50));
    const auto prompt = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(tokens)));
    const RowKind rows = random.chance(1, 2) ? RowKind::kTies : RowKind::kSmooth;
    std::shared_ptr<const Recording> recording = recording_of({random_rows(random, heads, tokens, rows)});
    const std::string text = legal_text(GetParam()->descriptor, random);
    const PolicyTraits traits = GetParam()->traits(parse_policy(text).value().choice);
    if (traits.keys || traits.values) {
      LayerTensors tensors = random_tensors(random, heads, 1, tokens, rows == RowKind::kTies);
      if (traits.output_weights) add_output_weights(random, 3, tensors);
      recording = std::make_shared<TensorRecording>(std::move(tensors));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt) +
                 " of " + std::to_string(tokens));
    const Outcome found = run_policy(*recording, text, prompt);
    ASSERT_EQ(found.retained.size(), static_cast<std::size_t>(tokens - prompt));
    const Outcome again = run_policy(*recording, text, prompt);
    EXPECT_EQ(found.retained, again.retained);
    EXPECT_EQ(found.mass, again.mass);
    for (std::size_t i = 0; i < found.mass.size(); ++i) {
      for (const double mass : found.mass[i]) {
        EXPECT_GE(mass, 0.0);
        EXPECT_LE(mass, 1.0 + 1e-12);
      }
    }
    // The trajectory keeps what the evaluation keeps, unless the policy only reads less than it keeps.
    const auto policy = parse_policy(text);
    ASSERT_TRUE(policy.ok());
    auto made = Trajectory::make(recording, 0, prompt, policy.value());
    ASSERT_TRUE(made.ok() && made.value()->advance(tokens - 1).ok());
    const bool whole = policy.value().kind->traits(policy.value().choice).keeps_everything();
    for (std::int64_t t = prompt; t < tokens && !whole; ++t)
      EXPECT_EQ(made.value()->kept(0, t), found.retained[static_cast<std::size_t>(t - prompt)][0])
          << "t " << t;
  }
}

/// All but those that a file decides, which expression_test.cpp has.
std::vector<const PolicyKind*> tested() {
  std::vector<const PolicyKind*> out;
  for (const PolicyKind* kind : policies())
    if (std::none_of(kind->descriptor.params.begin(), kind->descriptor.params.end(),
                     [](const Param& param) { return param.names_file; }))
      out.push_back(kind);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Conformance, testing::ValuesIn(tested()), [](const auto& tested) {
  std::string name(tested.param->descriptor.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace kvplan::attention
