// What formats are told beside a recording, of the model's weights or of calibration: bases of projections, thresholds
// and codebooks. A side file holds it (simulator/io/SIDE_FORMAT.md); a format that has one stores keys before their
// rotation by positions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/formats/linear.h"

namespace kvplan::formats {

/// Numbers outside are kept exactly; `low` and `high` become -1 and 1.
struct Thresholds {
  double low{0};
  double high{0};
};

struct SideLayer {
  /// [keys, values][group of heads]: vectors as rows, orthonormal, over the channels of the group's heads, one head
  /// behind the other. Empty: not in the file.
  std::array<std::vector<Matrix>, 2> bases{};
  std::vector<std::vector<Thresholds>> key_thresholds{};  ///< [KV head][channel]; empty likewise
  /// [keys, values]: the numbers that codes stand for, ascending; empty likewise.
  std::array<std::vector<double>, 2> tables{};
};

struct SideData {
  std::string file{};
  std::string model_digest{};  ///< of the weights; empty: not stated
  std::map<std::int64_t, SideLayer> layers{};
};

}  // namespace kvplan::formats
