// Slow implementations of quantised formats by their definitions: the decoded numbers of all tokens, from the recorded
// numbers and the length of the prompt, computed from scratch for each moment.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/formats/codec.h"

namespace kvplan::formats::test {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;  ///< [token][channel]

struct NaiveInput {
  std::string format;
  std::map<std::string, std::string> params;
  std::vector<Rows> heads;  ///< [KV head] recorded numbers of one side, all tokens so far
  std::int64_t prompt{1};
  bool keys{true};
};

struct NaiveState {
  std::vector<Rows> stored;  ///< [KV head], of the remaining tokens, oldest first
  Regions bytes;
};

/// The state after the newest token's step (or the prompt's end). REQUIRES: the format is exact, not `pyramid-int8`.
NaiveState naive_state(const NaiveInput& input);

}  // namespace kvplan::formats::test
