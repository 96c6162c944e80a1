#include "validator/kernels/case.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace kvplan::validator {
namespace {

template <class E, std::size_t N>
std::string_view one_of(const std::array<std::string_view, N>& names, E e) {
  return names.at(static_cast<std::size_t>(e));
}

std::string lengths_text(const std::vector<std::int64_t>& lengths) {
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  if (*least == *most) return std::to_string(lengths.size()) + " x " + std::to_string(*most) + " tokens";
  return std::to_string(lengths.size()) + " x " + std::to_string(*least) + " to " + std::to_string(*most) +
         " tokens, " + std::to_string(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})) +
         " together";
}

}  // namespace

std::string_view name_of(Stored stored) {
  return one_of(std::array<std::string_view, 3>{"fp16", "bf16", "fp8"}, stored);
}
std::string_view name_of(Retained retained) {
  return one_of(std::array<std::string_view, 4>{"all", "mask", "list", "compacted"}, retained);
}
std::string_view name_of(CopyPath path) {
  return one_of(std::array<std::string_view, 3>{"loop", "batch", "kernel"}, path);
}
std::string_view name_of(CopyDirection direction) {
  return one_of(std::array<std::string_view, 2>{"in", "out"}, direction);
}
std::string_view name_of(Format format) {
  return one_of(std::array<std::string_view, 6>{"fp8", "int8", "int4", "kivi4", "kivi2", "nvfp4"}, format);
}

std::vector<std::int64_t> equal_lengths(std::int64_t batch, std::int64_t length) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(batch), length);
}

std::string describe(const Case& of) {
  std::string text = of.kernel;
  if (of.kernel == "swap")
    return text + " " + std::string(name_of(of.direction)) + " by " + std::string(name_of(of.path)) + ", " +
           std::to_string(of.descriptors) + " x " + std::to_string(of.descriptor_bytes) + " bytes";
  text += " " + std::string(name_of(of.stored)) + " " + std::to_string(of.query_heads) + "/" +
          std::to_string(of.kv_heads) + " heads of " + std::to_string(of.head_size) + ", pages of " +
          std::to_string(of.page_tokens);
  if (of.kernel == "quantise" || of.kernel == "dequantise") text += ", " + std::string(name_of(of.format));
  if (!of.lengths.empty()) text += ", " + lengths_text(of.lengths);
  if (of.window > 0)
    text += ", window " + std::to_string(of.window) + " and " + std::to_string(of.sinks) + " sinks";
  if (of.retained != Retained::kAll)
    text += ", " + std::string(name_of(of.retained)) + " of " + std::to_string(of.kept_of_1000) + "/1000";
  if (of.budget > 0) text += ", budget " + std::to_string(of.budget);
  if (!of.shuffled) text += ", pages in order";
  if (of.rule != 0) text += ", rule " + std::to_string(of.rule);
  return text;
}

}  // namespace kvplan::validator
