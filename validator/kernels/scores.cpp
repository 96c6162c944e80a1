#include "validator/kernels/scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "validator/kernels/decode_cache.h"
#include "validator/kernels/paged_problem.h"

namespace kvplan::validator {
namespace {

constexpr double kTolerance = 1e-5;

std::vector<ScoreRow> rows_of(const Case& of) {
  std::vector<ScoreRow> rows;
  std::int64_t first = 0;
  for (std::size_t b = 0; b < of.lengths.size(); ++b)
    for (std::int32_t h = 0; h < of.kv_heads; ++h) {
      rows.push_back({.first = first,
                      .tokens = static_cast<std::int32_t>(of.lengths[b]),
                      .head = static_cast<std::int32_t>(b) * of.query_heads + h * of.group()});
      first += (of.lengths[b] + 3) / 4 * 4;
    }
  return rows;
}
std::int64_t places_of(const std::vector<ScoreRow>& rows) {
  return rows.empty() ? 0 : rows.back().first + (rows.back().tokens + 3) / 4 * 4;
}
std::int32_t most_tokens(const Case& of) {
  return static_cast<std::int32_t>(*std::max_element(of.lengths.begin(), of.lengths.end()));
}

/// For timing, floats are made up as pairs of bf16: the upper half of a float is a bf16.
MadeUp floats(std::uint64_t seed) {
  return {.seed = seed, .stored = Stored::kBf16};
}

std::vector<float> made_up_floats(std::uint64_t seed, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = made_up(seed, i);
  return values;
}

class Accumulate final : public ListedProblem {
 public:
  Accumulate(const Case& of, Purpose purpose)
      : of_(of), rows_(rows_of(of)), stride_((most_tokens(of) + 3) / 4 * 4) {
    const std::int64_t heads = of.sequences() * of.query_heads, places = places_of(rows_);
    const bool check = purpose == Purpose::kCheck;
    if (check) {
      logits_ = made_up_floats(of.seed, heads * stride_);
      acc_ = made_up_floats(of.seed + 1, places);
      for (float& acc : acc_) acc = std::abs(acc);
    }
    for (std::int64_t i = 0; i < heads; ++i)
      lse_.push_back(4 + made_up(of.seed + 2, static_cast<std::uint64_t>(i)));
    for (std::int64_t b = 0; b < of.sequences(); ++b)
      if (of.lengths[static_cast<std::size_t>(b)] == 0)  // nothing was kept
        std::fill_n(lse_.begin() + b * of.query_heads, of.query_heads, -INFINITY);
    add("logits", bytes_of_vector(logits_), floats(of.seed), heads * stride_ * 4, purpose);
    region(add("acc", bytes_of_vector(acc_), floats(of.seed + 1), places * 4, purpose)).result = true;
    add("lse", lse_);
    add("rows", rows_);
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {AccumulateArguments{.logits = in<float>(at, 0),
                                .lse = in<float>(at, 2),
                                .acc = out_of<float>(at, 1),
                                .rows = in<ScoreRow>(at, 3),
                                .stride = stride_,
                                .row_count = static_cast<std::int32_t>(rows_.size()),
                                .group = of_.group(),
                                .most_tokens = most_tokens(of_)}};
  }

  [[nodiscard]] Roofline roofline() const override {
    double tokens = 0;
    for (const ScoreRow& row : rows_) tokens += row.tokens;
    return {.bytes = tokens * (4.0 * of_.group() + 8), .flops = tokens * 5.0 * of_.group()};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    std::vector<float> found(results[0].size() / 4);
    std::memcpy(found.data(), results[0].data(), results[0].size());
    std::vector<double> expected(acc_.begin(), acc_.end());
    for (const ScoreRow& row : rows_)
      for (std::int64_t v = 0; v < row.tokens; ++v)
        for (std::int32_t g = 0; g < of_.group(); ++g)
          expected[static_cast<std::size_t>(row.first + v)] +=
              std::exp2(static_cast<double>(logits_[static_cast<std::size_t>((row.head + g) * stride_ + v)]) -
                        static_cast<double>(lse_[static_cast<std::size_t>(row.head + g)]));
    return compare_rows(found, expected, 1, kTolerance);
  }

 private:
  Case of_;
  std::vector<ScoreRow> rows_;
  std::int64_t stride_;
  std::vector<float> logits_, acc_, lse_;
};

class TopK final : public ListedProblem {
 public:
  TopK(const Case& of, Purpose purpose) : of_(of), rows_(rows_of(of)) {
    if (purpose == Purpose::kCheck) {
      scores_ = made_up_floats(of.seed, places_of(rows_));
      for (std::size_t i = 0; i < scores_.size(); i += 2) scores_[i] = std::round(scores_[i]) + 0.0F;
    }
    add("scores", bytes_of_vector(scores_), floats(of.seed), places_of(rows_) * 4, purpose);
    add("rows", rows_);
    add({.name = "kept", .size = static_cast<std::int64_t>(rows_.size()) * of.budget * 4, .result = true});
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {TopKArguments{.scores = in<float>(at, 0),
                          .rows = in<ScoreRow>(at, 1),
                          .kept = out_of<std::int32_t>(at, 2),
                          .row_count = static_cast<std::int32_t>(rows_.size()),
                          .budget = static_cast<std::int32_t>(of_.budget)}};
  }

  [[nodiscard]] Roofline roofline() const override {
    double bytes = 0;
    for (const ScoreRow& row : rows_) bytes += 4.0 * row.tokens + 4.0 * static_cast<double>(of_.budget);
    return {.bytes = bytes};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    std::vector<std::int32_t> expected;
    for (const ScoreRow& row : rows_) {
      std::vector<std::int32_t> order(static_cast<std::size_t>(row.tokens));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return in_order(scores_[static_cast<std::size_t>(row.first + a)]) >
               in_order(scores_[static_cast<std::size_t>(row.first + b)]);
      });
      order.resize(std::min(order.size(), static_cast<std::size_t>(of_.budget)));
      std::sort(order.begin(), order.end());
      order.resize(static_cast<std::size_t>(of_.budget), -1);
      expected.insert(expected.end(), order.begin(), order.end());
    }
    return compare_bytes(results[0], bytes_of_vector(expected), "kept tokens");
  }

 private:
  Case of_;
  std::vector<ScoreRow> rows_;
  std::vector<float> scores_;
};

std::vector<Case> cases_of(const char* kernel, CaseSet set, const MachineFacts& machine, bool budgets) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  const auto add = [&](std::vector<std::int64_t> lengths, std::int64_t budget) {
    Case of{.kernel = kernel};
    of.lengths = std::move(lengths);
    of.budget = budgets ? budget : 0;
    of.seed = cases.size() + 1;
    cases.push_back(std::move(of));
  };
  if (set == CaseSet::kFine) return cases;
  if (set == CaseSet::kCheck || set == CaseSet::kSanitize) {
    add({1000, 0, 3, 257}, 64);
    add({5000, 12}, 2000);
    add({300}, 1);
    return cases;
  }
  const std::vector<std::int64_t> lengths = set == CaseSet::kUnseen
                                                ? std::vector<std::int64_t>{3000, 12000}
                                                : std::vector<std::int64_t>{1024, 4096, 16384};
  for (const std::int64_t length : lengths)
    for (const std::int64_t batch : {1, 16}) add(equal_lengths(batch, host ? length / 8 : length * 2), 256);
  return cases;
}

}  // namespace

Result<std::unique_ptr<Problem>> make_accumulate(const Case& of, Purpose purpose,
                                                 const MachineFacts& /*machine*/) {
  KVPLAN_TRY_DO(check_shape(of));
  return std::unique_ptr<Problem>(std::make_unique<Accumulate>(of, purpose));
}

Result<std::unique_ptr<Problem>> make_top_k(const Case& of, Purpose purpose,
                                            const MachineFacts& /*machine*/) {
  KVPLAN_TRY_DO(check_shape(of));
  if (of.budget < 1 || of.budget > (1 << 24))
    return bad_input(std::to_string(of.budget) + ", expected 1 to 16777216").at_field("budget");
  return std::unique_ptr<Problem>(std::make_unique<TopK>(of, purpose));
}

std::vector<Case> accumulate_cases(CaseSet set, const MachineFacts& machine) {
  return cases_of("scores", set, machine, false);
}
std::vector<Case> top_k_cases(CaseSet set, const MachineFacts& machine) {
  return cases_of("top-k", set, machine, true);
}

}  // namespace kvplan::validator
