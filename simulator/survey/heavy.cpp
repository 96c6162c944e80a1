#include "simulator/survey/heavy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::survey {
namespace {

/// Ranks from 1 on, doubled so that mean ranks are whole numbers; equal numbers have the same mean rank.
std::vector<std::int64_t> twice_ranks(std::span<const double> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  std::vector<std::int64_t> out(numbers.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) out[order[i]] = static_cast<std::int64_t>(begin + end + 1);
    begin = end;
  }
  return out;
}

}  // namespace

std::vector<std::int32_t> greatest_of(std::span<const double> got, std::int64_t count) {
  KVPLAN_CHECK(count >= 0 && static_cast<std::size_t>(count) <= got.size(), count, std::ssize(got));
  std::vector<std::int32_t> out(got.size());
  std::iota(out.begin(), out.end(), 0);
  std::nth_element(out.begin(), out.begin() + count, out.end(), [&](std::int32_t a, std::int32_t b) {
    const double of_a = got[static_cast<std::size_t>(a)];
    const double of_b = got[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a > b;
  });
  out.resize(static_cast<std::size_t>(count));
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  KVPLAN_CHECK(a.size() == b.size(), std::ssize(a), std::ssize(b));
  const auto of_a = twice_ranks(a);
  const auto of_b = twice_ranks(b);
  const auto mean = static_cast<std::int64_t>(a.size()) + 1;  // mean of the doubled ranks
  double products = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(of_a[i] - mean);
    const auto y = static_cast<double>(of_b[i] - mean);
    products += x * y;
    squares_a += x * x;
    squares_b += y * y;
  }
  if (squares_a == 0 || squares_b == 0) return std::nullopt;
  return products / std::sqrt(squares_a * squares_b);
}

}  // namespace kvplan::survey
