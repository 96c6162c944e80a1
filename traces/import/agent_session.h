// Reads one session of a coding agent, request after request, from its text: the input of the importer `claude-code`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/json_values.h"
#include "traces/import/piece_builder.h"

namespace kvplan::traces {

/// Counts of sub-agents with unusual clocks (claude_code.cpp says how their clocks are read).
struct AgentCounts {
  std::int64_t same_clock{0};        ///< their times use the clock of the list around them
  std::int64_t without_duration{0};  ///< the end of their last answer was used instead
  std::int64_t start_cut{0};         ///< they would have started before the list around them
};

/// The requests of one session, one after the other, from its text.
///
/// Life cycle: `begin`, then `next` until it returns false; `failed()` distinguishes the end from an error. The keys
/// before the list are known after `begin`: if id, block_size and hash_id_scope come first, as in all known files,
/// the list is read in place; otherwise it is skipped and read at the end.
class AgentSession {
 public:
  enum class Scope : std::uint8_t { kUnstated, kLocal, kGlobal };

  /// `text` outlives the session's requests.
  bool begin(std::string_view text);
  /// The next request, its ids as in the text, its `session` empty, and in `after` numbers of requests of this
  /// session, from 0.
  bool next(Row& row);

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const JsonProblem& problem() const { return problem_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::int32_t block_tokens() const { return block_tokens_; }  ///< -1 = not stated
  [[nodiscard]] Scope scope() const { return scope_; }
  /// Largest prefix id of the latest request; 0 without ids.
  [[nodiscard]] std::uint64_t largest_id() const { return largest_id_; }
  /// Totals over all sessions until now.
  [[nodiscard]] const AgentCounts& agents() const { return agents_; }
  /// The field's name with the position of the latest request in front of it.
  [[nodiscard]] std::string path_of(std::string_view field) const;

 private:
  struct List {
    JsonCursor at;  ///< before an element of the list, or at its end
    bool first{true};
    std::int64_t start_ns{0};  ///< offset to be added to its times
    std::int64_t index{-1};    ///< index of the latest element
    /// Number of its latest request, or that of the one before its start; -1 = none
    std::int64_t last{-1};
    bool answered{false};  ///< it has had a request of its own
    /// Last requests of the sub-agents that have ended since that request.
    std::vector<std::int64_t> joins{};
  };
  struct Entry {
    std::int64_t t_ns{-1};
    std::int64_t duration_ns{-1};
    std::int64_t think_ns{-1};
    std::string_view type;
    std::string type_store;
    std::int32_t input_tokens{-1};
    std::int32_t output_tokens{-1};
    bool has_list{false};
    JsonCursor list;
  };

  bool fail(std::string_view field, std::string message);
  bool fail_json(const JsonCursor& json) {
    failed_ = true;
    return note_no_json(problem_, text_, json.where());
  }
  /// A read failed: reports the problem, or broken text.
  bool fail_read(const JsonCursor& json);
  bool read_top(std::string_view key);
  /// Reads keys until the list begins or the object ends; false on an error.
  bool read_keys();
  bool end_object();
  bool read_entry(JsonCursor& json, Entry& entry, Row& row);
  bool read_value(JsonCursor& json, std::string_view key, Entry& entry, Row& row);
  bool enter_agent(const Entry& entry);
  bool fill(const Entry& entry, Row& row);
  /// The innermost list has ended: the next request around it waits for it.
  void leave_agent();

  std::string_view text_;
  JsonCursor json_;
  bool first_key_{true};
  bool list_waits_{false};  ///< the list was skipped, because not all keys before it were known
  bool list_seen_{false};
  JsonCursor waiting_list_;
  std::vector<List> lists_;
  std::int64_t requests_{0};  ///< requests returned until now
  std::string id_;
  std::int32_t block_tokens_{-1};
  Scope scope_{Scope::kUnstated};
  std::uint64_t largest_id_{0};
  AgentCounts agents_;
  bool failed_{false};
  JsonProblem problem_;
};

}  // namespace kvplan::traces
