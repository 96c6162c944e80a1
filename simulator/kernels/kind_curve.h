// The time of one shape over its growing quantity (tokens, elements), for steps that ask it thousands of times.
//
// Unlike KindTimes, a step never has to be content with a data sheet: if no table of the device and engine has the
// dtype, the share of the roofline that the nearest table shows is used with the roofline of the device. Nearest is, in
// this order: the same device with another engine, other devices by their published rates, and a dtype alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/kernels/kernel_kind.h"

namespace kvplan::kernels {

/// How a curve is known.
struct CurveOrigin {
  std::string engine, engine_version;  ///< of the table; empty: there is none
  std::string gpu;                     ///< as the table's name has it
  std::string dtype;                   ///< first column of the table's rows
  TimeSource source{TimeSource::kRoofline};
  bool other_device{false}, other_engine{false}, other_dtype{false};
};

class KindCurve {
 public:
  struct Point {
    double at{0}, log_at{0}, log_share{0};  ///< log_share: logarithm of time over roofline
  };

  /// Keeps the device by reference. `points` ascend; none: the roofline.
  KindCurve(const KernelKind& kind, const model::DeviceShape& device, std::vector<std::string> key,
            std::vector<Point> points, CurveOrigin origin);

  /// Microseconds. REQUIRES: at > 0.
  [[nodiscard]] double operator()(double at) const;
  [[nodiscard]] const CurveOrigin& origin() const { return origin_; }

 private:
  const KernelKind* kind_;
  const model::DeviceShape* device_;
  std::vector<std::string> key_;
  std::vector<double> numbers_;
  std::vector<Point> points_;
  CurveOrigin origin_;
};

/// Where to look for a table.
struct CurveWish {
  const model::DeviceShape& device;
  std::string_view engine, engine_version;  ///< empty version: the newest
};

/// REQUIRES: check_key. The device outlives the curve. Tables are read once for each process.
KindCurve nearest_curve(const KernelKind& kind, const CurveWish& wish, std::vector<std::string> key);

/// True if a table of the kind was measured on this device with any engine.
bool was_measured(const KernelKind& kind, const model::DeviceShape& device);

}  // namespace kvplan::kernels
