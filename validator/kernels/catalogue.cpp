#include "validator/kernels/catalogue.h"

#include <array>

#include "validator/kernels/append.h"
#include "validator/kernels/decode_attention.h"
#include "validator/kernels/gather.h"
#include "validator/kernels/quantise.h"
#include "validator/kernels/scores.h"
#include "validator/kernels/swap.h"

namespace kvplan::validator {
namespace {

constexpr std::array<Kernel, 8> kCatalogue{{
    {"decode-attention", "paged split-KV decode attention", decode_attention_cases, make_decode_attention},
    {"append", "new keys and values into pages", append_cases, make_append},
    {"compaction", "kept tokens of each KV head into pages of its own", gather_cases, make_gather},
    {"swap", "blocks between device and pinned host memory", swap_cases, make_swap},
    {"scores", "probabilities of a step added up by token", accumulate_cases, make_accumulate},
    {"top-k", "the tokens with the greatest scores", top_k_cases, make_top_k},
    {"quantise", "rows to codes and scales", quantise_cases, make_quantise},
    {"dequantise", "codes and scales to rows", dequantise_cases, make_quantise},
}};

}  // namespace

std::span<const Kernel> catalogue() {
  return kCatalogue;
}

Result<const Kernel*> find_kernel(std::string_view name) {
  std::string names;
  for (const Kernel& kernel : kCatalogue) {
    if (kernel.name == name) return &kernel;
    names += (names.empty() ? "" : ", ") + std::string(kernel.name);
  }
  return bad_input("no kernel \"" + std::string(name) + "\", expected one of " + names).at_field("kernel");
}

}  // namespace kvplan::validator
