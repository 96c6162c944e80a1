// Who waited for whom, for sources that tell sessions, which session began which, and when answers ended, but no waits:
// a client's next call follows from the answers that it had by then.
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

/// Rows have to come in the order of their ends, as servers log them. A row waits for
///   the answers of its session that had ended when it arrived and that nobody waits for yet,
///   likewise those of sessions that its session began (sub-agents that have come back),
///   or, where there are none (a sub-agent begins), the latest that had ended of the session that began its own;
/// `think_ns` is the time from the last of their ends to its arrival. A sub-agent that runs on while its parent goes on
/// is not waited for. Memory: by session, and at most kRemembered answers of each.
class EndedTurns {
 public:
  static constexpr std::size_t kRemembered = 1024;

  /// Adds what the row at `position` waits for; `parent` empty: nobody began its session. A row without a session
  /// waits for nobody; for one without `e2e_ns` nobody waits.
  void resolve(std::int64_t position, std::string_view parent, Row& row);

 private:
  struct Ended {
    std::int64_t end_ns;
    std::int64_t position;
  };
  struct Session {
    std::deque<Ended> ended;         ///< the latest, by end
    std::vector<Ended> open;         ///< nobody waits for them yet
    std::vector<std::size_t> began;  ///< sessions that it began, of which something is open
    bool has_parent{false};
    bool listed{false};  ///< in its parent's `began`
    std::size_t parent{0};
  };
  std::size_t number_of(std::string_view name);
  /// Waits for what is open of a session and had ended by the row's arrival.
  static void join(Session& session, Row& row, std::int64_t& latest_ns);

  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Session> sessions_;
};

}  // namespace kvplan::traces
