// Properties that token policies must have for every input, checked on the bundled recording of a real decoder: all
// layers of its shortest sequence, the first and last layer of the next. tests/unit/attention/invariants_test.cpp
// checks the same on random rows. Here rows, values and query heads that share a KV head are the model's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "simulator/attention/kernels.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/io/attention_json.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan::io {
namespace {

using attention::evaluate;
using attention::EvaluationRequest;
using attention::LayerInfo;
using attention::LayerRows;
using attention::LayerTensors;
using attention::Outcome;
using attention::Recording;
using attention::RecordingInfo;
using attention::Rows;
using attention::Sets;

/// One layer of one sequence of a recording, its tensors read once.
class LayerOf final : public Recording {
 public:
  LayerOf(const Recording& from, std::int32_t sequence, std::int32_t layer)
      : info_(from.info()), tensors_(from.tensors(sequence, layer).value()) {
    LayerInfo only = info_.layer(layer);
    only.layer = 0;
    info_.layers = 1;
    info_.recorded_layers = {only};
    info_.sequences = {info_.sequences[static_cast<std::size_t>(sequence)]};
  }
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t /*sequence*/,
                                                        std::int32_t /*layer*/) const override {
    return attention::rows_from_tensors(tensors_);
  }
  [[nodiscard]] Result<LayerTensors> tensors(std::int32_t /*sequence*/,
                                             std::int32_t /*layer*/) const override {
    return tensors_;
  }
  [[nodiscard]] const LayerTensors& parts() const { return tensors_; }
  [[nodiscard]] Rows rows() const {
    const auto reader = open(0, 0).value();
    Rows out(static_cast<std::size_t>(tensors_.query_heads));
    for (std::int64_t t = 0; t < tensors_.tokens; ++t) {
      EXPECT_TRUE(reader->seek(t).ok());
      for (std::size_t h = 0; h < out.size(); ++h) {
        const double* row = reader->row(static_cast<std::int32_t>(h)).f64;
        out[h].emplace_back(row, row + t + 1);
      }
    }
    return out;
  }

 private:
  RecordingInfo info_;
  LayerTensors tensors_;
};

const Recording& sample() {
  static const std::shared_ptr<const Recording> kSample =
      open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  return *kSample;
}

constexpr std::int64_t kPrompt = 64;
constexpr int kBudgets[] = {8, 24};

struct Case {
  std::int32_t sequence, layer;
  std::shared_ptr<const LayerOf> recording;
};
/// Sequence 7 (135 tokens), all layers, and two of sequence 3 (191 tokens).
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> out;
    const auto add = [&](std::int32_t sequence, std::int32_t layer) {
      out.push_back({sequence, layer, std::make_shared<LayerOf>(sample(), sequence, layer)});
    };
    for (std::int32_t layer = 0; layer < sample().info().layers; ++layer) add(7, layer);
    add(3, 0);
    add(3, sample().info().layers - 1);
    return out;
  }();
  return kCases;
}

template <class Check>
void each_case(const Check& check) {
  for (const Case& each : cases()) {
    SCOPED_TRACE("sequence " + std::to_string(each.sequence) + ", layer " + std::to_string(each.layer));
    check(*each.recording);
  }
}

std::string number(int x) {
  return std::to_string(x);
}
std::string h2o_text(int budget) {
  return "h2o:hh=" + number(budget / 2) + ",recent=" + number(budget - budget / 2);
}
/// Policies that never keep more than a budget after the prompt.
std::vector<std::string> bounded_policies(int budget) {
  std::vector<std::string> out{h2o_text(budget), h2o_text(budget) + ",score_rows=raw",
                               "streaming-llm:sink=4,recent=" + number(budget - 4)};
  for (const char* policy :
       {"window:window=", "tova:budget=", "scissorhands:recent=2,drop=1,budget=",
        "scissorhands:recent=2,history=5,budget=", "seed-proportional:budget=", "seed-lfu:theta=0.05,budget=",
        "seed-lru:theta=0.05,budget=", "random:sink=1,budget="})
    out.push_back(policy + number(budget));
  return out;
}

Outcome outcome(const Recording& recording, const std::string& policy) {
  SCOPED_TRACE(policy);
  return attention::run_policy(recording, policy, kPrompt);
}

double total(const Outcome& found) {
  double out = 0;
  for (const auto& masses : found.mass)
    for (const double mass : masses) out += mass;
  return out;
}

bool contains(const std::vector<std::int32_t>& set, std::int64_t p) {
  return std::binary_search(set.begin(), set.end(), static_cast<std::int32_t>(p));
}

/// 1 and 2: sizes; sets are sorted, and no dropped token returns.
TEST(SampleInvariant, SizesAndNesting) {
  each_case([](const LayerOf& recording) {
    for (const int budget : kBudgets)
      for (const std::string& policy : bounded_policies(budget)) {
        const Outcome found = outcome(recording, policy);
        EXPECT_LE(found.summary.peak_decode_entries, budget + 1) << policy;
        EXPECT_GE(found.summary.peak_bytes, found.summary.bytes);
        for (std::size_t set = 0; set < found.after_prefill.size(); ++set) {
          auto before = found.after_prefill[set];
          for (std::size_t i = 0; i < found.retained.size(); ++i) {
            const auto& now = found.retained[i][set];
            ASSERT_LE(now.size(), static_cast<std::size_t>(budget)) << policy;
            ASSERT_EQ(std::adjacent_find(now.begin(), now.end(), std::greater_equal<>()), now.end());
            before.push_back(static_cast<std::int32_t>(kPrompt) + static_cast<std::int32_t>(i));
            ASSERT_TRUE(std::includes(before.begin(), before.end(), now.begin(), now.end())) << policy;
            before = now;
          }
        }
      }
    const Outcome snap = outcome(recording, "snapkv:window=8,capacity=24");
    for (std::size_t i = 0; i < snap.retained.size(); ++i)
      for (const auto& set : snap.retained[i]) ASSERT_EQ(set.size(), 24 + i + 1);
    const Outcome masked = outcome(recording, "h2o-masked:hh=12,recent=12");
    for (const Sets& sets : masked.retained)
      for (const auto& set : sets) ASSERT_EQ(set.size(), 23U);
  });
}

/// 3: sinks and recent tokens stay; three forms of a window agree.
TEST(SampleInvariant, ProtectedTokensStay) {
  each_case([](const LayerOf& recording) {
    for (const int budget : kBudgets) {
      const Outcome streaming = outcome(recording, "streaming-llm:sink=4,recent=" + number(budget - 4));
      const Outcome h2o = outcome(recording, h2o_text(budget));
      for (std::size_t i = 0; i < h2o.retained.size(); ++i)
        for (std::size_t set = 0; set < h2o.retained[i].size(); ++set) {
          for (int sink = 0; sink < 4; ++sink) ASSERT_TRUE(contains(streaming.retained[i][set], sink));
          for (int back = 0; back < budget - budget / 2; ++back)
            ASSERT_TRUE(contains(h2o.retained[i][set], kPrompt + static_cast<std::int64_t>(i) - back));
        }
      const Outcome window = outcome(recording, "window:window=" + number(budget));
      for (const std::string same : {"streaming-llm:sink=0,recent=", "h2o:hh=0,recent="}) {
        const Outcome found = outcome(recording, same + number(budget));
        EXPECT_EQ(found.retained, window.retained) << same;
        EXPECT_EQ(found.mass, window.mass) << same;
        EXPECT_EQ(found.error, window.error) << same;
      }
    }
  });
}

/// 4: a budget for everything equals the full cache.
TEST(SampleInvariant, BudgetOfEverythingIsFull) {
  each_case([](const LayerOf& recording) {
    const Outcome full = outcome(recording, "full");
    EXPECT_EQ(full.summary.bytes, full.summary.full_bytes);
    for (const std::string& policy : bounded_policies(400)) {
      const Outcome found = outcome(recording, policy);
      EXPECT_EQ(found.summary.bytes - found.summary.metadata_bytes, full.summary.bytes) << policy;
      EXPECT_EQ(found.mass, full.mass) << policy;
      for (const auto& masses : found.mass)
        for (const double mass : masses) EXPECT_NEAR(mass, 1.0, 1e-12);
      for (const auto& errors : found.error)
        for (const double error : errors) EXPECT_NEAR(error, 0.0, 1e-12) << policy;
    }
  });
}

/// 5: H2O's scores of one head sum to the rows seen, minus the scores of dropped tokens; a factor changes nothing.
TEST(SampleInvariant, H2oAddsOneForEveryRow) {
  each_case([](const LayerOf& recording) {
    const Rows rows = recording.rows();
    const auto policy = attention::parse_policy(h2o_text(24)).value();
    for (const auto& head : rows) {
      const auto h2o = policy.kind->make({.choice = policy.choice, .place = {.prompt = kPrompt}});
      std::vector<attention::ResidentSet> sets{{.residents = attention::Residents(1), .drop = {}}};
      attention::Residents& residents = sets[0].residents;
      double lost = 0;
      for (std::size_t t = 0; t < head.size(); ++t) {
        residents.append(static_cast<std::int32_t>(t));
        std::vector<double> row(static_cast<std::size_t>(residents.size()));
        const double sum = attention::gather(head[t].data(), residents.positions(), row);
        const attention::HeadRow seen{.positions = residents.positions(), .weight = row, .divisor = sum};
        h2o->update(0, residents, {&seen, 1});
        double held = 0;
        for (const double score : residents.column(0)) held += score;
        ASSERT_NEAR(held + lost, static_cast<double>(t + 1), 1e-9);
        if (static_cast<std::int64_t>(t) < kPrompt - 1) continue;
        h2o->evict(sets);
        for (const std::int32_t i : sets[0].drop) lost += residents.column(0)[static_cast<std::size_t>(i)];
        residents.drop(sets[0].drop);
        sets[0].drop.clear();
      }
    }
    Rows halved = rows;
    for (auto& head : halved)
      for (auto& row : head)
        for (double& weight : row) weight /= 2;
    for (const char* kind : {",score_rows=raw", ",score_rows=renorm"})
      EXPECT_EQ(outcome(*attention::recording_of({halved}), h2o_text(24) + kind).retained,
                outcome(*attention::recording_of({rows}), h2o_text(24) + kind).retained);
  });
}

/// 6: heads are interchangeable, and a group of equal heads decides as one.
TEST(SampleInvariant, HeadsAreInterchangeable) {
  each_case([](const LayerOf& recording) {
    const Rows rows = recording.rows();
    Rows turned = rows;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    for (const std::string& policy : {h2o_text(24), std::string("scissorhands:recent=2,drop=1,budget=24")}) {
      const Outcome one = outcome(*attention::recording_of({rows}), policy);
      const Outcome two = outcome(*attention::recording_of({turned}), policy);
      for (std::size_t i = 0; i < one.retained.size(); ++i)
        for (std::size_t set = 0; set < rows.size(); ++set)
          ASSERT_EQ(one.retained[i][(set + 1) % rows.size()], two.retained[i][set]) << policy;
    }
    // Two heads: with more, the sum in TOVA's mean may be rounded differently in another order.
    const Rows pair{rows[0], rows[1]};
    const Rows swapped{rows[1], rows[0]};
    EXPECT_EQ(outcome(*attention::recording_of({pair}), "tova:budget=24").retained,
              outcome(*attention::recording_of({swapped}), "tova:budget=24").retained);
    Rows doubled;
    for (const auto& head : rows) doubled.insert(doubled.end(), 2, head);
    const Outcome alone = outcome(*attention::recording_of({rows}), h2o_text(24));
    for (const char* agg : {",group=2,agg=mean", ",group=2,agg=max"})
      EXPECT_EQ(outcome(*attention::recording_of({doubled}), h2o_text(24) + agg).retained, alone.retained);
  });
}

/// 7: the greatest weights of each row bound every policy at every step. Where query heads share a KV head, one choice
/// for both bounds the sum of their masses, not each: the bound of a single head is a choice for it alone (group=1).
/// The best sequence of sets bounds the sum over all steps.
TEST(SampleInvariant, OraclesBoundEveryPolicy) {
  each_case([](const LayerOf& recording) {
    for (const int budget : kBudgets) {
      const Outcome top = outcome(recording, "oracle-topk:k=" + number(budget + 1));
      const Outcome alone = outcome(recording, "oracle-topk:group=1,k=" + number(budget + 1));
      const auto group = static_cast<std::size_t>(recording.info().group);
      EXPECT_EQ(group, 2U);
      const Outcome exact = outcome(recording, "oracle-exact:budget=" + number(budget));
      const Outcome suffix = outcome(recording, "oracle-suffix:budget=" + number(budget));
      EXPECT_GE(total(exact), total(suffix) - 1e-9);
      EXPECT_GE(total(top), total(exact) - 1e-9);
      for (const std::string& policy : bounded_policies(budget)) {
        const Outcome found = outcome(recording, policy);
        EXPECT_GE(total(exact), total(found) - 1e-9) << policy;
        for (std::size_t i = 0; i < found.mass.size(); ++i)
          for (std::size_t h = 0; h < found.mass[i].size(); h += group) {
            ASSERT_LE(found.mass[i][h], alone.mass[i][h] + 1e-12) << policy << ", step " << i;
            ASSERT_LE(found.mass[i][h + 1], alone.mass[i][h + 1] + 1e-12) << policy << ", step " << i;
            ASSERT_LE(found.mass[i][h] + found.mass[i][h + 1], top.mass[i][h] + top.mass[i][h + 1] + 1e-12)
                << policy << ", step " << i;
          }
      }
    }
  });
}

/// 8: a larger budget never has less mass, at every step if sets are nested; for the exact oracle, in sum.
TEST(SampleInvariant, MassGrowsWithTheBudget) {
  each_case([](const LayerOf& recording) {
    const auto one_head = attention::recording_of({{recording.rows()[0]}});
    const auto expect_monotone = [](const Recording& of, const std::string& before,
                                    const std::function<int(int)>& tokens) {
      std::vector<std::vector<double>> less;
      for (const int budget : {8, 9, 24}) {
        const Outcome found = outcome(of, before + number(tokens(budget)));
        for (std::size_t i = 0; i < less.size(); ++i)
          for (std::size_t h = 0; h < less[i].size(); ++h)
            ASSERT_GE(found.mass[i][h], less[i][h] - 1e-12) << before << budget << ", step " << i;
        less = found.mass;
      }
    };
    const auto same = [](int budget) { return budget; };
    expect_monotone(recording, "oracle-topk:k=", same);
    expect_monotone(recording, "window:window=", same);
    expect_monotone(recording, "streaming-llm:sink=4,recent=", [](int budget) { return budget - 4; });
    expect_monotone(*one_head, "tova:budget=", same);
    double less = 0;
    for (const int budget : {8, 9, 24}) {
      const double more = total(outcome(recording, "oracle-exact:budget=" + number(budget)));
      EXPECT_GE(more, less - 1e-9);
      less = more;
    }
  });
}

/// 9 holds only for means, not for each sequence or layer: over six sequences and three layers.
TEST(SampleInvariant, AttentionBeatsTheLotOnTheMean) {
  double lot = 0;
  double h2o = 0;
  double tova = 0;
  for (const std::int32_t sequence : {1, 2, 3, 5, 6, 7})
    for (const std::int32_t layer : {0, 3, 5}) {
      const LayerOf recording(sample(), sequence, layer);
      lot += *outcome(recording, "random:budget=32").summary.mean_mass;
      h2o += *outcome(recording, h2o_text(32)).summary.mean_mass;
      tova += *outcome(recording, "tova:budget=32").summary.mean_mass;
    }
  EXPECT_GT(h2o, lot);
  EXPECT_GT(tova, lot);
}

/// 10: without noise and at temperature 1, Keyformer's scores equal H2O's.
TEST(SampleInvariant, KeyformerAtTemperatureOneIsH2o) {
  constexpr int kKept = kPrompt * 60 / 100;
  constexpr int kRecent = kKept * 30 / 100;
  each_case([](const LayerOf& recording) {
    const auto rows = attention::recording_of({recording.rows()});
    EXPECT_EQ(outcome(*rows, "keyformer:tau_init=1,tau_delta=0").retained,
              outcome(*rows, "h2o:hh=" + number(kKept - kRecent) + ",recent=" + number(kRecent)).retained);
  });
}

/// 11: with recorded rows, a higher threshold keeps a subset; a threshold of 0 keeps everything.
TEST(SampleInvariant, ThresholdsAreNested) {
  each_case([](const LayerOf& recording) {
    EXPECT_EQ(outcome(recording, "seed-threshold:threshold=0").retained, outcome(recording, "full").retained);
    const Outcome low = outcome(recording, "seed-threshold:score_rows=raw,threshold=0.005");
    const Outcome high = outcome(recording, "seed-threshold:score_rows=raw,threshold=0.02");
    for (std::size_t i = 0; i < low.retained.size(); ++i)
      for (std::size_t set = 0; set < low.retained[i].size(); ++set)
        ASSERT_TRUE(std::includes(low.retained[i][set].begin(), low.retained[i][set].end(),
                                  high.retained[i][set].begin(), high.retained[i][set].end()));
  });
}

double length(const std::vector<double>& x) {
  double squares = 0;
  for (const double each : x) squares += each * each;
  return std::sqrt(squares);
}

/// 18: |o - o'| <= 2 (1 - m) max |v|, with the mass m that is attended.
TEST(SampleInvariant, ErrorsAreBoundedByTheMassThatIsLost) {
  each_case([](const LayerOf& recording) {
    const Rows rows = recording.rows();
    const LayerTensors& parts = recording.parts();
    const auto size = static_cast<std::size_t>(parts.value_size);
    const std::size_t group = rows.size() / parts.values.size();
    for (const std::string& policy : bounded_policies(24)) {
      const Outcome found = outcome(recording, policy);
      for (std::size_t i = 0; i < found.error.size(); ++i)
        for (std::size_t h = 0; h < rows.size(); ++h) {
          const std::size_t t = static_cast<std::size_t>(kPrompt) + i;
          const std::vector<float>& values = parts.values[h / group];
          std::vector<double> output(size);
          double longest = 0;
          for (std::size_t token = 0; token <= t; ++token) {
            std::vector<double> value(values.begin() + static_cast<std::ptrdiff_t>(token * size),
                                      values.begin() + static_cast<std::ptrdiff_t>((token + 1) * size));
            for (std::size_t c = 0; c < size; ++c) output[c] += rows[h][t][token] * value[c];
            longest = std::max(longest, length(value));
          }
          ASSERT_LE(found.error[i][h] * length(output), 2 * (1 - found.mass[i][h]) * longest + 1e-9)
              << policy << ", step " << i << ", head " << h;
        }
    }
  });
}

/// 20: the same results again, after opening the file again.
TEST(SampleInvariant, TheSameAgain) {
  const auto again =
      open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva").value();
  const LayerOf other(*again, 7, 2);
  const LayerOf one(sample(), 7, 2);
  for (const std::string& policy : bounded_policies(24)) {
    const Outcome a = outcome(one, policy);
    const Outcome b = outcome(other, policy);
    EXPECT_EQ(a.retained, b.retained) << policy;
    EXPECT_EQ(a.mass, b.mass) << policy;
    EXPECT_EQ(a.error, b.error) << policy;
  }
}

}  // namespace
}  // namespace kvplan::io
