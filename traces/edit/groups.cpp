#include "traces/edit/groups.h"

#include "traces/record/turns.h"

namespace kvplan::traces {

Result<std::vector<std::vector<std::int64_t>>> groups_of(const Trace& trace) {
  KVPLAN_TRY(const Turns turns, turns_of(trace.waits, trace.size()));
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<std::size_t> group_of_session(trace.session_names.size(), SIZE_MAX);
  std::vector<std::size_t> group_of_turns(turns.group.size(), SIZE_MAX);
  for (std::int64_t row = 0; row < trace.size(); ++row) {
    const auto i = static_cast<std::size_t>(row);
    const std::int32_t session = trace.session.empty() ? -1 : trace.session[i];
    if (session < 0 && !turns.present()) {
      groups.push_back({row});
      continue;
    }
    std::size_t& group = session >= 0 ? group_of_session[static_cast<std::size_t>(session)]
                                      : group_of_turns[static_cast<std::size_t>(turns.group[i])];
    if (group == SIZE_MAX) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(row);
  }
  return groups;
}

}  // namespace kvplan::traces
