// Sequences of tokens, stored as runs of consecutive numbers: a prompt of 100,000 tokens is a few runs, and is
// compared with another in as many steps.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace kvplan::prefix {

using Token = std::uint64_t;

/// The tokens first, first + 1, ..., first + length - 1.
struct TokenRun {
  Token first{0};
  std::int64_t length{0};
  friend auto operator<=>(const TokenRun&, const TokenRun&) = default;
};

/// A sequence. Adjacent runs never form a single run, so equal sequences have equal runs.
class TokenSequence {
 public:
  /// Appends a run; an empty one adds nothing.
  void append(TokenRun run);
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::span<const TokenRun> runs() const { return runs_; }
  friend auto operator<=>(const TokenSequence& a, const TokenSequence& b) { return a.runs_ <=> b.runs_; }
  friend bool operator==(const TokenSequence& a, const TokenSequence& b) { return a.runs_ == b.runs_; }

 private:
  std::vector<TokenRun> runs_;
  std::int64_t size_{0};
};

/// Walks over the first `tokens` tokens of a sequence, which outlives it.
class TokenReader {
 public:
  /// REQUIRES: 0 <= tokens <= sequence.size().
  TokenReader(const TokenSequence& sequence, std::int64_t tokens)
      : run_(sequence.runs().data()), left_(tokens) {}

  /// Tokens not yet read.
  [[nodiscard]] std::int64_t left() const { return left_; }
  /// The run from the present position on. REQUIRES: left() > 0.
  [[nodiscard]] TokenRun run() const {
    return {run_->first + static_cast<Token>(read_), std::min(run_->length - read_, left_)};
  }
  /// REQUIRES: 0 <= tokens <= left().
  void skip(std::int64_t tokens);
  /// Reads the next `tokens` tokens into a new sequence. REQUIRES: 0 <= tokens <= left().
  TokenSequence take(std::int64_t tokens);

 private:
  const TokenRun* run_;
  std::int64_t read_{0};  // tokens of *run_
  std::int64_t left_;
};

/// Length of the common prefix of both.
std::int64_t common_prefix(TokenReader a, TokenReader b);

/// A hash of the next `tokens` tokens. REQUIRES: 0 <= tokens <= reader.left().
std::uint64_t hash_of(TokenReader reader, std::int64_t tokens);

}  // namespace kvplan::prefix
