#include "traces/import/agent_session.h"

#include <algorithm>

#include "simulator/base/units.h"

namespace kvplan::traces {
namespace {

/// How deep sub-agents may be nested. Lists are read ahead at each level, so this limit also bounds the time.
constexpr std::size_t kMaxDepth = 8;
/// Many files have the times of requests in whole seconds: a clock may seem to begin earlier by up to this much.
constexpr std::int64_t kClockSlackNs = kNsPerSecond;
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 20;

/// What a list of requests says about its clock.
struct Extent {
  bool any{false};
  std::int64_t first_ns{0};  ///< least `t`
  std::int64_t end_ns{0};    ///< greatest `t` + `api_time`
};

/// Reads a list ahead. Errors are skipped here: they are found again, and reported, when the list itself is read.
Extent extent_of(JsonCursor json) {
  Extent extent;
  JsonProblem ignored;
  bool first_entry = true;
  if (!json.enter_array()) return extent;
  while (json.next_element(first_entry) && json.enter_object()) {
    std::int64_t t_ns = -1;
    std::int64_t api_ns = 0;
    std::string_view key;
    bool first = true;
    while (json.next_key(key, first)) {
      if (key == "t") {
        (void)read_time(json, key, TimeUnit::kSeconds, t_ns, ignored);
      } else if (key == "api_time") {
        (void)read_time(json, key, TimeUnit::kSeconds, api_ns, ignored);
      } else if (!json.skip_value()) {
        return extent;
      }
    }
    if (json.failed()) return extent;
    if (t_ns < 0) continue;
    extent.first_ns = extent.any ? std::min(extent.first_ns, t_ns) : t_ns;
    extent.end_ns = std::max(extent.end_ns, t_ns > INT64_MAX - api_ns ? INT64_MAX : t_ns + api_ns);
    extent.any = true;
  }
  return extent;
}

}  // namespace

bool AgentSession::fail(std::string_view field, std::string message) {
  failed_ = true;
  return note_problem(problem_, path_of(field), std::move(message));
}

bool AgentSession::fail_read(const JsonCursor& json) {
  if (json.failed()) return fail_json(json);
  return fail(std::string(problem_.field), std::string(problem_.message));
}

std::string AgentSession::path_of(std::string_view field) const {
  std::string path;
  for (const List& list : lists_)
    if (list.index >= 0) path += "requests[" + std::to_string(list.index) + "].";
  path += field;
  return path;
}

bool AgentSession::begin(std::string_view text) {
  text_ = text;
  json_ = JsonCursor(text);
  first_key_ = true;
  list_waits_ = list_seen_ = false;
  lists_.clear();
  requests_ = 0;
  id_.clear();
  block_tokens_ = -1;
  scope_ = Scope::kUnstated;
  if (!json_.enter_object()) return fail_json(json_);
  if (!read_keys()) return false;
  if (lists_.empty()) {
    if (!end_object()) return false;
    if (!list_waits_) return fail("requests", "missing: expected the session's list of requests");
    lists_.push_back({waiting_list_});
  }
  if (id_.empty()) return fail("id", "missing: expected the session's name");
  return lists_.front().at.enter_array() || fail_json(lists_.front().at);
}

bool AgentSession::read_keys() {
  std::string_view key;
  while (json_.next_key(key, first_key_)) {
    if (key != "requests") {
      if (!read_top(key)) return fail_read(json_);
      continue;
    }
    if (list_seen_) return fail(key, "expected one list of requests, found a second");
    list_seen_ = true;
    if (json_.kind() != 'a') return fail(key, "expected an array");
    if (!id_.empty() && block_tokens_ > 0 && scope_ != Scope::kUnstated) {
      lists_.push_back({json_});
      return true;
    }
    list_waits_ = true;
    waiting_list_ = json_;
    if (!json_.skip_value()) return fail_json(json_);
  }
  return !json_.failed() || fail_json(json_);
}

bool AgentSession::end_object() {
  return json_.at_end() || fail_json(json_);
}

bool AgentSession::read_top(std::string_view key) {
  if (key == "id") {
    if (!id_.empty()) return note_problem(problem_, key, "expected one session name, found a second");
    std::string_view text;
    std::string store;
    if (!read_text(json_, key, text, store, problem_)) return false;
    id_ = text;
    return true;
  }
  if (key == "block_size") {
    if (block_tokens_ > 0) return note_problem(problem_, key, "expected one block size, found a second");
    if (!read_count(json_, key, block_tokens_, problem_)) return false;
    if (block_tokens_ == 0 || block_tokens_ > kMaxBlock)
      return note_problem(problem_, key,
                          "expected 1 to 1048576 tokens, found " + std::to_string(block_tokens_));
    return true;
  }
  if (key == "hash_id_scope") {
    if (scope_ != Scope::kUnstated) return note_problem(problem_, key, "expected one scope, found a second");
    std::string_view text;
    std::string store;
    if (!read_text(json_, key, text, store, problem_)) return false;
    if (text.empty()) return true;
    if (text != "local" && text != "global")
      return note_problem(problem_, key, "expected \"local\" or \"global\", found " + shown(text));
    scope_ = text == "local" ? Scope::kLocal : Scope::kGlobal;
    return true;
  }
  return json_.skip_value();
}

bool AgentSession::next(Row& row) {
  for (;;) {
    List& list = lists_.back();
    if (list.at.next_element(list.first)) {
      ++list.index;
      Entry entry;
      if (!read_entry(list.at, entry, row)) return false;
      if (entry.type != "subagent") return fill(entry, row);
      if (!enter_agent(entry)) return false;
      continue;
    }
    if (list.at.failed()) return fail_json(list.at);
    if (lists_.size() > 1) {
      leave_agent();
      continue;
    }
    if (list_waits_) return false;  // the text after the list has been read
    json_ = list.at;
    list.index = -1;
    return read_keys() && end_object() && false;
  }
}

bool AgentSession::read_entry(JsonCursor& json, Entry& entry, Row& row) {
  row.clear();
  largest_id_ = 0;
  if (!json.enter_object()) return fail_json(json);
  std::string_view key;
  bool first = true;
  while (json.next_key(key, first))
    if (!read_value(json, key, entry, row)) return fail_read(json);
  if (json.failed()) return fail_json(json);
  if (entry.type != "n" && entry.type != "s" && entry.type != "subagent")
    return fail("type", "expected \"n\", \"s\" or \"subagent\", found " + shown(entry.type));
  return entry.t_ns >= 0 || fail("t", "missing: expected a time in s");
}

bool AgentSession::read_value(JsonCursor& json, std::string_view key, Entry& entry, Row& row) {
  if (key == "hash_ids")
    return read_ids(json, key, row.has_hashes, problem_, [&](std::uint64_t id) {
      row.hashes.push_back(id);
      largest_id_ = std::max(largest_id_, id);
    });
  if (key == "t") return read_time(json, key, TimeUnit::kSeconds, entry.t_ns, problem_);
  if (key == "type") return read_text(json, key, entry.type, entry.type_store, problem_);
  if (key == "in") return read_count(json, key, entry.input_tokens, problem_);
  if (key == "out") return read_count(json, key, entry.output_tokens, problem_);
  if (key == "ttft") return read_time(json, key, TimeUnit::kSeconds, row.ttft_ns, problem_);
  if (key == "api_time") return read_time(json, key, TimeUnit::kSeconds, row.e2e_ns, problem_);
  if (key == "think_time") return read_time(json, key, TimeUnit::kSeconds, entry.think_ns, problem_);
  if (key == "duration_ms") return read_time(json, key, TimeUnit::kMillis, entry.duration_ns, problem_);
  if (key != "requests") return json.skip_value();
  entry.has_list = json.kind() == 'a';
  entry.list = json;
  return json.skip_value();
}

bool AgentSession::fill(const Entry& entry, Row& row) {
  if (entry.input_tokens < 0) return fail("in", "missing: expected the prompt tokens");
  if (entry.output_tokens < 0) return fail("out", "missing: expected the output tokens");
  row.input_tokens = entry.input_tokens;
  row.output_tokens = entry.output_tokens;
  if (__builtin_add_overflow(lists_.back().start_ns, entry.t_ns, &row.arrival_ns))
    return fail("t", "more than 292 years after the session's start");
  List& list = lists_.back();
  if (list.last >= 0) row.after.push_back(list.last);
  row.after.insert(row.after.end(), list.joins.begin(), list.joins.end());
  // The recorded wait includes sub-agents that ran in it, and for the first request of a sub-agent it is not counted
  // from the request that started it: in both cases the wait follows from times instead.
  if (list.joins.empty() && list.answered) row.think_ns = entry.think_ns;
  list.joins.clear();
  list.last = requests_++;
  list.answered = true;
  return true;
}

void AgentSession::leave_agent() {
  const List agent = std::move(lists_.back());
  lists_.pop_back();
  std::vector<std::int64_t>& joins = lists_.back().joins;
  if (agent.answered) joins.push_back(agent.last);
  joins.insert(joins.end(), agent.joins.begin(), agent.joins.end());
}

bool AgentSession::enter_agent(const Entry& entry) {
  if (!entry.has_list) return true;  // the list left no requests
  if (lists_.size() > kMaxDepth)
    return fail("requests", "sub-agents nested deeper than " + std::to_string(kMaxDepth));
  const Extent extent = extent_of(entry.list);
  const bool known = entry.duration_ns >= 0;
  const std::int64_t start_ns = entry.t_ns - (known ? entry.duration_ns : extent.end_ns);
  List list{entry.list};
  if (extent.first_ns > 0 && extent.first_ns >= start_ns - kClockSlackNs) {
    list.start_ns = lists_.back().start_ns;
    ++agents_.same_clock;
  } else {
    if (__builtin_add_overflow(lists_.back().start_ns, std::max<std::int64_t>(start_ns, 0), &list.start_ns))
      return fail("t", "more than 292 years after the session's start");
    if (start_ns < 0) ++agents_.start_cut;
    if (!known && extent.any) ++agents_.without_duration;
  }
  if (!list.at.enter_array()) return fail_json(list.at);
  list.last = lists_.back().last;
  lists_.push_back(std::move(list));
  return true;
}

}  // namespace kvplan::traces
