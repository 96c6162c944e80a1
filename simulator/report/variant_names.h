// What variants are called: in tables, where room is short, and in sentences, where the varied path decides the
// words.
#pragma once

#include <string>

#include "simulator/study/compare.h"

namespace kvplan::report {

/// What the variants are to a reader.
enum class Subject : std::uint8_t { kAllocators, kBlockSizes, kPools, kTokenPolicies, kLoads, kVariants };

class VariantNames {
 public:
  /// The comparison outlives the names.
  explicit VariantNames(const plan::Comparison& comparison);

  [[nodiscard]] Subject subject() const { return subject_; }
  /// "allocators", "block sizes", ...
  [[nodiscard]] std::string_view plural() const;
  /// True: names are long and are said once, in a table of their own; other tables have numbers.
  [[nodiscard]] bool numbered() const { return numbered_; }
  /// For tables and charts: "pool_tokens=40000", or "variant 3" where names are numbers.
  [[nodiscard]] std::string label(std::size_t variant) const;
  /// For sentences: "contiguous:fit=best", "blocks of 16 tokens", "a pool of 40,000 tokens"; a name that is too long
  /// for a sentence is its label.
  [[nodiscard]] std::string in_words(std::size_t variant) const;
  /// The same at the beginning of a sentence: words begin with a capital, names stay as they are.
  [[nodiscard]] std::string at_start(std::size_t variant) const;

 private:
  const plan::Comparison& comparison_;
  Subject subject_;
  bool numbered_;
};

}  // namespace kvplan::report
