// The stored keys, or values, of one KV head: for each token its decoded numbers (as doubles, which hold them exactly),
// its codes, and its block of scales.
//
// A block is a set of tokens with scales of their own: one token, a group of tokens with shared scales for each
// channel, all tokens of an append, a chunk with factors, a cluster. A token without a block is exact. Block numbers
// are never reused; a block without tokens takes no bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::formats {

class Plane {
 public:
  static constexpr std::int32_t kExact = -1;  ///< block number of an exact token

  /// `size`: channels. `group`: channels that share a scale, a divisor of size; 0: blocks have no scales.
  Plane(std::int32_t size, std::int32_t group);

  [[nodiscard]] std::int32_t size() const { return size_; }
  [[nodiscard]] std::int32_t group() const { return group_; }
  /// Number of scales of a block.
  [[nodiscard]] std::int32_t width() const { return group_ > 0 ? size_ / group_ : 0; }
  [[nodiscard]] std::int32_t tokens() const { return static_cast<std::int32_t>(block_.size()); }

  /// Channels of token i; after writing them call `join` or `rewritten`.
  [[nodiscard]] std::span<const double> stored(std::int32_t i) const;
  [[nodiscard]] std::span<double> stored(std::int32_t i);
  [[nodiscard]] std::span<const std::uint8_t> codes(std::int32_t i) const;
  [[nodiscard]] std::span<std::uint8_t> codes(std::int32_t i);
  [[nodiscard]] std::int32_t block(std::int32_t i) const { return block_[static_cast<std::size_t>(i)]; }
  /// How often token i was written after it was appended exactly.
  [[nodiscard]] std::int64_t version(std::int32_t i) const { return version_[static_cast<std::size_t>(i)]; }
  /// All writes after appends, including those of dropped tokens.
  [[nodiscard]] std::int64_t writes() const { return writes_; }

  /// Scale and zero point of each group of channels of a block.
  [[nodiscard]] std::span<double> scales(std::int32_t block);
  [[nodiscard]] std::span<const double> scales(std::int32_t block) const;
  [[nodiscard]] std::span<double> zeros(std::int32_t block);
  [[nodiscard]] std::span<const double> zeros(std::int32_t block) const;
  [[nodiscard]] std::int32_t blocks() const { return static_cast<std::int32_t>(members_.size()); }
  /// Number of tokens in a block.
  [[nodiscard]] std::int32_t members(std::int32_t block) const {
    return members_[static_cast<std::size_t>(block)];
  }

  // Counts that determine the bytes:
  [[nodiscard]] std::int64_t exact_tokens() const { return exact_; }
  [[nodiscard]] std::int64_t live_blocks() const { return live_; }  ///< blocks with at least one token
  [[nodiscard]] std::int64_t code_bits() const { return code_bits_; }

  /// Appends a token exactly.
  void append(std::span<const double> channels);
  /// Starts a block; each of its tokens will take `token_bits` of codes.
  std::int32_t begin_block(std::int64_t token_bits);
  /// Token i, which was just written, belongs to `block` from now on.
  void join(std::int32_t i, std::int32_t block);
  /// Token i was written again and stays in its block.
  void rewritten(std::int32_t i);
  /// Drops tokens. REQUIRES: ascending, distinct, below tokens().
  void erase(std::span<const std::int32_t> indices);

 private:
  void leave(std::int32_t i);
  [[nodiscard]] std::size_t at(std::int32_t i) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(size_);
  }
  [[nodiscard]] std::size_t at_block(std::int32_t block) const {
    return static_cast<std::size_t>(block) * static_cast<std::size_t>(width());
  }

  std::int32_t size_;
  std::int32_t group_;
  std::vector<double> stored_;         ///< [token * size + channel]
  std::vector<std::uint8_t> codes_;    ///< [token * size + channel]
  std::vector<std::int32_t> block_;    ///< [token]
  std::vector<std::int64_t> version_;  ///< [token]
  std::vector<double> scales_;         ///< [block * width + channel / group]
  std::vector<double> zeros_;
  std::vector<std::int32_t> members_;     ///< [block]
  std::vector<std::int64_t> token_bits_;  ///< [block]
  std::int64_t exact_{0};
  std::int64_t live_{0};
  std::int64_t code_bits_{0};
  std::int64_t writes_{0};
};

}  // namespace kvplan::formats
