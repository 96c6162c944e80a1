#include "traces/import/ended_turns.h"

#include <algorithm>

namespace kvplan::traces {

std::size_t EndedTurns::number_of(std::string_view name) {
  const auto [place, added] = numbers_.try_emplace(std::string(name), sessions_.size());
  if (added) sessions_.emplace_back();
  return place->second;
}

void EndedTurns::join(Session& session, Row& row, std::int64_t& latest_ns) {
  const auto later = std::stable_partition(session.open.begin(), session.open.end(),
                                           [&](const Ended& e) { return e.end_ns > row.arrival_ns; });
  for (auto e = later; e != session.open.end(); ++e) {
    row.after.push_back(e->position);
    latest_ns = std::max(latest_ns, e->end_ns);
  }
  session.open.erase(later, session.open.end());
}

void EndedTurns::resolve(std::int64_t position, std::string_view parent, Row& row) {
  if (row.session.empty()) return;
  const std::size_t own = number_of(row.session);
  if (!parent.empty() && parent != row.session && !sessions_[own].has_parent) {
    const std::size_t from = number_of(parent);
    sessions_[own].has_parent = true;
    sessions_[own].parent = from;
  }

  std::int64_t latest_ns = -1;
  join(sessions_[own], row, latest_ns);
  std::vector<std::size_t>& began = sessions_[own].began;
  const auto joined_whole = [&](std::size_t child) {
    join(sessions_[child], row, latest_ns);
    sessions_[child].listed = !sessions_[child].open.empty();
    return !sessions_[child].listed;
  };
  began.erase(std::remove_if(began.begin(), began.end(), joined_whole), began.end());
  if (row.after.empty() && sessions_[own].has_parent) {
    const std::deque<Ended>& ended = sessions_[sessions_[own].parent].ended;
    const auto last = std::find_if(ended.rbegin(), ended.rend(),
                                   [&](const Ended& e) { return e.end_ns <= row.arrival_ns; });
    if (last != ended.rend()) {
      row.after.push_back(last->position);
      latest_ns = last->end_ns;
    }
  }
  if (latest_ns >= 0) row.think_ns = row.arrival_ns - latest_ns;

  Ended end{0, position};
  if (row.e2e_ns < 0 || __builtin_add_overflow(row.arrival_ns, row.e2e_ns, &end.end_ns)) return;
  Session& session = sessions_[own];
  session.ended.push_back(end);
  if (session.has_parent && !session.listed) {
    sessions_[session.parent].began.push_back(own);
    session.listed = true;
  }
  session.open.push_back(end);
  if (session.ended.size() > kRemembered) session.ended.pop_front();
  if (session.open.size() > kRemembered) session.open.erase(session.open.begin());
}

}  // namespace kvplan::traces
