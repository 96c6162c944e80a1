// One case prepared for any machine: the memory it needs and its contents, the launches, the amount of work, and the
// check of the result. Problems are independent of the device: a `Machine` provides addresses, a `Launch` takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/base/result.h"
#include "validator/kernels/case.h"
#include "validator/kernels/launch.h"

namespace kvplan::validator {

enum class Place : std::uint8_t { kDevice, kPinned };  ///< pinned: host memory that a device can copy from

/// One piece of memory. Before a launch it holds `bytes` if there are any, else the made-up numbers if any, else
/// poison (0xFF: NaN in every format, an index that is out of range).
struct Region {
  std::string name;
  std::int64_t size{0};  ///< bytes
  Place place{Place::kDevice};
  std::vector<std::byte> bytes{};
  std::optional<MadeUp> made_up{};
  bool result{false};   ///< it is read back and compared; two runs must give the same bits
  bool rotates{false};  ///< cold timing uses a different copy each time
};

/// The least time of a launch: `t >= max(bytes / bandwidth, flops / rate)`. Bytes are bytes of device memory (for
/// swaps, bytes over the link), each counted once.
struct Roofline {
  double bytes{0};
  double flops{0};
};

/// The comparison of a result with its reference, within the kernel's tolerance.
struct Comparison {
  bool good{false};
  double error{0};  ///< relative Frobenius norm: |result - reference| / |reference|; 0 if bits are compared
  double worst_cosine{1};       ///< smallest cosine of a row
  double worst_over_rms{0};     ///< largest absolute difference, divided by the reference's root mean square
  double tolerance{0};          ///< limit of `error`; 0: bits must be equal
  std::int64_t differing{0};    ///< differing bytes, or NaNs
  std::string first_problem{};  ///< in words; empty if it is good
};

class Problem {
 public:
  virtual ~Problem() = default;
  [[nodiscard]] virtual const std::vector<Region>& regions() const = 0;
  /// The launches in order of execution. `at`: the address of each region.
  [[nodiscard]] virtual std::vector<Launch> launches(std::span<void* const> at) const = 0;
  [[nodiscard]] virtual Roofline roofline() const = 0;
  /// How the work was divided, for the report: {"splits", 4}, {"grid", 264}.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> notes() const { return {}; }
  /// `results`: the bytes of each result region, in order. REQUIRES: made with Purpose::kCheck.
  [[nodiscard]] virtual Comparison compare(std::span<const std::vector<std::byte>> results) const = 0;
};

/// For checking, a problem has its data and a reference. For timing, data are generated on the device, so cases of
/// many gigabytes need no host memory.
enum class Purpose : std::uint8_t { kCheck, kTime };

}  // namespace kvplan::validator
