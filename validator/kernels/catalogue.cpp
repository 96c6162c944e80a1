#include "validator/kernels/catalogue.h"

#include <array>

#include "validator/kernels/decode_attention.h"

namespace kvplan::validator {
namespace {

constexpr std::array<Kernel, 1> kCatalogue{{
    {"decode-attention", "paged split-KV decode attention", decode_attention_cases, make_decode_attention},
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
