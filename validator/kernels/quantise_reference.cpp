// The formats implemented once more from their description, number by number, with the standard library's functions.
#include <algorithm>
#include <array>
#include <cmath>

#include "validator/kernels/quantise.h"

namespace kvplan::validator {
namespace {

/// The nearest magnitude of E2M1; of two that are equally near, the one with the even code.
std::uint32_t nearest_fp4(float x) {
  constexpr std::array<float, 8> kMagnitudes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  std::size_t best = 0;
  for (std::size_t code = 1; code < kMagnitudes.size(); ++code) {
    const float off = std::abs(kMagnitudes.at(code) - std::abs(x)),
                so_far = std::abs(kMagnitudes.at(best) - std::abs(x));
    if (off < so_far || (off == so_far && code % 2 == 0)) best = code;
  }
  return static_cast<std::uint32_t>(best) | (std::signbit(x) ? 8U : 0U);
}
float fp4_number(std::uint32_t code) {
  constexpr std::array<float, 8> kMagnitudes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const float magnitude = kMagnitudes.at(code & 7U);
  return (code & 8U) != 0 ? -magnitude : magnitude;
}

void append_half(std::vector<std::byte>& to, float x) {
  const std::uint16_t bits = fp16_bits(x);
  to.push_back(static_cast<std::byte>(bits & 0xFFU));
  to.push_back(static_cast<std::byte>(bits >> 8));
}

/// Encodes one group: writes its codes and decoded numbers at their places, and appends its side data.
void code_group(const std::vector<float>& x, const std::vector<std::size_t>& group, Format format,
                float tensor_scale, std::vector<std::uint32_t>& codes, std::vector<float>& back,
                std::vector<std::byte>& side) {
  float least = x[group[0]], greatest = x[group[0]], most = 0;
  for (const std::size_t i : group) {
    least = std::min(least, x[i]);
    greatest = std::max(greatest, x[i]);
    most = std::max(most, std::abs(x[i]));
  }
  if (format == Format::kFp8) {
    for (const std::size_t i : group) {
      codes[i] = fp8_bits(x[i] / tensor_scale);
      back[i] = fp8_value(static_cast<std::uint8_t>(codes[i])) * tensor_scale;
    }
    return;
  }
  if (format == Format::kNvfp4) {
    const std::uint8_t bits = fp8_bits(most / (6.0F * tensor_scale));
    const float scale = fp8_value(bits) * tensor_scale;
    side.push_back(static_cast<std::byte>(bits));
    for (const std::size_t i : group) {
      codes[i] = nearest_fp4(scale > 0 ? x[i] / scale : std::copysign(0.0F, x[i]));
      back[i] = fp4_number(codes[i]) * scale;
    }
    return;
  }
  if (format == Format::kInt8) {
    const float scale = fp16_value(fp16_bits(most / 127.0F));
    append_half(side, most / 127.0F);
    for (const std::size_t i : group) {
      const float code = scale > 0 ? std::clamp(std::nearbyint(x[i] / scale), -128.0F, 127.0F) : 0.0F;
      const auto whole = static_cast<std::int8_t>(code);  // -0 is 0
      codes[i] = static_cast<std::uint8_t>(whole);
      back[i] = static_cast<float>(whole) * scale;
    }
    return;
  }
  const float top = format == Format::kKivi2 ? 3.0F : 15.0F;
  const float scale = fp16_value(fp16_bits((greatest - least) / top)),
              zero = fp16_value(fp16_bits(least + 0.0F));
  append_half(side, (greatest - least) / top);
  append_half(side, least + 0.0F);
  for (const std::size_t i : group) {
    const float code = scale > 0 ? std::clamp(std::nearbyint((x[i] - zero) / scale), 0.0F, top) : 0.0F;
    codes[i] = static_cast<std::uint32_t>(code);
    back[i] = code * scale + zero;
  }
}

}  // namespace

QuantisedReference quantise_reference(const std::vector<std::uint16_t>& numbers, Stored from, Format format,
                                      std::size_t head_size, bool by_channel, float tensor_scale) {
  std::vector<float> x, back(numbers.size());
  for (const std::uint16_t bits : numbers) x.push_back(value_of(from, bits));
  std::vector<std::uint32_t> codes(numbers.size());
  QuantisedReference out;
  const std::size_t rows = numbers.size() / head_size;
  std::vector<std::size_t> group;
  if (by_channel) {
    for (std::size_t row = 0; row < rows; row += 32)
      for (std::size_t d = 0; d < head_size; ++d) {
        group.clear();
        for (std::size_t i = 0; i < 32; ++i) group.push_back((row + i) * head_size + d);
        code_group(x, group, format, tensor_scale, codes, back, out.side);
      }
  } else {
    const std::size_t width = format == Format::kInt4                                ? 64
                              : format == Format::kNvfp4                             ? 16
                              : format == Format::kKivi4 || format == Format::kKivi2 ? 32
                                                                                     : head_size;
    for (std::size_t at = 0; at < numbers.size(); at += width) {
      group.clear();
      for (std::size_t i = at; i < at + width; ++i) group.push_back(i);
      code_group(x, group, format, tensor_scale, codes, back, out.side);
    }
  }
  const std::size_t bits = format == Format::kFp8 || format == Format::kInt8 ? 8
                           : format == Format::kKivi2                        ? 2
                                                                             : 4;
  out.codes.resize(numbers.size() * bits / 8);
  for (std::size_t i = 0; i < codes.size(); ++i)
    out.codes[i * bits / 8] |= static_cast<std::byte>(codes[i] << (i * bits % 8));
  for (const float value : back) out.back.push_back(static_cast<std::uint16_t>(bits_of(from, value)));
  return out;
}

}  // namespace kvplan::validator
