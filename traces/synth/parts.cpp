#include "traces/synth/parts.h"

#include <algorithm>
#include <cmath>

namespace kvplan::traces {

Error too_late() {
  return bad_input("arrivals would be later than 292 years after the first");
}

Status FineClock::advance(double gap_ns) {
  constexpr double kMost = 9.3e18;  // a little more than 2^63
  if (!(gap_ns < kMost)) return too_late();
  steps_ += static_cast<Steps>(gap_ns * 0x1.0p20);
  if ((steps_ >> 20) > INT64_MAX) return too_late();
  return Done{};
}

std::int32_t whole_tokens(double length, std::int64_t most) {
  if (!(length < static_cast<double>(most))) return static_cast<std::int32_t>(most);
  return static_cast<std::int32_t>(std::max(1.0, std::floor(length + 0.5)));
}

}  // namespace kvplan::traces
