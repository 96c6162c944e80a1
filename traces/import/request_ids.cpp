#include "traces/import/request_ids.h"

#include <optional>

#include "simulator/base/component.h"

namespace kvplan::traces {

bool RequestIds::resolve_names(std::int64_t position, Row& row) {
  named_ = named_ || !row.id.empty();
  // Rows without names are identified by their numbers; only numbers that other rows wait for have to be stored.
  if (!named_ && !known_.empty()) row.id = std::to_string(position);
  if (!row.id.empty() && (named_ || known_.count(row.id) > 0)) {
    Known& own = known_[row.id];
    if (own.position >= 0) return false;
    own.position = position;
    row.awaited_by = std::move(own.awaited_by);
    own.awaited_by = {};
  }
  for (const std::string& id : row.after_ids) {
    const std::optional<std::int64_t> number = named_ ? std::nullopt : parse_integer(id);
    if (number && *number >= 0 && *number <= position) {
      row.after.push_back(*number);
      continue;
    }
    Known& other = known_[id];
    if (other.position >= 0) {
      row.after.push_back(other.position);
    } else {
      other.awaited_by.push_back(position);
    }
  }
  return true;
}

std::int64_t RequestIds::unknown() const {
  std::int64_t waits = 0;
  for (const auto& [id, known] : known_) waits += static_cast<std::int64_t>(known.awaited_by.size());
  return waits;
}

}  // namespace kvplan::traces
