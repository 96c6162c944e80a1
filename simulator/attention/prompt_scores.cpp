#include "simulator/attention/prompt_scores.h"

#include <algorithm>
#include <limits>
#include <string>

#include "simulator/attention/kernels.h"

namespace kvplan::attention {

PromptScores::PromptScores(const LayerPlace& place)
    : prompt_(place.prompt), group_(place.group), sums_(static_cast<std::size_t>(place.query_heads)) {}

void PromptScores::add(std::int32_t set, std::span<const HeadRow> heads) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    auto& sums = sums_[static_cast<std::size_t>(set) * static_cast<std::size_t>(group_) + h];
    const HeadRow& row = heads[h];
    if (sums.size() < row.weight.size()) sums.resize(row.weight.size());
    accumulate(row.weight, row.divisor, std::span(sums).first(row.weight.size()));
  }
}

std::span<double> PromptScores::of_head(std::int32_t head) {
  return sums_[static_cast<std::size_t>(head)];
}

std::vector<double> PromptScores::of_set(std::int32_t set, std::int64_t n, Aggregate aggregate) const {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (std::int32_t h = set * group_; h < (set + 1) * group_; ++h) {
    const auto& sums = sums_[static_cast<std::size_t>(h)];
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = aggregate == Aggregate::kMax ? std::max(out[i], sums[i]) : out[i] + sums[i];
  }
  if (aggregate == Aggregate::kMean)
    for (double& score : out) score /= group_;
  return out;
}

void PromptScores::forget(std::int32_t set) {
  for (std::int32_t h = set * group_; h < (set + 1) * group_; ++h) sums_[static_cast<std::size_t>(h)] = {};
}

bool PromptScores::prompt_ends(const Residents& residents) const {
  return residents.positions().back() == prompt_ - 1;
}

std::vector<double> pool(std::span<const double> scores, std::int64_t kernel, Pooling pooling) {
  const auto n = static_cast<std::int64_t>(scores.size());
  std::vector<double> out;
  out.reserve(scores.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = std::max<std::int64_t>(0, i - kernel / 2);
    const std::int64_t end = std::min(n, i + kernel / 2 + 1);
    const auto around =
        scores.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (pooling == Pooling::kMax) {
      out.push_back(*std::max_element(around.begin(), around.end()));
    } else {
      double sum = 0;
      for (const double score : around) sum += score;
      out.push_back(sum / static_cast<double>(kernel));
    }
  }
  return out;
}

PromptWindow prompt_window_of(const Choice& choice) {
  return {.window = choice.integer(kWindowParam.name),
          .capacity = choice.integer(kCapacityParam.name),
          .kernel = choice.integer(kKernelParam.name),
          .pooling = choice.text(kPoolingParam.name) == "max" ? Pooling::kMax : Pooling::kAverage};
}

Status check_prompt_window(const Choice& choice) {
  const PromptWindow it = prompt_window_of(choice);
  const std::string name(choice.name());
  if (it.kernel % 2 == 0)
    return bad_input("expected an odd number, found " + std::to_string(it.kernel)).at_field(name + ":kernel");
  if (it.capacity < it.window)
    return bad_input("expected at least the window of " + std::to_string(it.window) + ", found " +
                     std::to_string(it.capacity))
        .at_field(name + ":capacity");
  return Done{};
}

}  // namespace kvplan::attention
