// Shared by formats that merge tokens dropped by a policy into kept ones: everything takes 2 bytes for each element,
// merged tokens too.
#pragma once

#include <span>

#include "simulator/formats/codec.h"
#include "simulator/formats/lengths.h"

namespace kvplan::formats {

class MergingCodec : public Codec {
 public:
  explicit MergingCodec(const Shape& shape) : Codec(shape, 0, 0) {}
  [[nodiscard]] CodeForm code_form() const override { return CodeForm::kNone; }
  [[nodiscard]] Regions regions(Side side) const override;

 protected:
  /// Stores these numbers for token i, rounded to binary16.
  static void put(Plane& plane, std::int32_t i, std::span<const double> numbers);
  /// The tokens that remain when the tokens in `gone` are dropped. Both ascending.
  static std::vector<std::int32_t> staying(const Plane& plane, std::span<const std::int32_t> gone);
};

/// 2 bytes for each element.
Regions merged_bytes(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side);

}  // namespace kvplan::formats
