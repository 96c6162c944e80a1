// Points and bounds compared with complete lists that are sorted and averaged, on random recordings.
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>

#include "simulator/frontier/frontier.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"
#include "tests/unit/frontier/frontier_cases.h"

namespace kvplan::frontier {
namespace {

using attention::Outcome;
using attention::Recording;

double mean(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

void append(std::vector<double>& to, const std::vector<std::vector<double>>& steps) {
  for (const auto& step : steps) to.insert(to.end(), step.begin(), step.end());
}

/// The recorded rows of decode steps, each sorted by descending weight.
std::vector<std::vector<double>> sorted_rows(const Recording& recording, std::int64_t prompt) {
  std::vector<std::vector<double>> out;
  for (std::int32_t layer = 0; layer < recording.info().layers; ++layer) {
    const auto rows = recording.open(0, layer).value();
    for (std::int64_t t = prompt; t < recording.info().sequences[0].tokens; ++t) {
      EXPECT_TRUE(rows->seek(t).ok());
      for (std::int32_t h = 0; h < recording.info().query_heads; ++h) {
        out.emplace_back(rows->row(h).f64, rows->row(h).f64 + t + 1);
        std::sort(out.back().begin(), out.back().end(), std::greater<>());
      }
    }
  }
  return out;
}

/// For every decode step and query head: which of the attended tokens are among the same number of largest weights.
void add_overlaps(std::vector<double>& to, const Recording& recording, std::int32_t layer,
                  const Outcome& alone, const std::string& policy, std::int64_t prompt) {
  const auto rows = recording.open(0, layer).value();
  const auto heads = static_cast<std::size_t>(recording.info().query_heads);
  for (std::size_t step = 0; step < alone.retained.size(); ++step) {
    const auto t = static_cast<std::int32_t>(prompt + static_cast<std::int64_t>(step));
    EXPECT_TRUE(rows->seek(t).ok());
    const bool makes_room = policy.starts_with("seed-lfu");
    const auto& sets = makes_room  ? alone.retained[step]
                       : step == 0 ? alone.after_prefill
                                   : alone.retained[step - 1];
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<std::int32_t> own(sets[h * sets.size() / heads].begin(),
                                    sets[h * sets.size() / heads].end());
      if (!makes_room) own.push_back(t);
      const double* row = rows->row(static_cast<std::int32_t>(h)).f64;
      std::size_t among = 0;
      for (const std::int32_t i : own) {
        std::size_t better = 0;  // among equal weights, the newer one
        for (std::int32_t k = 0; k <= t; ++k)
          better += row[k] > row[i] || (row[k] == row[i] && k > i) ? 1 : 0;
        among += better < own.size() ? 1 : 0;
      }
      to.push_back(static_cast<double>(among) / static_cast<double>(own.size()));
    }
  }
}

TEST(Frontier, PoolsWhatEachPolicyDoesAlone) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "frontier");
    const bool tensors = random.chance(1, 2);
    const std::int64_t prompt = 9;
    Request request{.inputs = {}, .lanes = {}, .storages = full(), .prompt = prompt};
    for (const char* name : {"one", "two"}) {
      const auto tokens = 12 + static_cast<int>(random.below(30));
      if (tensors) {
        request.inputs.push_back({name, std::make_shared<attention::RecordedTensors>(
                                            attention::random_tensors(random, 2, 2, tokens, false))});
      } else {
        const auto kind = random.chance(1, 2) ? attention::RowKind::kTies : attention::RowKind::kSmooth;
        request.inputs.push_back(
            {name, attention::recording_of({attention::random_rows(random, 4, tokens, kind),
                                            attention::random_rows(random, 4, tokens, kind)},
                                           2)});
      }
    }
    const std::vector<std::int64_t> budgets{8, 1 + static_cast<std::int64_t>(random.below(5)) + 8, 40};
    request.lanes =
        lanes_of("h2o;window;tova;snapkv:window=3;seed-lfu;h2o-masked;random;streaming-llm;full;oracle-topk",
                 budgets)
            .value();
    const auto ran = run(request, go_on);
    ASSERT_TRUE(ran.ok()) << ran.error().to_string();
    const Frontier& found = ran.value();
    ASSERT_EQ(found.points.size(), request.lanes.size());
    EXPECT_EQ(found.sequences, 2);

    std::vector<std::vector<double>> rows;
    for (const Input& input : request.inputs)
      for (auto& row : sorted_rows(*input.recording, prompt)) rows.push_back(std::move(row));
    const auto most = [&](std::int64_t entries) {
      std::vector<double> sums;
      for (const auto& row : rows) {
        const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(row.size()), entries);
        sums.push_back(std::accumulate(row.begin(), row.begin() + count, 0.0));
      }
      return mean(sums);
    };
    for (const OraclePoint& point : found.oracle)
      EXPECT_NEAR(point.mass_mean.value(), most(point.entries), 1e-12) << point.entries;

    for (const Point& point : found.points) {
      const std::string policy = request.lanes[point.lane].policy.choice.to_string();
      SCOPED_TRACE(policy);
      std::vector<double> masses;
      std::vector<double> errors;
      std::vector<double> overlaps;
      std::int64_t bytes = 0;
      std::int64_t tokens = 0;
      for (const Input& input : request.inputs) {
        tokens += input.recording->info().sequences[0].tokens;
        for (int layer = 0; layer < input.recording->info().layers; ++layer) {
          const Outcome alone = attention::run_policy(*input.recording, policy, prompt, layer);
          append(masses, alone.mass);
          append(errors, alone.error);
          if (point.overlap_mean) add_overlaps(overlaps, *input.recording, layer, alone, policy, prompt);
          bytes += alone.summary.bytes;
        }
      }
      EXPECT_NEAR(point.mass_mean.value(), mean(masses), 1e-12);
      EXPECT_EQ(point.mass_min.value(), *std::min_element(masses.begin(), masses.end()));
      EXPECT_DOUBLE_EQ(point.bytes_per_token, static_cast<double>(bytes) / static_cast<double>(tokens));
      const bool reads_a_part = policy.starts_with("h2o-masked") || policy.starts_with("oracle-topk");
      EXPECT_EQ(point.overlap_mean.has_value(), !reads_a_part);
      if (point.overlap_mean) {
        EXPECT_NEAR(*point.overlap_mean, mean(overlaps), 1e-12);
      }
      if (policy.starts_with("full")) {
        EXPECT_EQ(*point.overlap_mean, 1);
      }
      EXPECT_EQ(point.error_mean.has_value(), tensors);
      if (tensors) {
        EXPECT_NEAR(point.error_mean.value(), mean(errors), 1e-12);
        std::sort(errors.begin(), errors.end());
        std::size_t rank = 1;
        while (100 * rank < 95 * errors.size()) ++rank;
        EXPECT_EQ(point.error_p95.value(), errors[rank - 1]);
      }
      // The bound for equal numbers of entries: step by step, and on the line.
      EXPECT_LE(*point.mass_mean, *point.oracle_mass_mean + 1e-12);
      EXPECT_LE(*point.mass_mean, most(point.entries_max) + 1e-12);
      const auto on_line =
          std::find_if(found.oracle.begin(), found.oracle.end(),
                       [&](const OraclePoint& each) { return each.entries >= point.entries_max; });
      ASSERT_NE(on_line, found.oracle.end()) << "the line reaches as far as any policy";
      EXPECT_LE(*point.mass_mean, *on_line->mass_mean + 1e-12);
    }
  }
}

TEST(Frontier, ABudgetBeyondTheSequenceIsTheFullCache) {
  Random random(5, "frontier");
  Request request{.inputs = {{"x", attention::recording_of({attention::random_rows(
                                       random, 2, 20, attention::RowKind::kSmooth)})}},
                  .lanes = lanes_of("full;tova;snapkv:window=2", std::vector<std::int64_t>{30}).value(),
                  .storages = full()};
  const Frontier found = run(request, go_on).value();
  for (const Point& point : found.points) {
    EXPECT_EQ(point.bytes_per_token, found.full_bytes_per_token);
    EXPECT_NEAR(*point.mass_mean, 1, 1e-12);
    EXPECT_EQ(*point.mass_mean, *point.oracle_mass_mean) << "the same numbers, added alike";
  }
  EXPECT_NE(found.assumptions.front().find("first half"), std::string::npos);
}

TEST(Frontier, WithoutDecodeStepsThereAreBytesAlone) {
  Random random(6, "frontier");
  Request request{.inputs = {{"x", attention::recording_of({attention::random_rows(
                                       random, 1, 20, attention::RowKind::kSmooth)})}},
                  .lanes = lanes_of("window", std::vector<std::int64_t>{5}).value(),
                  .storages = full(),
                  .prompt = 20};
  const Frontier found = run(request, go_on).value();
  EXPECT_DOUBLE_EQ(found.points[0].bytes_per_token, found.full_bytes_per_token / 4);
  EXPECT_FALSE(found.points[0].mass_mean || found.points[0].mass_min || found.points[0].error_mean ||
               found.points[0].error_p95 || found.points[0].oracle_mass_mean || found.oracle[0].mass_mean);
}

/// A recording with a class for each token: 0 is `user`, 1 is `needle`.
class Classed final : public Recording {
 public:
  Classed(std::shared_ptr<const Recording> inner, std::vector<std::uint8_t> classes)
      : inner_(std::move(inner)), info_(inner_->info()), classes_(std::move(classes)) {
    info_.token_classes = {"user", "needle"};
  }
  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    return inner_->open(sequence, layer);
  }
  [[nodiscard]] Result<std::vector<std::uint8_t>> token_classes(std::int32_t /*sequence*/) const override {
    return classes_;
  }

 private:
  std::shared_ptr<const Recording> inner_;
  attention::RecordingInfo info_;
  std::vector<std::uint8_t> classes_;
};

TEST(Frontier, NeedleRecallIsTheShareOfNeedlesKept) {
  Random random(9, "needles");
  constexpr int kTokens = 30;
  constexpr int kPrompt = 12;
  std::vector<std::uint8_t> classes(kTokens);
  for (const std::size_t needle : {3U, 4U, 15U}) classes[needle] = 1;
  const auto recording = std::make_shared<Classed>(
      attention::recording_of({attention::random_rows(random, 2, kTokens, attention::RowKind::kSmooth),
                               attention::random_rows(random, 2, kTokens, attention::RowKind::kSmooth)}),
      classes);
  const Request request{
      .inputs = {{"x", recording}},
      .lanes = lanes_of("window;h2o;oracle-topk;full", std::vector<std::int64_t>{8}).value(),
      .storages = full(),
      .prompt = kPrompt};
  const Frontier found = run(request, go_on).value();
  for (const Point& point : found.points) {
    const std::string policy = request.lanes[point.lane].policy.choice.to_string();
    SCOPED_TRACE(policy);
    std::vector<double> shares;
    for (int layer = 0; layer < 2; ++layer) {
      const Outcome alone = attention::run_policy(*recording, policy, kPrompt, layer);
      for (int t = kPrompt - 1; t < kTokens; ++t) {
        const attention::Sets& sets =
            t < kPrompt ? alone.after_prefill : alone.retained[static_cast<std::size_t>(t - kPrompt)];
        for (const auto& set : sets) {
          double kept = 0;
          for (const std::int32_t position : set) kept += classes[static_cast<std::size_t>(position)];
          shares.push_back(kept / (t < 15 ? 2 : 3));
        }
      }
    }
    ASSERT_TRUE(point.needle_recall.has_value());
    EXPECT_NEAR(*point.needle_recall, mean(shares), 1e-12);
    EXPECT_FALSE(point.mass_standard_error.has_value()) << "of one sequence there is no error";
  }
  EXPECT_EQ(*found.points[3].needle_recall, 1.0);
}

TEST(Frontier, AnyNumberOfThreadsGivesTheSameBits) {
  Random random(10, "threads");
  Request request{.inputs = {},
                  .lanes = lanes_of("h2o;tova;window;random", std::vector<std::int64_t>{4, 9}).value(),
                  .storages = storages_of("full;int8").value(),
                  .prompt = 6};
  for (int i = 0; i < 7; ++i)
    request.inputs.push_back({"input " + std::to_string(i),
                              std::make_shared<attention::RecordedTensors>(attention::random_tensors(
                                  random, 2, 2, 8 + static_cast<std::int64_t>(random.below(40)), false))});
  const Frontier alone = run(request, go_on).value();
  for (const int threads : {2, 3, 16}) {
    request.threads = threads;
    const Frontier found = run(request, go_on).value();
    ASSERT_EQ(found.points.size(), alone.points.size());
    for (std::size_t i = 0; i < found.points.size(); ++i) {
      const Point& a = found.points[i];
      const Point& b = alone.points[i];
      EXPECT_EQ(a.bytes_per_token, b.bytes_per_token);
      EXPECT_EQ(a.mass_mean, b.mass_mean);
      EXPECT_EQ(a.mass_min, b.mass_min);
      EXPECT_EQ(a.error_mean, b.error_mean);
      EXPECT_EQ(a.error_p95, b.error_p95);
      EXPECT_EQ(a.entries_mean, b.entries_mean);
      EXPECT_EQ(a.oracle_mass_mean, b.oracle_mass_mean);
      EXPECT_EQ(a.mass_standard_error, b.mass_standard_error);
      EXPECT_TRUE(a.mass_standard_error.has_value());
      EXPECT_EQ(a.error_standard_error, b.error_standard_error);
      EXPECT_TRUE(a.error_standard_error.has_value());
    }
    ASSERT_EQ(found.oracle.size(), alone.oracle.size());
    for (std::size_t i = 0; i < found.oracle.size(); ++i)
      EXPECT_EQ(found.oracle[i].mass_mean, alone.oracle[i].mass_mean);
    EXPECT_EQ(found.assumptions, alone.assumptions);
  }
}

/// Whatever fails later on another thread, the reported error is that of the first input with an error.
TEST(Frontier, TheFirstErrorIsTold) {
  Random random(11, "errors");
  Request request{.inputs = {},
                  .lanes = lanes_of("knorm", std::vector<std::int64_t>{4}).value(),
                  .storages = full(),
                  .prompt = 3,
                  .threads = 4};
  for (int i = 0; i < 8; ++i) {
    if (i < 3) {
      request.inputs.push_back({"good", std::make_shared<attention::RecordedTensors>(
                                            attention::random_tensors(random, 1, 1, 200, false))});
    } else {
      request.inputs.push_back(
          {"rows " + std::to_string(i),
           attention::recording_of({attention::random_rows(random, 1, 9, attention::RowKind::kSmooth)})});
    }
  }
  for (int round = 0; round < 20; ++round) {
    const auto failed = run(request, go_on);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().file, "rows 3");
  }
}

TEST(Frontier, ComponentsAreSplitOutsideQuotesAndBrackets) {
  EXPECT_EQ(split_components("a; b:x=\"1;2\",y=(3;4) ;c").value(),
            (std::vector<std::string>{"a", "b:x=\"1;2\",y=(3;4)", "c"}));
  EXPECT_FALSE(split_components("a;;b").ok());
  EXPECT_FALSE(split_components("").ok());
}

}  // namespace
}  // namespace kvplan::frontier
