// Finds the waits between requests, for sources that record sessions, parents of sessions and ends of answers, but no
// waits: it assumes that a client sends its next call after the answers that it had by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/import/piece_builder.h"

namespace kvplan::traces {

/// Rows must come in the order of their ends, as servers log them. A row waits for
///   the answers of its session that had ended when it arrived and that no other row waits for yet, and
///   the same answers of sessions that its session began (sub-agents that have returned);
///   if there are none (a sub-agent begins), for the latest ended answer of the parent session.
/// `think_ns` is the time from the last of these ends to its arrival. If a sub-agent runs on while its parent
/// continues, there is no wait. Memory: by session, and at most kRemembered answers of each.
class EndedTurns {
 public:
  static constexpr std::size_t kRemembered = 1024;

  /// Adds the waits of the row at `position`; `parent` is empty if its session has no parent. A row without a session
  /// waits for no other; no row waits for one without `e2e_ns`.
  void resolve(std::int64_t position, std::string_view parent, Row& row);

 private:
  struct Ended {
    std::int64_t end_ns;
    std::int64_t position;
  };
  struct Session {
    std::deque<Ended> ended;         ///< the latest, by end
    std::vector<Ended> open;         ///< answers that no row waits for yet
    std::vector<std::size_t> began;  ///< child sessions with open answers
    bool has_parent{false};
    bool listed{false};  ///< in its parent's `began`
    std::size_t parent{0};
  };
  std::size_t number_of(std::string_view name);
  /// Waits for the open answers of a session that had ended by the row's arrival.
  static void join(Session& session, Row& row, std::int64_t& latest_ns);

  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Session> sessions_;
};

}  // namespace kvplan::traces
