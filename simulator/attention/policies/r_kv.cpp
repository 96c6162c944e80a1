// R-KV: after every `every` tokens, tokens are scored by their importance to the latest queries minus how much they
// repeat others (the cosine of their keys).
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simulator/attention/kept_counts.h"
#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"
#include "simulator/attention/selection.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention::r_kv {
namespace {

constexpr double kAlike = 0.5;  // cosine from which on two keys count as equal
constexpr double kTiny = 1e-8;  // added to a norm that may be zero, as in the original code

class RKv final : public SetPolicy {
 public:
  explicit RKv(const LayerInput& input)
      : place_(input.place),
        budget_(input.choice.integer("budget")),
        window_(static_cast<std::size_t>(input.choice.integer("window"))),
        kernel_(input.choice.integer("kernel")),
        every_(input.choice.integer("every")),
        lambda_(input.choice.decimal("lambda")),
        latest_(static_cast<std::size_t>(input.place.kv_heads())) {}

  void tensors(const LayerRows& rows) override { rows_ = &rows; }

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    auto& rows = latest_[static_cast<std::size_t>(set)];
    if (rows.size() == window_) rows.pop_front();
    const auto positions = residents.positions();
    rows.push_back({{positions.begin(), positions.end()}, {}});
    auto& logits = rows.back().logits;
    logits.assign(positions.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const double* row = rows_->exact_row(set * place_.group + static_cast<std::int32_t>(h)).logits;
      for (std::size_t i = 0; i < positions.size(); ++i) logits[i] = std::max(logits[i], row[positions[i]]);
    }
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const auto positions = residents.positions();
    const std::int64_t generated = positions.back() - (place_.prompt - 1);
    const std::int64_t excess = residents.size() - budget_;
    if (excess <= 0 || generated % every_ != 0) return;
    const auto old = positions.first(positions.size() - window_);
    const std::vector<double> wanted = pool(importance(set, old), kernel_, Pooling::kMax);
    const std::vector<double> repeated = redundancy(rows_->keys(set * place_.group), positions);
    std::vector<double> score;
    for (std::size_t i = 0; i < old.size(); ++i)
      score.push_back(wanted[i] * lambda_ - repeated[i] * (1 - lambda_));
    lowest(score, static_cast<std::int32_t>(excess), drop);
  }

 private:
  struct Row {
    std::vector<std::int32_t> positions;
    std::vector<double> logits;  ///< largest over the query heads of the KV head
  };

  /// Mean over the latest queries of the softmax over `old` alone.
  [[nodiscard]] std::vector<double> importance(std::int32_t set, std::span<const std::int32_t> old) const {
    const auto& rows = latest_[static_cast<std::size_t>(set)];
    std::vector<double> out(old.size());
    std::vector<double> row(old.size());
    for (const Row& each : rows) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < old.size(); ++i) {
        while (each.positions[at] != old[i]) ++at;
        row[i] = each.logits[at];
      }
      const double sum = exp_with_sink(row, -std::numeric_limits<double>::infinity()).sum;
      if (sum == 0) continue;  // all of them lie before this query's window
      for (std::size_t i = 0; i < old.size(); ++i) out[i] += row[i] / sum;
    }
    for (double& each : out) each /= static_cast<double>(rows.size());
    return out;
  }

  /// Softmax of the mean cosine with the other keys; for each key the latest similar key is left out.
  [[nodiscard]] static std::vector<double> redundancy(KeyView keys, std::span<const std::int32_t> positions) {
    const std::size_t n = positions.size();
    const auto size = static_cast<std::size_t>(keys.size);
    std::vector<double> unit(n * size);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int32_t c = 0; c < keys.size; ++c) sum += keys.at(positions[i], c) * keys.at(positions[i], c);
      for (std::int32_t c = 0; c < keys.size; ++c)
        unit[i * size + static_cast<std::size_t>(c)] = keys.at(positions[i], c) / (std::sqrt(sum) + kTiny);
    }
    std::vector<double> out(n);
    std::vector<double> row(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t latest = 0;  // if no key is similar, the first one
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = 0;
        if (i == j) continue;
        for (std::size_t c = 0; c < size; ++c) row[j] += unit[i * size + c] * unit[j * size + c];
        if (row[j] > kAlike) latest = j;
      }
      row[latest] = 0;
      for (std::size_t j = 0; j < n; ++j) out[j] += row[j];
    }
    for (double& each : out) each /= static_cast<double>(n);
    const double sum = exp_from_max(out);
    for (double& each : out) each /= sum;
    return out;
  }

  LayerPlace place_;
  std::int64_t budget_;
  std::size_t window_;
  std::int64_t kernel_;
  std::int64_t every_;
  double lambda_;
  const LayerRows* rows_{nullptr};
  std::vector<std::deque<Row>> latest_;  ///< [set] the latest queries, at most `window`
};

constexpr std::array kParams{
    tokens_param("budget", "Tokens kept", 1),
    Param{.name = "window",
          .help = "Newest tokens: always kept, and their queries determine importance",
          .unit = Unit::kTokens,
          .fallback = "8",
          .low = 1,
          .high = kMaxTokens},
    Param{.name = "kernel",
          .help = "Width of the max pooling over neighbouring scores; odd",
          .fallback = "7",
          .low = 1,
          .high = 65535},
    Param{.name = "every",
          .help = "Generated tokens between two selections",
          .unit = Unit::kTokens,
          .fallback = "128",
          .low = 1,
          .high = kMaxTokens},
    Param{.name = "lambda",
          .help = "Weight of importance in the score; redundancy has weight 1 - lambda",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.07",
          .low = 0,
          .high = 1},
    kGroupParam,
    kAggParam,
    kPlacementParam};

Status check(const Choice& choice) {
  if (choice.integer("kernel") % 2 == 0)
    return bad_input("expected an odd number, found " + choice.text("kernel")).at_field("r-kv:kernel");
  if (choice.integer("budget") > choice.integer("window")) return Done{};
  return bad_input("expected more than the window of " + choice.text("window") + ", found " +
                   choice.text("budget"))
      .at_field("r-kv:budget");
}

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer("window"),
          .decode_rows = true,
          .keys = true,
          .queries = true,
          .count_at = count_between_selections};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<RKv>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "r-kv",
                   .summary = "Keeps tokens that are important to the latest queries and not redundant with "
                              "other keys; needs recorded keys",
                   .source =
                       "arXiv 2505.24133; Zefan-Cai/R-KV@d15c976 rkv/compression/r1_kv.py, rkv/utils.py",
                   .params = kParams,
                   .divergences =
                       "lambda is 0.07 in the public code and 0.1 in its README. retain_ratio (0.1 in the "
                       "class, 0.2 on the command line) matters only if retain_direction ends in _percent. "
                       "kvplan uses the default direction, under which the latest duplicate of a key does "
                       "not count as redundant. A group of query heads is reduced by its largest logit "
                       "before the softmax, whatever agg says. The stored queries are not counted as bytes."},
    .golden_name = "r_kv",
    .budget = {.param = "budget"},
    .check = check,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::r_kv
