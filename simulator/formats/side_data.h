// Data that formats need in addition to a recording, from the model's weights or from calibration: bases of
// projections, thresholds and codebooks. It comes from a side file (simulator/io/SIDE_FORMAT.md). A format with a side
// file stores keys before position encoding rotates them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/formats/linear.h"

namespace kvplan::formats {

/// Numbers outside of them are stored exactly; `low` and `high` map to -1 and 1.
struct Thresholds {
  double low{0};
  double high{0};
};

struct SideLayer {
  /// [keys, values][group of heads]: orthonormal vectors as rows, over the channels of the group's heads, one head
  /// after the other. Empty: not in the file.
  std::array<std::vector<Matrix>, 2> bases{};
  std::vector<std::vector<Thresholds>> key_thresholds{};  ///< [KV head][channel]; empty: not in the file
  /// [keys, values]: the numbers that codes stand for, ascending. Empty: not in the file.
  std::array<std::vector<double>, 2> tables{};
};

struct SideData {
  std::string file{};
  std::string model_digest{};  ///< digest of the weights; empty: not stated
  std::map<std::int64_t, SideLayer> layers{};
};

}  // namespace kvplan::formats
