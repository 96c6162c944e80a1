// A device that serves a model: figures of its data sheet, and what was measured on it.
//
// Each figure has its source and says how well it is known. Devices are data files (simulator/model/devices);
// simulator/modelfile finds them by name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"

namespace kvplan::model {

/// How a number is known.
enum class Mark : std::uint8_t {
  kMeasured,   ///< read from a device, or timed on it
  kPublished,  ///< published by its maker or by others
  kAssumed,    ///< kvplan's guess, which `source` explains
  kComputed,   ///< follows from other figures of the list
  kFitted,     ///< computed by a formula, with constants fitted to measurements
  kGiven,      ///< by the user
};
/// "measured", ...
std::string_view mark_name(Mark mark);

enum class DeviceFigure : std::uint8_t {
  kMarketedGb,
  kReportedBytes,
  kUsableBytes,
  kUsableBytesMost,
  kBandwidth,
  kBandwidthReached,
  kBf16Flops,
  kFp8Flops,
  kFp4Flops,
  kInt8Ops,
  kMultiprocessors,
  kL2Bytes,
  kSharedMemoryBytes,
  kHostLink,
  kDeviceLink,
  kPowerW,
};
inline constexpr std::size_t kDeviceFigures = 16;

/// The name of a figure in files, and its meaning.
struct DeviceFigureKind {
  std::string_view key;
  std::string_view text;
  Unit unit{Unit::kNone};
  bool needed{false};
};
const DeviceFigureKind& figure_kind(DeviceFigure figure);

struct Figure {
  std::int64_t value{0};
  Mark mark{Mark::kAssumed};
  std::string source;
};

struct DeviceShape {
  std::string name;                  ///< as in scenarios
  std::string title;                 ///< as it is sold
  std::vector<std::string> aliases;  ///< other accepted names
  std::string vendor, architecture, memory, note;
  std::array<std::optional<Figure>, kDeviceFigures> figures;  ///< by DeviceFigure

  [[nodiscard]] const std::optional<Figure>& find(DeviceFigure figure) const {
    return figures[static_cast<std::size_t>(figure)];
  }
  /// REQUIRES: one that every device has (DeviceFigureKind::needed).
  [[nodiscard]] const Figure& at(DeviceFigure figure) const;
};

}  // namespace kvplan::model
