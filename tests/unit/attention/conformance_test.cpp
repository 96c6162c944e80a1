// Every policy of the catalogue: with any legal small parameter values, and recordings of several layers, heads and
// groups with small, huge, equal and zero numbers, properties that all policies must have are checked. A new policy is
// tested here as soon as it is in the catalogue.
//
// NaN is not an input: code that makes a recording rejects it, so no policy gets one. The readers of files are tested
// for that in io/kva_test.cpp, io/kva2_test.cpp, io/attention_json_test.cpp and io/not_a_number_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/attention/head_intervals.h"
#include "simulator/attention/trajectory.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

/// A policy with random parameters in their ranges: small values for those without a default, and some of the others.
/// Files are named, but not read.
std::string random_text(const Descriptor& descriptor, Random& random) {
  std::string out(descriptor.name);
  char separator = ':';
  for (const Param& param : descriptor.params) {
    if (param.name == "group") continue;
    if (!param.fallback.empty() && param.kind != ParamKind::kText && random.chance(1, 2)) continue;
    std::string value;
    if (param.names_file) {
      value = "here";
    } else if (param.name == "score") {
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

/// A text that the policy accepts, with one of these groups.
std::string legal_text(const Descriptor& descriptor, const std::vector<std::int32_t>& groups,
                       Random& random) {
  for (int tries = 0; tries < 200; ++tries) {
    std::string text = random_text(descriptor, random);
    text += text.find(':') == std::string::npos ? ":" : ",";
    text += "group=" + std::to_string(groups[random.below(groups.size())]);
    if (parse_policy(text).ok()) return text;
  }
  ADD_FAILURE() << "no parameters that " << descriptor.name << " accepts";
  return "full";
}

/// A model and one of its sequences.
struct Model {
  std::int32_t layers;
  std::int32_t kv_heads;
  std::int32_t of_head;  ///< query heads of a KV head
  std::int32_t tokens;

  [[nodiscard]] std::int32_t query_heads() const { return kv_heads * of_head; }
};

/// The input on which a policy is tested.
struct Case {
  Model model;
  std::shared_ptr<const Recording> recording;
  PolicyChoice policy;
  PolicyTraits traits;
  std::int32_t group;
  std::int64_t prompt;
  std::string text;

  [[nodiscard]] std::int32_t kv_heads() const { return model.query_heads() / group; }
  [[nodiscard]] std::size_t sets() const {
    return traits.scope == Scope::kLayer ? 1 : static_cast<std::size_t>(kv_heads());
  }
};

/// Adds what attention may have besides products: windows, caps of logits, sinks, biases, rotation.
void add_attention_forms(Random& random, LayerTensors& to) {
  if (random.chance(1, 4)) to.window = random.between(1, to.tokens);
  if (random.chance(1, 4)) to.soft_cap = 1.5;
  const bool sinks = random.chance(1, 4);
  const bool biases = random.chance(1, 4);
  for (std::int32_t h = 0; h < to.query_heads; ++h) {
    if (sinks) to.sink_logits.push_back(4 * random.unit() - 2);
    if (biases) to.bias_slopes.push_back(random.unit());
  }
  if (to.key_size > 1 && random.chance(1, 2))
    to.rotary = Rotary{.dims = to.key_size / 2 * 2, .inverse_frequencies = {}};
}

/// Queries, keys, values and output weights: small, whole, huge (so that products are even larger), tiny, or all zero.
std::shared_ptr<const Recording> any_tensors(Random& random, const Model& model, std::string& text) {
  constexpr std::array kFactors{1.0F, 1.0F, 1e30F, 1e-30F, 0.0F};
  const std::uint64_t kind = random.below(kFactors.size());
  std::vector<LayerTensors> layers;
  while (layers.size() < static_cast<std::size_t>(model.layers)) {
    LayerTensors made = random_tensors(random, model.kv_heads, model.of_head, model.tokens, kind == 1);
    if (!layers.empty() && (made.key_size != layers[0].key_size || made.value_size != layers[0].value_size))
      continue;
    add_output_weights(random, 3, made);
    scale_tensors(kFactors[kind], made);
    add_attention_forms(random, made);
    layers.push_back(std::move(made));
  }
  text += ", tensors " + std::to_string(kind);
  return std::make_shared<RecordedTensors>(std::move(layers));
}

std::shared_ptr<const Recording> any_rows(Random& random, const Model& model, std::string& text) {
  constexpr std::array kKinds{RowKind::kSmooth, RowKind::kTies, RowKind::kSharp};
  const std::uint64_t kind = random.below(kKinds.size());
  const bool single = random.chance(1, 2);
  std::vector<Rows> layers;
  for (std::int32_t l = 0; l < model.layers; ++l)
    layers.push_back(random_rows(random, model.query_heads(), model.tokens, kKinds[kind]));
  text += ", rows " + std::to_string(kind) + (single ? " float32" : " float64");
  return recording_of(layers, model.of_head, single ? Element::kF32 : Element::kF64);
}

/// A table for each parameter that names a file.
std::vector<HeadTable> any_tables(Random& random, const Descriptor& descriptor, std::int32_t layers,
                                  std::int32_t kv_heads) {
  std::vector<HeadTable> out;
  for (const Param& param : descriptor.params) {
    if (!param.names_file) continue;
    out.emplace_back(static_cast<std::size_t>(layers));
    for (auto& layer : out.back())
      for (std::int32_t h = 0; h < kv_heads; ++h) layer.push_back(static_cast<double>(random.below(5)) / 4);
  }
  return out;
}

Case any_case(const PolicyKind& kind, std::uint64_t seed) {
  Random random(seed, "conformance");
  Model model{.layers = 1 + static_cast<std::int32_t>(random.below(3)),
              .kv_heads = 1 + static_cast<std::int32_t>(random.below(3)),
              .of_head = 1 << random.below(3),
              .tokens = 2 + static_cast<std::int32_t>(random.below(50))};
  std::vector<std::int32_t> groups{0};
  for (const std::int32_t group : {1, 2, 4})
    if (model.of_head % group == 0) groups.push_back(group);
  std::string text = legal_text(kind.descriptor, groups, random);
  PolicyChoice policy = parse_policy(text).value();
  const PolicyTraits traits = kind.traits(policy.choice);
  // A prompt of which deeper layers see less.
  if (traits.lower_layers && random.chance(1, 2)) model.tokens += 80;
  const auto prompt = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(model.tokens)));
  const std::int64_t given = policy.choice.integer("group");
  const std::int32_t group = given == 0 ? model.of_head : static_cast<std::int32_t>(given);
  std::shared_ptr<const Recording> recording =
      traits.keys || traits.values || traits.value_norms || traits.output_weights || random.chance(1, 3)
          ? any_tensors(random, model, text)
          : any_rows(random, model, text);
  policy.tables = any_tables(random, kind.descriptor, model.layers, model.query_heads() / group);
  return {.model = model,
          .recording = std::move(recording),
          .policy = std::move(policy),
          .traits = traits,
          .group = group,
          .prompt = prompt,
          .text = std::move(text)};
}

/// Sets after the prompt and after every later token.
std::vector<Sets> states_of(const Outcome& found) {
  std::vector<Sets> out{found.after_prefill};
  out.insert(out.end(), found.retained.begin(), found.retained.end());
  return out;
}

/// Checks that sets are ascending and have existing tokens, and that no evicted token returns. Returns how many went.
std::size_t expect_sets(const Case& it, const Outcome& found) {
  const std::vector<Sets> states = states_of(found);
  EXPECT_EQ(states.size(), static_cast<std::size_t>(it.model.tokens - it.prompt + 1));
  Sets before;
  std::size_t gone = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto newest = static_cast<std::int32_t>(it.prompt - 1) + static_cast<std::int32_t>(i);
    EXPECT_EQ(states[i].size(), it.sets());
    for (std::size_t s = 0; s < states[i].size(); ++s) {
      const auto& set = states[i][s];
      EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
      EXPECT_EQ(std::adjacent_find(set.begin(), set.end()), set.end());
      EXPECT_TRUE(set.empty() || (set.front() >= 0 && set.back() <= newest)) << "token " << newest;
      gone += static_cast<std::size_t>(newest) + 1 - set.size();
      if (i == 0 || it.traits.keeps_everything()) continue;
      before[s].push_back(newest);
      EXPECT_TRUE(std::includes(before[s].begin(), before[s].end(), set.begin(), set.end()))
          << "token " << newest;
    }
    before = states[i];
  }
  return gone;
}

/// The number of tokens that stay; -1: it does not follow from lengths. If Scissorhands protects more tokens than its
/// budget, counted runs state that they count only the budget.
std::int64_t count_of(const Case& it, std::int32_t layer, std::int64_t tokens) {
  const PolicyKind& kind = *it.policy.kind;
  if (it.traits.keeps_everything()) return -1;
  if (kind.layer_counts != nullptr)
    return kind.layer_counts(it.policy.choice, it.prompt, it.model.layers)[static_cast<std::size_t>(layer)]
        .of(tokens, it.prompt);
  if (!it.traits.count || (kind.descriptor.name == "scissorhands" && !it.traits.budget)) return -1;
  return it.traits.count->of(tokens, it.prompt);
}

/// Compares the number of kept tokens, and the tokens themselves, with what lengths alone give.
void expect_counts(const Case& it, const Outcome& found, std::int32_t layer) {
  if (const auto of = it.policy.kind->layer_counts; of != nullptr) {
    const auto counts = of(it.policy.choice, it.prompt, it.model.layers);
    const bool thinned = std::any_of(counts.begin(), counts.end(),
                                     [](const core::KeptCount& each) { return each.thinning.leave > 0; });
    EXPECT_EQ(it.traits.thins, thinned);
  } else {
    EXPECT_FALSE(it.traits.thins);
  }
  const std::vector<Sets> states = states_of(found);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t tokens = it.prompt + static_cast<std::int64_t>(i);
    const std::int64_t count = count_of(it, layer, tokens);
    for (const auto& set : states[i]) {
      if (count >= 0) {
        EXPECT_EQ(static_cast<std::int64_t>(set.size()), count) << tokens;
      }
      if (!it.traits.interval || it.traits.keeps_everything()) continue;
      std::vector<std::int32_t> expected;
      for (std::int32_t p = 0; p < tokens; ++p)
        if (keeps(*it.traits.interval, p, tokens)) expected.push_back(p);
      EXPECT_EQ(set, expected) << tokens;
    }
  }
}

/// Checks that numbers are valid and in range. Weights of float32 sum to 1 up to their last digits; an error is
/// infinite if the full output is zero.
void expect_numbers(const Case& it, const Outcome& found) {
  const double most = it.recording->info().element == Element::kF32 ? 1 + 1e-5 : 1 + 1e-12;
  for (const auto& step : found.mass) {
    EXPECT_EQ(step.size(), static_cast<std::size_t>(it.model.query_heads()));
    for (const double mass : step) {
      EXPECT_GE(mass, 0.0);
      EXPECT_LE(mass, most);
    }
  }
  for (const auto& step : found.error)
    for (const double error : step) {
      EXPECT_GE(error, 0.0);
    }
  EXPECT_GE(found.summary.bytes, found.summary.metadata_bytes);
  EXPECT_GE(found.summary.metadata_bytes, 0);
  EXPECT_GE(found.summary.peak_bytes, found.summary.bytes);
  EXPECT_GE(found.summary.peak_entries, found.summary.peak_decode_entries);
  EXPECT_LE(found.summary.peak_entries, it.model.tokens);
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
  std::size_t gone = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Case it = any_case(*GetParam(), seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + it.text + ", prompt " + std::to_string(it.prompt) +
                 " of " + std::to_string(it.model.tokens) + ", layers " + std::to_string(it.model.layers) +
                 ", heads " + std::to_string(it.model.query_heads()) + " in groups of " +
                 std::to_string(it.group));
    auto made = Trajectory::make(it.recording, 0, it.prompt, it.policy);
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    ASSERT_TRUE(made.value()->advance(it.model.tokens - 1).ok());
    for (std::int32_t layer = 0; layer < it.model.layers; ++layer) {
      const Outcome found = run_policy(*it.recording, it.policy, it.prompt, layer);
      gone += expect_sets(it, found);
      expect_counts(it, found, layer);
      expect_numbers(it, found);
      const Outcome again = run_policy(*it.recording, it.policy, it.prompt, layer);
      EXPECT_EQ(found.after_prefill, again.after_prefill);
      EXPECT_EQ(found.retained, again.retained);
      EXPECT_EQ(found.mass, again.mass);
      EXPECT_EQ(found.error, again.error);
      // The trajectory keeps the same as the evaluation, unless the policy only reads less than it keeps.
      if (it.traits.keeps_everything()) continue;
      const std::vector<Sets> states = states_of(found);
      for (std::int32_t head = 0; head < it.kv_heads(); ++head)
        for (std::size_t i = 0; i < states.size(); ++i)
          EXPECT_EQ(made.value()->kept(made.value()->track_of(layer, head),
                                       it.prompt - 1 + static_cast<std::int64_t>(i)),
                    states[i][it.sets() == 1 ? 0 : static_cast<std::size_t>(head)])
              << "layer " << layer << ", head " << head << ", state " << i;
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(gone > 0, GetParam()->descriptor.name != "full");
}

/// All policies except the one with sets from a file, which is in expression_test.cpp.
std::vector<const PolicyKind*> tested() {
  std::vector<const PolicyKind*> out;
  for (const PolicyKind* kind : policies())
    if (kind->descriptor.name != "recorded") out.push_back(kind);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Conformance, testing::ValuesIn(tested()), [](const auto& tested) {
  std::string name(tested.param->descriptor.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace kvplan::attention
