#include "simulator/memory/copy_cost.h"

namespace kvplan::memory {

Result<CopyCost> CopyCost::make(const Choice& choice, std::int64_t token_bytes) {
  const auto bytes_per_s = decimal_times_power_of_two(choice.text(kCopyBandwidthParam.name), 0);
  if (!bytes_per_s || *bytes_per_s < 1)
    return bad_input("expected a number as a plain decimal")
        .at_field(std::string(choice.name()) + ":" + std::string(kCopyBandwidthParam.name));
  return CopyCost(token_bytes, *bytes_per_s);
}

Ticks CopyCost::of(std::int64_t tokens) const {
  constexpr std::int64_t kTicksPerSecond = kNsPerSecond * kTicksPerNs;
  // Tokens of a step are below 2^31 x requests, their bytes below 2^62 x a few: 128 bits are enough.
  const Wide bytes = Wide{tokens} * token_bytes_;
  if (bytes > (Wide{1} << 80)) return {core::kLongestStepTicks};
  const Wide ticks = (2 * bytes * kTicksPerSecond + bytes_per_s_ - 1) / bytes_per_s_;
  return {ticks > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(ticks)};
}

}  // namespace kvplan::memory
