// Numbers for blocks of content, in order of first appearance. Content that only grows gets its blocks in runs of
// consecutive numbers, so a session of a million blocks takes a few pairs of numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace kvplan::traces {

/// The blocks of a content that grows at its end: of a system prompt, or of the history of a session.
class BlockRuns {
 public:
  [[nodiscard]] std::int64_t known() const { return known_; }
  /// The next blocks have the numbers from `first` on.
  void extend(std::uint32_t first, std::int64_t blocks);
  /// Appends the numbers of the first `blocks` blocks. REQUIRES: blocks <= known().
  void append_to(std::vector<std::uint32_t>& ids, std::int64_t blocks) const;
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }

 private:
  struct Run {
    std::uint32_t first;
    std::uint32_t blocks;
  };
  std::vector<Run> runs_;
  std::int64_t known_{0};
};

}  // namespace kvplan::traces
