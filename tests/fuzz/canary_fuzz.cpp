// Fails on purpose: a reader that trusts its header. The tests require that the mutations find the error, so that a
// fuzzer that tries nothing is noticed.
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // "KV", one byte for the length of the rest, the rest.
  if (size >= 3 && std::memcmp(data, "KV", 2) == 0 && data[2] > size - 3) std::abort();
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  return {std::string("KV\x04rest")};
}
