// The least and the greatest of each channel over the keys of each page, and the most that a query can make of them.
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

  /// The next token's key.
  void add(std::span<const float> key);
  /// Pages that hold a token.
  [[nodiscard]] std::int64_t pages() const { return (tokens_ + page_ - 1) / page_; }
  /// The sum over channels of the greater of q * least and q * greatest, added in the order of channels: not less than
  /// the product of q, added likewise, with any key of the page, in rounded arithmetic too.
  [[nodiscard]] double bound(std::int64_t page, std::span<const float> query) const;

 private:
  std::int64_t page_;
  std::size_t channels_;
  std::int64_t tokens_{0};
  std::vector<float> least_;  ///< [page][channel]
  std::vector<float> greatest_;
};

}  // namespace kvplan::readers
