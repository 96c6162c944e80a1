// Policies that decide once by queries, values and weights of the model, compared with their definitions written with
// whole matrices: Expected Attention, CriticalKV; and the rotation that they undo.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/attention/rotary.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_sets.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

Vector times(const Matrix& a, const Vector& x) {
  Vector out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) out[i] += a[i][j] * x[j];
  return out;
}
Matrix times(const Matrix& a, const Matrix& b) {
  Matrix out(a.size(), Vector(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}
Matrix flipped(const Matrix& a) {
  Matrix out(a[0].size(), Vector(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) out[j][i] = a[i][j];
  return out;
}
double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The rotation of a vector of `size` elements at a position.
Matrix rotation(const Rotary& rotary, int size, double position) {
  Matrix out(static_cast<std::size_t>(size), Vector(static_cast<std::size_t>(size)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i][i] = 1;
  for (int pair = 0; pair < rotary.dims / 2; ++pair) {
    const bool halves = rotary.layout == RotaryLayout::kHalves;
    const auto low = static_cast<std::size_t>(rotary.first + (halves ? pair : 2 * pair));
    const auto high = low + static_cast<std::size_t>(halves ? rotary.dims / 2 : 1);
    const double frequency = rotary.inverse_frequencies.empty()
                                 ? std::pow(rotary.base, -2.0 * pair / rotary.dims) / rotary.linear_factor
                                 : rotary.inverse_frequencies[static_cast<std::size_t>(pair)];
    const double angle = position * frequency;
    out[low][low] = out[high][high] = rotary.amplitude * std::cos(angle);
    out[low][high] = -rotary.amplitude * std::sin(angle);
    out[high][low] = rotary.amplitude * std::sin(angle);
  }
  return out;
}

Rotary random_rotary(Random& random, int size) {
  Rotary out;
  out.layout = random.chance(1, 2) ? RotaryLayout::kHalves : RotaryLayout::kInterleaved;
  out.dims = 2 * static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size / 2) + 1));
  out.first = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size - out.dims) + 1));
  out.base = 10 + 100 * random.unit();
  out.linear_factor = random.chance(1, 2) ? 1 : 4;
  out.amplitude = random.chance(1, 2) ? 1 : 1.2;
  if (random.chance(1, 3))
    for (int pair = 0; pair < out.dims / 2; ++pair) out.inverse_frequencies.push_back(random.unit());
  return out;
}

TEST(Rotary, IsUndone) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, "rotary");
    const int size = 2 + static_cast<int>(random.below(9));
    const Rotary rotary = random_rotary(random, size);
    const auto position = static_cast<std::int64_t>(random.below(5000));
    Vector plain;
    for (int c = 0; c < size; ++c) plain.push_back(4 * random.unit() - 2);
    Vector turned = times(rotation(rotary, size, static_cast<double>(position)), plain);
    unrotate(rotary, position, turned);
    for (std::size_t c = 0; c < plain.size(); ++c) EXPECT_NEAR(turned[c], plain[c], 1e-10);
  }
}

Vector token_of(const std::vector<float>& flat, std::int64_t token, std::int32_t size) {
  Vector out;
  for (std::int32_t c = 0; c < size; ++c)
    out.push_back(static_cast<double>(flat[static_cast<std::size_t>(token * size + c)]));
  return out;
}

/// Positions of the `count` best tokens, after the first tokens, which come before others.
std::vector<std::int32_t> best(const NaiveRow& score, int tokens, int count) {
  const auto kept = naive_best(score, naive_range(0, tokens), count);
  return {kept.begin(), kept.end()};
}

/// `max`: the rows of a group are combined by their maximum, not by their mean.
NaiveRow expected_attention(const LayerTensors& all, std::int32_t kv, int prompt, int sink, int future,
                            double epsilon, bool max) {
  const std::int32_t group = all.query_heads / all.kv_heads;
  const int size = all.key_size;
  const auto at = [&](std::int64_t t) { return static_cast<double>(all.position(t)); };
  Vector of_heads(static_cast<std::size_t>(prompt));
  for (std::int32_t h = kv * group; h < (kv + 1) * group; ++h) {
    Matrix queries;
    for (int t = sink; t < prompt; ++t) {
      Vector query = token_of(all.queries[static_cast<std::size_t>(h)], t, size);
      if (all.rotary) {
        // The inverse rotation: by the negative angle, with the inverse amplitude.
        Rotary back = *all.rotary;
        back.amplitude = 1 / all.rotary->amplitude;
        query = times(rotation(back, size, -at(t)), query);
      }
      queries.push_back(std::move(query));
    }
    Vector mean(static_cast<std::size_t>(size));
    for (const Vector& query : queries)
      for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += query[c] / static_cast<double>(queries.size());
    Matrix covariance(mean.size(), Vector(mean.size()));
    for (const Vector& query : queries)
      for (std::size_t i = 0; i < mean.size(); ++i)
        for (std::size_t j = 0; j < mean.size(); ++j)
          covariance[i][j] +=
              (query[i] - mean[i]) * (query[j] - mean[j]) / static_cast<double>(queries.size());
    if (all.rotary) {
      Matrix average(mean.size(), Vector(mean.size()));
      for (int p = 1; p <= future; ++p) {
        const Matrix one = rotation(*all.rotary, size, at(prompt - 1) + p);
        for (std::size_t i = 0; i < mean.size(); ++i)
          for (std::size_t j = 0; j < mean.size(); ++j) average[i][j] += one[i][j] / future;
      }
      mean = times(average, mean);
      covariance = times(times(average, covariance), flipped(average));
    }
    Vector weight;
    double sum = 0;
    for (int t = sink; t < prompt; ++t) {
      const Vector key = token_of(all.keys[static_cast<std::size_t>(kv)], t, size);
      weight.push_back(std::exp(all.scale * dot(key, mean) +
                                all.scale * all.scale * dot(key, times(covariance, key)) / 2));
      sum += weight.back();
    }
    for (std::size_t i = 0; i < weight.size(); ++i) {
      double& of_group = of_heads[i + static_cast<std::size_t>(sink)];
      of_group = max ? std::max(of_group, weight[i] / sum) : of_group + weight[i] / sum / group;
    }
  }
  NaiveRow out;
  for (int t = 0; t < prompt; ++t) {
    const Vector value = token_of(all.values[static_cast<std::size_t>(kv)], t, all.value_size);
    out[t] =
        t < sink ? 1e9 : (of_heads[static_cast<std::size_t>(t)] + epsilon) * std::sqrt(dot(value, value));
  }
  return out;
}

/// In every third case, tokens are copies of others.
TEST(ExpectedAttention, AgainstItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed, "expected");
    const auto heads = static_cast<std::int32_t>(1 + random.below(2));
    const auto group = static_cast<std::int32_t>(1 + random.below(3));
    const int tokens = 3 + static_cast<int>(random.below(40));
    LayerTensors made = random_tensors(random, heads, group, tokens, false);
    if (seed % 3 == 0) repeat_tokens(random, 1 + tokens / 4, made);
    if (random.chance(3, 4)) made.rotary = random_rotary(random, made.key_size);
    if (random.chance(1, 3))
      for (int t = 0; t < tokens; ++t) made.positions.push_back(static_cast<std::uint32_t>(3 * t + 5));
    const RecordedTensors recording(std::move(made));
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
    const int sink = static_cast<int>(random.below(5));
    const int budget = sink + 1 + static_cast<int>(random.below(20));
    const int future = 1 + static_cast<int>(random.below(30));
    const std::string text = "expected-attention:budget=" + std::to_string(budget) +
                             ",sink=" + std::to_string(sink) + ",future=" + std::to_string(future) +
                             ",epsilon=0.01,agg=" + (seed % 2 == 0 ? "max" : "mean");
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt));
    const Outcome found = run_policy(recording, text, prompt);
    for (std::int32_t kv = 0; kv < heads; ++kv) {
      const NaiveRow score = prompt > sink ? expected_attention(recording.tensors(), kv, prompt, sink, future,
                                                                0.01, seed % 2 == 0)
                                           : NaiveRow{};
      ASSERT_EQ(found.after_prefill[static_cast<std::size_t>(kv)], best(score, prompt, budget));
      for (int t = prompt; t < tokens; ++t)
        ASSERT_EQ(found.retained[static_cast<std::size_t>(t - prompt)][static_cast<std::size_t>(kv)].size(),
                  static_cast<std::size_t>(std::min(prompt, budget) + t - prompt + 1));
    }
  }
}

/// All queries are (1, 0), so that the score of token j is e^(k_j[0]) / sum times |v_j|: 1/4, 2/4, 8/4, 1/4 of e^0,
/// e^0, e^-10 and e^0 with values of length 1, 2, 8, 1.
TEST(ExpectedAttention, ByHand) {
  LayerTensors tensors{.tokens = 4, .key_size = 2, .value_size = 1, .queries = {}, .keys = {}, .values = {}};
  tensors.queries = {{1, 0, 1, 0, 1, 0, 1, 0}};
  tensors.keys = {{0, 3, 0, -2, -10, 0, 0, 1}};
  tensors.values = {{1, 2, 8, -1}};
  const RecordedTensors recording(std::move(tensors));
  const auto kept = [&](const char* text) { return run_policy(recording, text, 4).after_prefill; };
  EXPECT_EQ(kept("expected-attention:budget=1,sink=0"), (Sets{{1}}));
  EXPECT_EQ(kept("expected-attention:budget=2,sink=0"), (Sets{{1, 3}})) << "among equals the newer";
  EXPECT_EQ(kept("expected-attention:budget=3,sink=0"), (Sets{{0, 1, 3}}));
  EXPECT_EQ(kept("expected-attention:budget=2,sink=1"), (Sets{{0, 1}}));
  EXPECT_EQ(kept("expected-attention:budget=2,sink=0,epsilon=1"), (Sets{{1, 2}}));
}

/// Softmax of the query of token t over tokens 0 .. t.
Vector row_of(const LayerTensors& all, std::int32_t head, int t) {
  Vector out;
  double sum = 0;
  const std::int32_t kv = head / (all.query_heads / all.kv_heads);
  for (int i = 0; i <= t; ++i) {
    out.push_back(
        std::exp(all.scale * dot(token_of(all.queries[static_cast<std::size_t>(head)], t, all.key_size),
                                 token_of(all.keys[static_cast<std::size_t>(kv)], i, all.key_size))));
    sum += out.back();
  }
  for (double& each : out) each /= sum;
  return out;
}

/// In every third case, tokens are copies of others.
TEST(CriticalKv, AgainstItsDefinition) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed, "critical");
    const auto heads = static_cast<std::int32_t>(1 + random.below(2));
    const auto group = static_cast<std::int32_t>(1 + random.below(3));
    const int tokens = 4 + static_cast<int>(random.below(40));
    LayerTensors made = random_tensors(random, heads, group, tokens, false);
    if (seed % 3 == 0) repeat_tokens(random, 1 + tokens / 4, made);
    add_output_weights(random, 1 + static_cast<std::int32_t>(random.below(6)), made);
    const RecordedTensors recording(std::move(made));
    const LayerTensors& all = recording.tensors();
    const int prompt = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens - 1)));
    const int window = 1 + static_cast<int>(random.below(3));
    const int capacity = window + 1 + static_cast<int>(random.below(15));
    const int reach = static_cast<int>(random.below(2));
    const int tenths = static_cast<int>(random.below(11));
    const bool max = seed % 2 == 0;
    const std::string common = ":window=" + std::to_string(window) + ",capacity=" + std::to_string(capacity) +
                               ",kernel=" + std::to_string(2 * reach + 1) + (max ? ",agg=max" : ",agg=mean");
    const std::string text =
        "critical-kv" + common + ",share=" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt));
    const Outcome found = run_policy(recording, text, prompt);
    const Outcome snapkv = run_policy(recording, "snapkv" + common, prompt);
    for (std::int32_t kv = 0; kv < heads; ++kv) {
      const auto h = static_cast<std::size_t>(kv);
      changed += found.after_prefill[h] != snapkv.after_prefill[h] ? 1 : 0;
      if (tenths == 10) {
        EXPECT_EQ(found.after_prefill[h], snapkv.after_prefill[h]);
      }
      if (prompt <= capacity) {
        EXPECT_EQ(found.after_prefill[h].size(), static_cast<std::size_t>(prompt));
        continue;
      }
      const int old = prompt - window;
      Vector votes(static_cast<std::size_t>(old));
      for (std::int32_t q = kv * group; q < (kv + 1) * group; ++q) {
        Vector of_head(votes.size());
        for (int t = old; t < prompt; ++t) {
          const Vector row = row_of(all, q, t);
          for (std::size_t i = 0; i < votes.size(); ++i) of_head[i] += row[i] / window;
        }
        for (std::size_t i = 0; i < votes.size(); ++i)
          votes[i] = max ? std::max(votes[i], of_head[i]) : votes[i] + of_head[i] / group;
      }
      NaiveRow pooled;
      NaiveRow critical;
      for (int t = 0; t < old; ++t) {
        double sum = 0;
        for (int i = t - reach; i <= t + reach; ++i)
          if (i >= 0 && i < old) sum += votes[static_cast<std::size_t>(i)];
        pooled[t] = sum / (2 * reach + 1);
        double norm = 0;
        const Vector value = token_of(all.values[h], t, all.value_size);
        for (std::int32_t q = kv * group; q < (kv + 1) * group; ++q)
          for (std::int32_t j = 0; j < all.hidden_size; ++j) {
            double added = 0;
            for (std::int32_t c = 0; c < all.value_size; ++c)
              added +=
                  value[static_cast<std::size_t>(c)] *
                  static_cast<double>(all.output_weights[static_cast<std::size_t>(q)]
                                                        [static_cast<std::size_t>(c * all.hidden_size + j)]);
            norm += std::fabs(added) / group;
          }
        critical[t] = (pooled[t] + 1e-4) * norm;
      }
      const int kept = capacity - window;
      for (const int p : naive_best(pooled, naive_range(0, old), kept * tenths / 10)) critical[p] = 1e9 + p;
      std::vector<std::int32_t> wanted = best(critical, old, kept);
      for (int p = old; p < prompt; ++p) wanted.push_back(p);
      ASSERT_EQ(found.after_prefill[h], wanted);
    }
  }
  EXPECT_GT(changed, 10);
}

TEST(PromptTensorPolicies, SayWhatIsMissing) {
  Random random(1, "missing");
  const auto error = [](const Recording& recording, const std::string& policy) {
    const auto found = evaluate(recording, {.policy = parse_policy(policy).value(), .prompt = 1},
                                [](const LayerReplay&) -> Status { return Done{}; });
    return found.ok() ? std::string() : found.error().to_string();
  };
  const auto rows = recording_of({random_rows(random, 1, 4, RowKind::kSmooth)});
  EXPECT_NE(error(*rows, "expected-attention:budget=3").find("decides by keys"), std::string::npos);
  const RecordedTensors tensors(random_tensors(random, 1, 1, 6, false));
  EXPECT_EQ(error(tensors, "critical-kv:capacity=3,window=1"),
            "critical-kv: decides by output weights, which this recording does not have (queries and keys "
            "and values only): expected a .kva file with queries, keys and values, with output weights");
}

}  // namespace
}  // namespace kvplan::attention
