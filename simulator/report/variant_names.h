// Names of variants: short ones for tables, and words for sentences, which depend on the varied path.
#pragma once

#include <string>

#include "simulator/study/compare.h"

namespace kvplan::report {

/// What kind of thing the variants are.
enum class Subject : std::uint8_t { kAllocators, kBlockSizes, kPools, kTokenPolicies, kLoads, kVariants };

class VariantNames {
 public:
  /// The comparison outlives the names.
  explicit VariantNames(const runs::Comparison& comparison);

  [[nodiscard]] Subject subject() const { return subject_; }
  /// "allocators", "block sizes", ...
  [[nodiscard]] std::string_view plural() const;
  /// True: names are long and listed once, in a table of their own; other tables use numbers.
  [[nodiscard]] bool numbered() const { return numbered_; }
  /// For tables and charts: "pool_tokens=40000", or "variant 3" if names are numbers.
  [[nodiscard]] std::string label(std::size_t variant) const;
  /// For sentences: "contiguous:fit=best", "blocks of 16 tokens", "a pool of 40,000 tokens"; a name that is too long
  /// is replaced by its label.
  [[nodiscard]] std::string in_words(std::size_t variant) const;
  /// The same at the beginning of a sentence: words get a capital, names do not change.
  [[nodiscard]] std::string at_start(std::size_t variant) const;

 private:
  const runs::Comparison& comparison_;
  Subject subject_;
  bool numbered_;
};

}  // namespace kvplan::report
