#include "simulator/prefix/tokens.h"

namespace kvplan::prefix {

void TokenSequence::append(TokenRun run) {
  if (run.length == 0) return;
  size_ += run.length;
  if (!runs_.empty() && runs_.back().first + static_cast<Token>(runs_.back().length) == run.first) {
    runs_.back().length += run.length;
  } else {
    runs_.push_back(run);
  }
}

void TokenReader::skip(std::int64_t tokens) {
  left_ -= tokens;
  read_ += tokens;
  while (left_ > 0 && read_ >= run_->length) {
    read_ -= run_->length;
    ++run_;
  }
}

TokenSequence TokenReader::take(std::int64_t tokens) {
  TokenSequence out;
  while (tokens > 0) {
    TokenRun piece = run();
    piece.length = std::min(piece.length, tokens);
    out.append(piece);
    skip(piece.length);
    tokens -= piece.length;
  }
  return out;
}

std::int64_t common_prefix(TokenReader a, TokenReader b) {
  std::int64_t common = 0;
  while (a.left() > 0 && b.left() > 0 && a.run().first == b.run().first) {
    const std::int64_t length = std::min(a.run().length, b.run().length);
    common += length;
    a.skip(length);
    b.skip(length);
  }
  return common;
}

std::uint64_t hash_of(TokenReader reader, std::int64_t tokens) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xBF58476D1CE4E5B9ULL;
    hash ^= hash >> 29;
  };
  while (tokens > 0) {
    const TokenRun run = reader.run();
    const std::int64_t length = std::min(run.length, tokens);
    mix(run.first);
    mix(static_cast<std::uint64_t>(length));
    reader.skip(length);
    tokens -= length;
  }
  return hash;
}

}  // namespace kvplan::prefix
