// Quantising and dequantising on the host: the same groups, a row or 32 rows at a time.
#include <algorithm>
#include <array>

#include "simulator/base/threads.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/host_vectors.h"

namespace kvplan::validator {
namespace {

constexpr int kMostSize = 128;
constexpr std::int64_t kRowsOfPiece = 128;  // whole groups of rows

using Row = std::array<float, kMostSize>;
using Codes = std::array<std::uint32_t, kMostSize>;

KVPLAN_INLINE void load_numbers(const QuantiseArguments& a, std::int64_t row, Row& x) {
  const std::uint16_t* const from = a.numbers + row * a.head_size;
  if (a.from == Stored::kBf16)
    load_row<Stored::kBf16>(x.data(), from, a.head_size);
  else
    load_row<Stored::kFp16>(x.data(), from, a.head_size);
}

void store_codes(const QuantiseArguments& a, std::int64_t row, const Codes& codes) {
  const int bits = code_bits(a.format), each = 8 / bits;
  std::uint8_t* const to = a.codes + row * a.head_size * bits / 8;
  for (int i = 0; i < a.head_size / each; ++i) {
    std::uint32_t byte = 0;
    for (int k = 0; k < each; ++k) byte |= codes[static_cast<std::size_t>(i * each + k)] << (k * bits);
    to[i] = static_cast<std::uint8_t>(byte);
  }
}
void load_codes(const QuantiseArguments& a, std::int64_t row, Codes& codes) {
  const int bits = code_bits(a.format), each = 8 / bits;
  const std::uint8_t* const from = a.codes + row * a.head_size * bits / 8;
  for (int d = 0; d < a.head_size; ++d)
    codes[static_cast<std::size_t>(d)] = (from[d / each] >> (d % each * bits)) & ((1U << bits) - 1);
}

template <Format kFormat>
KVPLAN_INLINE void code_numbers(const float* x, std::uint32_t* codes, int count, const ScaleZero& of) {
  for (int i = 0; i < count; ++i) codes[i] = code_of(kFormat, x[i], of);
}

template <Format kFormat>
KVPLAN_INLINE void quantise_rows(const QuantiseArguments& a, std::int64_t begin, std::int64_t end) {
  const int width = group_channels(kFormat, a.head_size);
  Row x;
  Codes codes;
  for (std::int64_t row = begin; row < end; ++row) {
    load_numbers(a, row, x);
    for (int at = 0; at < a.head_size; at += width) {
      float least = x[static_cast<std::size_t>(at)], greatest = least;
      for (int i = at; i < at + width; ++i) {
        const float value = x[static_cast<std::size_t>(i)];
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
      }
      const ScaleZero scale = scale_of(kFormat, least, greatest, a.tensor_scale);
      store_scale(kFormat, a.side, (row * a.head_size + at) / width, scale);
      code_numbers<kFormat>(x.data() + at, codes.data() + at, width, scale);
    }
    store_codes(a, row, codes);
  }
}

template <Format kFormat>
KVPLAN_INLINE void quantise_channels(const QuantiseArguments& a, std::int64_t begin, std::int64_t end) {
  std::array<Row, kRowsOfChannelGroup> x;
  std::array<ScaleZero, kMostSize> scales;
  const auto size = static_cast<std::size_t>(a.head_size);
  for (std::int64_t first = begin; first < end; first += kRowsOfChannelGroup) {
    for (std::size_t i = 0; i < x.size(); ++i) load_numbers(a, first + static_cast<std::int64_t>(i), x[i]);
    Row least = x[0], greatest = x[0];
    for (const Row& row : x)
      for (std::size_t d = 0; d < size; ++d) {
        least[d] = row[d] < least[d] ? row[d] : least[d];
        greatest[d] = row[d] > greatest[d] ? row[d] : greatest[d];
      }
    for (std::size_t d = 0; d < size; ++d) {
      scales[d] = scale_of(kFormat, least[d], greatest[d], a.tensor_scale);
      store_scale(kFormat, a.side, first / kRowsOfChannelGroup * a.head_size + static_cast<std::int64_t>(d),
                  scales[d]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      Codes codes;
      for (std::size_t d = 0; d < size; ++d) codes[d] = code_of(kFormat, x[i][d], scales[d]);
      store_codes(a, first + static_cast<std::int64_t>(i), codes);
    }
  }
}

template <Format kFormat>
KVPLAN_INLINE void dequantise_rows(const QuantiseArguments& a, std::int64_t begin, std::int64_t end) {
  const int width = group_channels(kFormat, a.head_size);
  Codes codes;
  for (std::int64_t row = begin; row < end; ++row) {
    load_codes(a, row, codes);
    for (int d = 0; d < a.head_size; ++d) {
      const std::int64_t group =
          a.by_channel ? row / kRowsOfChannelGroup * a.head_size + d : (row * a.head_size + d) / width;
      const ScaleZero scale = stored_scale(kFormat, a.side, group, a.tensor_scale);
      a.numbers[row * a.head_size + d] = static_cast<std::uint16_t>(
          bits_of(a.from, value_of_code(kFormat, codes[static_cast<std::size_t>(d)], scale)));
    }
  }
}

template <Format kFormat>
KVPLAN_INLINE void run_rows(const QuantiseArguments& a, std::int64_t begin, std::int64_t end) {
  if (a.back)
    dequantise_rows<kFormat>(a, begin, end);
  else if (a.by_channel)
    quantise_channels<kFormat>(a, begin, end);
  else
    quantise_rows<kFormat>(a, begin, end);
}

using Run = void (*)(const QuantiseArguments&, std::int64_t, std::int64_t);
KVPLAN_CLONES void run_fp8(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kFp8>(a, b, e);
}
KVPLAN_CLONES void run_int8(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kInt8>(a, b, e);
}
KVPLAN_CLONES void run_int4(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kInt4>(a, b, e);
}
KVPLAN_CLONES void run_kivi4(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kKivi4>(a, b, e);
}
KVPLAN_CLONES void run_kivi2(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kKivi2>(a, b, e);
}
KVPLAN_CLONES void run_nvfp4(const QuantiseArguments& a, std::int64_t b, std::int64_t e) {
  run_rows<Format::kNvfp4>(a, b, e);
}

}  // namespace

void launch_on_host(const QuantiseArguments& a, int threads) {
  static constexpr std::array<Run, 6> kRuns{run_fp8, run_int8, run_int4, run_kivi4, run_kivi2, run_nvfp4};
  const Run run = kRuns.at(static_cast<std::size_t>(a.format));
  on_threads(threads, static_cast<std::size_t>((a.rows + kRowsOfPiece - 1) / kRowsOfPiece),
             [&](std::size_t piece) {
               const std::int64_t begin = static_cast<std::int64_t>(piece) * kRowsOfPiece;
               run(a, begin, std::min(begin + kRowsOfPiece, a.rows));
             });
}

}  // namespace kvplan::validator
