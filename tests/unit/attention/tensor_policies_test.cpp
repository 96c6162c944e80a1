// Policies that decide by keys and values, compared with their definitions; and what they need from a recording.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_sets.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::attention {
namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;  ///< [token][channel]

Vectors tokens_of(const std::vector<float>& flat, std::int32_t size) {
  Vectors out;
  for (std::size_t i = 0; i < flat.size(); i += static_cast<std::size_t>(size))
    out.emplace_back(flat.begin() + static_cast<std::ptrdiff_t>(i),
                     flat.begin() + static_cast<std::ptrdiff_t>(i) + size);
  return out;
}
double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// The tokens that are scored: the residents of one KV head.
struct Asked {
  std::vector<int> positions;
  Vectors keys;
  Vectors values;
};
using Score = std::function<NaiveRow(const Asked&)>;

NaiveRow short_keys(const Asked& it) {
  NaiveRow out;
  for (std::size_t i = 0; i < it.positions.size(); ++i) out[it.positions[i]] = -dot(it.keys[i], it.keys[i]);
  return out;
}

NaiveRow different_keys(const Asked& it) {
  const std::size_t channels = it.keys[0].size();
  Vector anchor(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (const Vector& key : it.keys) anchor[c] += key[c] / std::max(std::sqrt(dot(key, key)), 1e-12);
    anchor[c] /= static_cast<double>(it.keys.size());
  }
  NaiveRow out;
  for (std::size_t i = 0; i < it.positions.size(); ++i)
    out[it.positions[i]] =
        -dot(it.keys[i], anchor) / (std::max(std::sqrt(dot(it.keys[i], it.keys[i])), 1e-8) *
                                    std::max(std::sqrt(dot(anchor, anchor)), 1e-8));
  return out;
}

/// Softmax over a partition of the standard deviation of its channels, scaled by the next partition.
Vector stands_out(const Vectors& all, std::size_t begin, std::size_t lag) {
  Vector deviation;
  const std::size_t channels = all[0].size();
  for (std::size_t i = begin; i < begin + lag; ++i) {
    Vector scaled;
    for (std::size_t c = 0; c < channels; ++c) {
      double least = 1e9;
      double most = -1e9;
      for (std::size_t j = begin + lag; j < begin + 2 * lag; ++j) {
        least = std::min(least, all[j][c]);
        most = std::max(most, all[j][c]);
      }
      scaled.push_back(most > least ? (all[i][c] - least) / (most - least) : 0);
    }
    double mean = 0;
    for (const double each : scaled) mean += each;
    mean /= static_cast<double>(channels);
    double squares = 0;
    for (const double each : scaled) squares += (each - mean) * (each - mean);
    deviation.push_back(channels > 1 ? std::sqrt(squares / static_cast<double>(channels - 1)) : 0);
  }
  double sum = 0;
  for (const double each : deviation) sum += std::exp(each);
  for (double& each : deviation) each = std::exp(each) / sum;
  return deviation;
}

Score lag_relative(std::size_t sink, std::size_t lag) {
  return [=](const Asked& it) {
    const std::size_t n = it.positions.size();
    NaiveRow out;
    for (std::size_t i = 0; i < n; ++i) out[it.positions[i]] = i < sink ? 2 : 1;
    if (n < sink + 2 * lag) {
      for (std::size_t i = sink; i < n; ++i)
        out[it.positions[i]] = static_cast<double>(i - sink) / static_cast<double>(n - sink);
      return out;
    }
    for (std::size_t part = 0; part + 1 < (n - sink) / lag; ++part) {
      const std::size_t begin = sink + part * lag;
      const Vector keys = stands_out(it.keys, begin, lag);
      const Vector values = stands_out(it.values, begin, lag);
      for (std::size_t i = 0; i < lag; ++i) {
        std::size_t rank = 0;  // the number of lower ones, or equal and older ones
        for (std::size_t j = 0; j < lag; ++j) {
          const double a = (keys[i] + values[i]) / 2;
          const double b = (keys[j] + values[j]) / 2;
          // The two sides compute exponentials differently, so only clear differences count.
          if (b < a - 1e-12 || (std::fabs(a - b) <= 1e-12 && j < i)) ++rank;
        }
        out[it.positions[begin + i]] = static_cast<double>(rank) / static_cast<double>(lag);
      }
    }
    return out;
  };
}

enum class Ties { kNone, kWholeNumbers, kCopies };

void compare(const std::string& name, const std::string& more, std::uint64_t seed, const Score& score,
             Ties ties) {
  Random random(seed, "tensors, " + name);
  const auto group = static_cast<std::int32_t>(1 + random.below(2));
  const auto heads = static_cast<std::int32_t>(1 + random.below(2));
  const auto tokens = static_cast<std::int64_t>(2 + random.below(50));
  LayerTensors made = random_tensors(random, heads, group, tokens, ties == Ties::kWholeNumbers);
  if (ties == Ties::kCopies) repeat_tokens(random, 1 + tokens / 4, made);
  const RecordedTensors recording(std::move(made));
  const std::int64_t prompt = random.between(1, tokens);
  const std::int64_t budget = random.between(1, tokens + 2);
  const std::int64_t every = random.between(0, 6);
  const std::string text =
      name + ":budget=" + std::to_string(budget) + ",every=" + std::to_string(every) + more;
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt) + " of " +
               std::to_string(tokens));
  const Outcome found = run_policy(recording, text, prompt);
  ASSERT_EQ(found.after_prefill.size(), static_cast<std::size_t>(heads));
  for (std::size_t h = 0; h < found.after_prefill.size(); ++h) {
    const Vectors keys = tokens_of(recording.tensors().keys[h], recording.tensors().key_size);
    const Vectors values = tokens_of(recording.tensors().values[h], recording.tensors().value_size);
    std::set<int> kept;
    for (int t = 0; t < static_cast<int>(tokens); ++t) {
      kept.insert(t);
      const std::int64_t generated = t - (prompt - 1);
      if (generated < 0) continue;
      if (generated == 0 || (every > 0 && generated % every == 0)) {
        Asked asked;
        for (const int p : kept) {
          asked.positions.push_back(p);
          asked.keys.push_back(keys[static_cast<std::size_t>(p)]);
          asked.values.push_back(values[static_cast<std::size_t>(p)]);
        }
        kept = naive_best(score(asked), kept, static_cast<int>(budget));
      }
      const std::vector<std::int32_t> expected(kept.begin(), kept.end());
      const auto& sets =
          generated == 0 ? found.after_prefill : found.retained[static_cast<std::size_t>(generated - 1)];
      ASSERT_EQ(sets[h], expected) << "head " << h << ", token " << t;
    }
  }
}

TEST(TensorPolicies, AgainstTheirDefinitions) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    compare("knorm", "", seed, short_keys, seed % 2 == 0 ? Ties::kWholeNumbers : Ties::kNone);
    // With copies of tokens, since otherwise the two sides round differently.
    const Ties ties = seed % 2 == 0 ? Ties::kCopies : Ties::kNone;
    compare("keydiff", "", seed, different_keys, ties);
    compare("lagkv", ",sink=2,lag=5", seed, lag_relative(2, 5), ties);
  }
}

/// The latest queries' softmax over older keys, pooled, minus the softmax of mean cosines.
NaiveRow wanted_and_new(const LayerTensors& all, std::size_t head, const std::vector<int>& kept, int window,
                        int first_query, int reach, double lambda) {
  const auto group = static_cast<std::size_t>(all.query_heads / all.kv_heads);
  const Vectors keys = tokens_of(all.keys[head], all.key_size);
  const std::size_t n = kept.size();
  const std::size_t old = n - static_cast<std::size_t>(window);
  Vector wanted(old);
  double queries = 0;
  for (int t = std::max(first_query, kept.back() - window + 1); t <= kept.back(); ++t) {
    Vector row(old, -1e300);
    for (std::size_t h = head * group; h < (head + 1) * group; ++h) {
      const Vector query = tokens_of(all.queries[h], all.key_size)[static_cast<std::size_t>(t)];
      for (std::size_t i = 0; i < old; ++i)
        row[i] = std::max(row[i], all.scale * dot(query, keys[static_cast<std::size_t>(kept[i])]));
    }
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit);
    for (std::size_t i = 0; i < old; ++i) wanted[i] += std::exp(row[i]) / sum;
    ++queries;
  }
  Vector mean(n);
  for (std::size_t i = 0; i < n; ++i) {
    Vector cosine(n);
    const Vector& a = keys[static_cast<std::size_t>(kept[i])];
    std::size_t latest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const Vector& b = keys[static_cast<std::size_t>(kept[j])];
      if (i != j) cosine[j] = dot(a, b) / ((std::sqrt(dot(a, a)) + 1e-8) * (std::sqrt(dot(b, b)) + 1e-8));
      if (cosine[j] > 0.5) latest = j;
    }
    cosine[latest] = 0;
    for (std::size_t j = 0; j < n; ++j) mean[j] += cosine[j] / static_cast<double>(n);
  }
  double sum = 0;
  for (const double each : mean) sum += std::exp(each);
  NaiveRow out;
  for (std::size_t i = 0; i < old; ++i) {
    double most = 0;
    for (std::size_t j = 0; j < old; ++j)
      if (std::abs(static_cast<int>(i) - static_cast<int>(j)) <= reach)
        most = std::max(most, wanted[j] / queries);
    out[kept[i]] = lambda * most - (1 - lambda) * std::exp(mean[i]) / sum;
  }
  for (std::size_t i = old; i < n; ++i) out[kept[i]] = 1e9;
  return out;
}

/// Makes each key one of a few orthogonal vectors of one length. So cosines are one number or 0, and their sums
/// depend only on counts: ties are exact to the last bit.
void point_along_axes(Random& random, LayerTensors& to) {
  for (auto& keys : to.keys) {
    std::fill(keys.begin(), keys.end(), 0.0F);
    for (std::size_t t = 0; t < static_cast<std::size_t>(to.tokens); ++t)
      keys[t * static_cast<std::size_t>(to.key_size) +
           random.below(static_cast<std::uint64_t>(to.key_size))] = 2.0F;
  }
}

TEST(TensorPolicies, RKvAgainstItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed, "r-kv");
    const auto heads = static_cast<std::int32_t>(1 + random.below(2));
    const auto group = static_cast<std::int32_t>(1 + random.below(2));
    const auto tokens = static_cast<std::int64_t>(4 + random.below(40));
    LayerTensors made = random_tensors(random, heads, group, tokens, false);
    const bool ties = seed > 60;
    if (ties) point_along_axes(random, made);
    // With one channel, cosines are all 1 or -1: ties that rounding decides.
    if (made.key_size < 2 && !ties) continue;
    const RecordedTensors recording(std::move(made));
    const std::int64_t prompt = random.between(1, tokens);
    const int window = static_cast<int>(random.between(1, 5));
    const std::int64_t budget = window + random.between(1, 12);
    const std::int64_t every = random.between(1, 6);
    const int reach = static_cast<int>(random.between(0, 3));
    const double lambda = static_cast<double>(random.between(0, 10)) / 10;
    const std::string text = "r-kv:budget=" + std::to_string(budget) + ",window=" + std::to_string(window) +
                             ",every=" + std::to_string(every) + ",kernel=" + std::to_string(2 * reach + 1) +
                             ",lambda=" + std::to_string(lambda);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text + ", prompt " + std::to_string(prompt));
    const Outcome found = run_policy(recording, text, prompt);
    for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h) {
      std::set<int> kept;
      for (int t = 0; t < static_cast<int>(tokens); ++t) {
        kept.insert(t);
        const std::int64_t generated = t - (prompt - 1);
        if (generated < 0) continue;
        if (generated % every == 0 && static_cast<std::int64_t>(kept.size()) > budget)
          kept = naive_best(
              wanted_and_new(recording.tensors(), h, {kept.begin(), kept.end()}, window,
                             static_cast<int>(std::max<std::int64_t>(0, prompt - window)), reach, lambda),
              kept, static_cast<int>(budget));
        const auto& sets =
            generated == 0 ? found.after_prefill : found.retained[static_cast<std::size_t>(generated - 1)];
        ASSERT_EQ(sets[h], std::vector<std::int32_t>(kept.begin(), kept.end())) << "token " << t;
      }
    }
  }
}

/// Keys (1,0) (0,2) (-1,1) (3,-1) (0,-2) (2,2): norms 1, 2, 1.414, 3.162, 2, 2.828; among equals the newer stays.
TEST(TensorPolicies, KeyNormByHand) {
  LayerTensors tensors{.tokens = 6, .key_size = 2, .value_size = 1, .queries = {}, .keys = {}, .values = {}};
  tensors.queries = {std::vector<float>(12, 1.0F)};
  tensors.keys = {{1, 0, 0, 2, -1, 1, 3, -1, 0, -2, 2, 2}};
  const RecordedTensors recording(std::move(tensors));
  EXPECT_EQ(run_policy(recording, "knorm:budget=3", 6).after_prefill, (Sets{{0, 2, 4}}));
}

TEST(TensorPolicies, SayWhatIsMissing) {
  Random random(1, "missing");
  const auto error = [](const Recording& recording, const std::string& policy) {
    const auto found = evaluate(recording, {.policy = parse_policy(policy).value(), .prompt = 1},
                                [](const LayerReplay&) -> Status { return Done{}; });
    return found.ok() ? std::string() : found.error().to_string();
  };
  const auto rows = recording_of({random_rows(random, 1, 4, RowKind::kSmooth)});
  EXPECT_EQ(error(*rows, "knorm:budget=3"),
            "knorm: decides by keys, which this recording does not have (attention rows only): expected a "
            ".kva file with queries, keys and values");
  LayerTensors tensors = random_tensors(random, 2, 2, 6, false);
  tensors.values.clear();
  const RecordedTensors without(std::move(tensors));
  EXPECT_EQ(error(without, "knorm:budget=3"), "");
  EXPECT_NE(error(without, "lagkv:budget=3").find("decides by values"), std::string::npos);
  EXPECT_NE(error(without, "lagkv:budget=3").find("(queries and keys only)"), std::string::npos);
  EXPECT_NE(error(without, "knorm:budget=3,group=4").find("share a recorded key"), std::string::npos);
  EXPECT_EQ(error(without, "knorm:budget=3,group=1"), "");
}

}  // namespace
}  // namespace kvplan::attention
