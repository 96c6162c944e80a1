#include "simulator/readers/page_bounds.h"

#include <algorithm>

namespace kvplan::readers {

void PageBounds::add(std::span<const float> key) {
  if (tokens_++ % page_ == 0) {
    least_.insert(least_.end(), key.begin(), key.end());
    greatest_.insert(greatest_.end(), key.begin(), key.end());
    return;
  }
  const std::size_t at = least_.size() - channels_;
  for (std::size_t c = 0; c < channels_; ++c) {
    least_[at + c] = std::min(least_[at + c], key[c]);
    greatest_[at + c] = std::max(greatest_[at + c], key[c]);
  }
}

double PageBounds::bound(std::int64_t page, std::span<const float> query) const {
  const std::size_t at = static_cast<std::size_t>(page) * channels_;
  double sum = 0;
  for (std::size_t c = 0; c < channels_; ++c) {
    const auto q = static_cast<double>(query[c]);
    sum += std::max(q * static_cast<double>(least_[at + c]), q * static_cast<double>(greatest_[at + c]));
  }
  return sum;
}

}  // namespace kvplan::readers
