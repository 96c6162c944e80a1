#include "tests/coupling/replay_cases.h"

namespace kvplan {

const std::string kInputs = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/policies/inputs/";

}  // namespace kvplan
