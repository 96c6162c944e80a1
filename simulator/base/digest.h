// A 64-bit hash (FNV-1a): tells whether the contents of files or the values of cases are equal. Not secure against
// forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan {

class Digest {
 public:
  /// The result does not depend on how bytes are divided into calls.
  void add(std::string_view bytes) {
    for (const char c : bytes) byte(static_cast<unsigned char>(c));
  }
  /// Adds a text with its end, so that ("a", "bc") and ("ab", "c") differ.
  void add_text(std::string_view text) {
    add(text);
    byte(0);
  }
  /// 16 hex digits.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(state_ >> shift) & 15];
    return out;
  }

 private:
  void byte(unsigned char value) { state_ = (state_ ^ value) * 0x100000001B3ULL; }
  std::uint64_t state_{0xCBF29CE484222325ULL};
};

}  // namespace kvplan
