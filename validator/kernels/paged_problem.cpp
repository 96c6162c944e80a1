#include "validator/kernels/paged_problem.h"

#include <cstring>

namespace kvplan::validator {

std::vector<std::byte> made_up_bytes(const MadeUp& of, std::int64_t elements) {
  const auto width = static_cast<std::size_t>(bytes_of(of.stored));
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
    const std::uint32_t bits = made_up_bits(of, i);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

}  // namespace kvplan::validator
