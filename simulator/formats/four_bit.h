// 4-bit floating point (E2M1) for each element, with a scale for each block of channels.
#pragma once

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats {

/// Encodes each token when it is appended. REQUIRES: blocks divide keys and values.
class FourBit : public QuantisedCodec {
 public:
  FourBit(const Shape& shape, std::int32_t block)
      : QuantisedCodec(shape, {.key_group = block, .value_group = block, .scale_bytes = 1, .zero_bytes = 0}) {
  }

 protected:
  void on_append() override;
  /// Called before the prompt is encoded.
  virtual void on_prompt() {}
  /// The scale of a block of channels; may be 0.
  [[nodiscard]] virtual double scale_of(Side side, std::span<const double> channels) const = 0;
};

/// Half a byte for each element, and a byte for each block of channels of each token.
Regions four_bit_bytes(const Shape& shape, const Lengths& lengths, Side side, std::int32_t block);

/// Errors: the size of keys or values is not a multiple of `block` channels.
Status check_blocks(const Choice& choice, const Shape& shape, std::int32_t block);

}  // namespace kvplan::formats
