#include "simulator/scheduling/replay/cache_options.h"

#include <string>

namespace kvplan::replays {

Status check_at_least(std::int64_t value, std::int64_t least, const char* field) {
  if (value >= least) return Done{};
  return bad_input("expected at least " + std::to_string(least) + ", found " + std::to_string(value))
      .at_field(field);
}

}  // namespace kvplan::replays
