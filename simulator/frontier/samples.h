// Statistics of numbers from query heads and steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kvplan::frontier {

/// Mean and least; numbers are added in the order of calls.
class Mean {
 public:
  void add(double number) {
    sum_ += number;
    least_ = count_ == 0 ? number : std::min(least_, number);
    ++count_;
  }
  /// Appends the numbers of `other`.
  void add(const Mean& other) {
    if (other.count_ == 0) return;
    sum_ += other.sum_;
    least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
    count_ += other.count_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::optional<double> mean() const {
    if (count_ == 0) return std::nullopt;
    return sum_ / static_cast<double>(count_);
  }
  [[nodiscard]] std::optional<double> least() const {
    if (count_ == 0) return std::nullopt;
    return least_;
  }

 private:
  double sum_{0};
  double least_{0};
  std::int64_t count_{0};
};

/// The 95th percentile, by nearest rank, of a number of values announced beforehand. Stores a twentieth of them.
class Percentile95 {
 public:
  explicit Percentile95(std::int64_t announced)
      : room_(static_cast<std::size_t>(announced - (announced * 19 + 19) / 20 + 1)), announced_(announced) {}
  void add(double number) {
    ++count_;
    keep(number);
  }
  /// Adds the numbers of `other`, for which the same number of values was announced.
  void add(const Percentile95& other) {
    count_ += other.count_;
    for (const double number : other.greatest_) keep(number);
  }
  /// Absent until all announced numbers were added.
  [[nodiscard]] std::optional<double> value() const {
    if (count_ == 0 || count_ != announced_) return std::nullopt;
    return greatest_.front();
  }

 private:
  void keep(double number) {
    if (greatest_.size() < room_) {
      greatest_.push_back(number);
      std::push_heap(greatest_.begin(), greatest_.end(), std::greater<>());
    } else if (number > greatest_.front()) {
      std::pop_heap(greatest_.begin(), greatest_.end(), std::greater<>());
      greatest_.back() = number;
      std::push_heap(greatest_.begin(), greatest_.end(), std::greater<>());
    }
  }

  std::size_t room_;
  std::int64_t announced_;
  std::int64_t count_{0};
  std::vector<double> greatest_;  ///< a heap, least number first
};

/// The standard error of a pooled mean, sum of all y over sum of all n, of numbers in clusters that were drawn
/// independently (sequences): y_i is the sum and n_i the count of cluster i. With mean R and k clusters it is sqrt(k
/// / (k - 1) * sum of (y_i - R n_i)^2) / (sum of n_i); Cochran, Sampling Techniques, 3rd edition, 6.4 and 9A.
class ClusterError {
 public:
  void add(double sum, std::int64_t count);
  /// Absent with fewer than two clusters that have numbers.
  [[nodiscard]] std::optional<double> value() const;

 private:
  struct Cluster {
    double sum;
    double count;
  };
  std::vector<Cluster> clusters_;
};

}  // namespace kvplan::frontier
