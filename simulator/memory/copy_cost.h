// Time for moving memory within a device.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"
#include "simulator/core/latency.h"

namespace kvplan::memory {

/// A device-to-device copy reads each byte and writes it: 2 x bytes / bandwidth.
class CopyCost {
 public:
  /// Made from the parameter kCopyBandwidthParam of a choice. Errors: not a plain decimal number.
  static Result<CopyCost> make(const Choice& choice, std::int64_t token_bytes);

  /// Time for copying `tokens` tokens, rounded up to a tick, at most core::kLongestStepTicks.
  [[nodiscard]] Ticks of(std::int64_t tokens) const;

 private:
  CopyCost(std::int64_t token_bytes, std::int64_t bytes_per_s)
      : token_bytes_(token_bytes), bytes_per_s_(bytes_per_s) {}
  std::int64_t token_bytes_;
  std::int64_t bytes_per_s_;
};

inline constexpr Param kCopyBandwidthParam{.name = "copy_bandwidth",
                                           .help =
                                               "Device memory bandwidth of a copy in bytes/s, reads and "
                                               "writes together (default: NVIDIA H100 SXM data sheet)",
                                           .kind = ParamKind::kDecimal,
                                           .unit = Unit::kBytesPerSecond,
                                           .fallback = "3.35e12",
                                           .low = 1e6,
                                           .high = 1e15};

}  // namespace kvplan::memory
