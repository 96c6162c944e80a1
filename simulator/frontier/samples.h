// Numbers of query heads and steps, added up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kvplan::frontier {

/// Mean and least, in the order in which numbers are added.
class Mean {
 public:
  void add(double number) {
    sum_ += number;
    least_ = count_ == 0 ? number : std::min(least_, number);
    ++count_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
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

/// The 95th percentile by nearest rank of so many numbers as are announced. Keeps a twentieth of them.
class Percentile95 {
 public:
  explicit Percentile95(std::int64_t announced)
      : room_(static_cast<std::size_t>(announced - (announced * 19 + 19) / 20 + 1)), announced_(announced) {}
  void add(double number) {
    ++count_;
    if (greatest_.size() < room_) {
      greatest_.push_back(number);
      std::push_heap(greatest_.begin(), greatest_.end(), std::greater<>());
    } else if (number > greatest_.front()) {
      std::pop_heap(greatest_.begin(), greatest_.end(), std::greater<>());
      greatest_.back() = number;
      std::push_heap(greatest_.begin(), greatest_.end(), std::greater<>());
    }
  }
  /// Nothing before all of them came.
  [[nodiscard]] std::optional<double> value() const {
    if (count_ == 0 || count_ != announced_) return std::nullopt;
    return greatest_.front();
  }

 private:
  std::size_t room_;
  std::int64_t announced_;
  std::int64_t count_{0};
  std::vector<double> greatest_;  ///< a heap, the least of them first
};

}  // namespace kvplan::frontier
