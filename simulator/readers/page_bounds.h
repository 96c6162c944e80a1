// The least and greatest number of each channel over the keys of each page, and the largest product that a query can
// have with a key of the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::readers {

class PageBounds {
 public:
  /// Keys of `channels` elements, `page` tokens to a page.
  PageBounds(std::int64_t page, std::int32_t channels)
      : page_(page), channels_(static_cast<std::size_t>(channels)) {}

  /// Adds the next token's key.
  void add(std::span<const float> key);
  /// Number of pages with a token.
  [[nodiscard]] std::int64_t pages() const { return (tokens_ + page_ - 1) / page_; }
  /// The sum over channels of max(q * least, q * greatest), added in the order of channels. It is at least the
  /// product of q with any key of the page, added likewise, also in rounded arithmetic.
  [[nodiscard]] double bound(std::int64_t page, std::span<const float> query) const;

 private:
  std::int64_t page_;
  std::size_t channels_;
  std::int64_t tokens_{0};
  std::vector<float> least_;  ///< [page][channel]
  std::vector<float> greatest_;
};

}  // namespace kvplan::readers
