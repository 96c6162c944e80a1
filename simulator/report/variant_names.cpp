#include "simulator/report/variant_names.h"

#include <algorithm>

#include "simulator/base/component.h"
#include "simulator/memory/allocators.h"
#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

constexpr std::string_view kBlockTokens = "block_tokens";

/// Tokens of a block, if the text says nothing else about a pool of blocks.
std::optional<std::int64_t> block_of(std::string_view text) {
  const auto allocator = parse_component(text, "allocator", memory::allocator_descriptors());
  if (!allocator.ok() || !memory::allocator_entry(allocator.value()).frees_single_blocks) return std::nullopt;
  for (const Param& param : allocator.value().descriptor().params)
    if (allocator.value().given(param.name) != (param.name == kBlockTokens)) return std::nullopt;
  return allocator.value().integer(kBlockTokens);
}

Subject subject_of(const runs::Comparison& comparison) {
  if (comparison.varies.size() != 1) return Subject::kVariants;
  const runs::Vary& vary = comparison.varies.front();
  if (vary.path == "memory.allocator.block_tokens") return Subject::kBlockSizes;
  if (vary.path == "memory.allocator") {
    const bool blocks = std::all_of(vary.values.begin(), vary.values.end(),
                                    [](const auto& v) { return block_of(v).has_value(); });
    return blocks ? Subject::kBlockSizes : Subject::kAllocators;
  }
  if (vary.path.rfind("memory.pool_", 0) == 0) return Subject::kPools;
  if (vary.path == "eviction") return Subject::kTokenPolicies;
  if (vary.path.rfind("workload.", 0) == 0) return Subject::kLoads;
  return Subject::kVariants;
}

std::string number_text(std::string_view value) {
  const auto number = parse_integer(value);
  return number ? grouped(*number) : std::string(value);
}

std::string pool_words(std::string_view path, std::string_view value) {
  const auto number = parse_integer(value);
  if (path == "memory.pool_bytes")
    return "a pool of " + (number ? bytes_text(static_cast<double>(*number)) : std::string(value));
  return "a pool of " + number_text(value) + (path == "memory.pool_tokens" ? " tokens" : " blocks");
}

}  // namespace

VariantNames::VariantNames(const runs::Comparison& comparison)
    : comparison_(comparison), subject_(subject_of(comparison)) {
  constexpr std::size_t kLongest = 20;
  numbered_ = std::any_of(comparison.variants.begin(), comparison.variants.end(),
                          [](const runs::Variant& v) { return characters(v.name()) > kLongest; });
}

std::string_view VariantNames::plural() const {
  switch (subject_) {
    case Subject::kAllocators:
      return "allocators";
    case Subject::kBlockSizes:
      return "block sizes";
    case Subject::kPools:
      return "pools";
    case Subject::kTokenPolicies:
      return "token policies";
    case Subject::kLoads:
    case Subject::kVariants:
      break;
  }
  return "variants";
}

std::string VariantNames::label(std::size_t variant) const {
  if (!numbered_) return comparison_.variants[variant].name();
  return "variant " + grouped(static_cast<std::int64_t>(variant) + 1);
}

std::string VariantNames::in_words(std::size_t variant) const {
  constexpr std::size_t kLongest = 60;
  const runs::Variant& v = comparison_.variants[variant];
  std::string words = v.name();
  if (v.varied.size() == 1) {
    const auto& [path, value] = v.varied.front();
    switch (subject_) {
      case Subject::kAllocators:
        words = value;
        break;
      case Subject::kBlockSizes:
        words = "blocks of " + (path == "memory.allocator" ? grouped(*block_of(value)) : number_text(value)) +
                " tokens";
        break;
      case Subject::kPools:
        words = pool_words(path, value);
        break;
      case Subject::kTokenPolicies:
        words = value == "none" ? "no eviction" : value;
        break;
      case Subject::kLoads:
      case Subject::kVariants:
        break;
    }
  }
  return characters(words) > kLongest ? label(variant) : words;
}

std::string VariantNames::at_start(std::size_t variant) const {
  std::string words = in_words(variant);
  for (const std::string_view begin : {"blocks of ", "a pool of ", "no eviction"})
    if (words.compare(0, begin.size(), begin) == 0) words[0] = static_cast<char>(words[0] - 'a' + 'A');
  return words;
}

}  // namespace kvplan::report
