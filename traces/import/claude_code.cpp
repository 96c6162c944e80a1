// Sessions of coding agents: repository callanjfox/kv-cache-tester (folder traces, one file per session) and
// what others publish in its form, one session per line. Fields: docs/TRACE_FORMAT.md of repository
// callanjfox/agentic-coding-analysis.
//
// A session is one object with a list of requests; a request of type "subagent" is a marker with a list of its
// own, to any depth. Requests are taken in the order of the text, those of a sub-agent at its marker's place and
// in its session.
//
// Prefix ids are chained and count full blocks only; some publishers keep an id for the part-filled last one,
// which is noticed and counted. With scope "local", or none, the ids of a session mean nothing outside it, and
// its sub-agents share them: each session gets a range of its own behind those before it. Text that sessions
// do share (tools and system prompt) is not in the ids then. With scope "global" ids are taken as they are.
//
// Times are seconds since the session's start; no file says when a session started. In the recorded sessions
// the clock of a sub-agent restarts at 0, and its marker's `t` is the moment it *finished*: over all sub-agents
// with a duration, t - duration is never before the request ahead of the marker, and parallel ones then start
// together. So a sub-agent starts at t - duration. Other publishers write times of the session inside it. What
// the file holds decides, for each sub-agent: a clock that begins at 0, or more than a second before the
// sub-agent's start, has restarted; any other one is that of the list around it. Without a duration the end of
// the last answer (t + api_time) stands for it; in the 44 recorded sub-agents that is 1 to 7 s too short.
//
// Not kept, for want of a column: think_time, the client's wait before a request; that the request behind a
// sub-agent waits for it; models and kinds of content.
#include <optional>
#include <unordered_map>

#include "traces/import/importer.h"
#include "traces/import/input_lines.h"
#include "traces/import/json_values.h"
#include "traces/import/piece_builder.h"

namespace kvplan::traces {
namespace {

/// A session over several lines may not be longer. (A line may be 64 MiB long.)
constexpr std::size_t kMaxDocument = std::size_t{1} << 25;
constexpr std::size_t kMaxDepth = 8;
/// Times of requests are in whole seconds in many files: so far a clock may seem to begin early.
constexpr std::int64_t kClockSlackNs = kNsPerSecond;
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 20;

/// What a list of requests says about its clock.
struct Extent {
  bool any{false};
  std::int64_t first_ns{0};  ///< least `t`
  std::int64_t end_ns{0};    ///< greatest `t` + `api_time`
};

/// Reads a list ahead. What cannot be read is passed over here: it is met again, and reported, in its turn.
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
    if (t_ns < 0) continue;
    extent.first_ns = extent.any ? std::min(extent.first_ns, t_ns) : t_ns;
    extent.end_ns = std::max(extent.end_ns, t_ns > INT64_MAX - api_ns ? INT64_MAX : t_ns + api_ns);
    extent.any = true;
  }
  return extent;
}

/// What was noticed about sub-agents.
struct AgentCounts {
  std::int64_t same_clock{0};
  std::int64_t without_duration{0};
  std::int64_t start_cut{0};
};

/// The requests of one session, one after the other, from its text.
///
/// Life cycle: `begin`, then `next` until it gives false; `failed()` tells an end from an error. What stands
/// above the list is known after `begin`: where id, block_size and hash_id_scope come first, as in all files
/// seen, the list is read where it stands; otherwise it is skipped and read at the end.
class Session {
 public:
  enum class Scope : std::uint8_t { kUnstated, kLocal, kGlobal };

  bool begin(std::string_view text);
  /// The next request, its ids as they stand in the text and its `session` empty.
  bool next(Row& row);

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const JsonProblem& problem() const { return problem_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::int32_t block_tokens() const { return block_tokens_; }  ///< -1 = not stated
  [[nodiscard]] Scope scope() const { return scope_; }
  /// Greatest prefix id of the latest request; 0 without ids.
  [[nodiscard]] std::uint64_t largest_id() const { return largest_id_; }
  /// Over all sessions so far.
  [[nodiscard]] const AgentCounts& agents() const { return agents_; }
  /// Puts the place of the latest request before a field's name.
  [[nodiscard]] std::string path_of(std::string_view field) const;

 private:
  struct List {
    JsonCursor at;  ///< before an element of the list, or its end
    bool first{true};
    std::int64_t start_ns{0};  ///< what to add to its times
    std::int64_t index{-1};    ///< of the latest element
  };
  struct Entry {
    std::int64_t t_ns{-1};
    std::int64_t duration_ns{-1};
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
  /// A reader gave false: its problem, or broken text.
  bool fail_read(const JsonCursor& json);
  bool read_top(std::string_view key);
  /// Reads keys until the list begins or the object ends; false on an error.
  bool read_keys();
  bool end_object();
  bool read_entry(JsonCursor& json, Entry& entry, Row& row);
  bool read_value(JsonCursor& json, std::string_view key, Entry& entry, Row& row);
  bool enter_agent(const Entry& entry);
  bool fill(const Entry& entry, Row& row);

  std::string_view text_;
  JsonCursor json_;
  bool first_key_{true};
  bool list_waits_{false};  ///< it was skipped, as not all that goes before it was known
  bool list_seen_{false};
  JsonCursor waiting_list_;
  std::vector<List> lists_;
  std::string id_;
  std::int32_t block_tokens_{-1};
  Scope scope_{Scope::kUnstated};
  std::uint64_t largest_id_{0};
  AgentCounts agents_;
  bool failed_{false};
  JsonProblem problem_;
};

bool Session::fail(std::string_view field, std::string message) {
  failed_ = true;
  return note_problem(problem_, path_of(field), std::move(message));
}

bool Session::fail_read(const JsonCursor& json) {
  if (json.failed()) return fail_json(json);
  return fail(std::string(problem_.field), std::string(problem_.message));
}

std::string Session::path_of(std::string_view field) const {
  std::string path;
  for (const List& list : lists_)
    if (list.index >= 0) path += "requests[" + std::to_string(list.index) + "].";
  path += field;
  return path;
}

bool Session::begin(std::string_view text) {
  text_ = text;
  json_ = JsonCursor(text);
  first_key_ = true;
  list_waits_ = list_seen_ = false;
  lists_.clear();
  id_.clear();
  block_tokens_ = -1;
  scope_ = Scope::kUnstated;
  if (!json_.enter_object()) return fail_json(json_);
  if (!read_keys()) return false;
  if (lists_.empty()) {
    if (!end_object()) return false;
    if (!list_waits_) return fail("requests", "missing: a session has a list of requests");
    lists_.push_back({waiting_list_});
  }
  if (id_.empty()) return fail("id", "missing: a session has a name");
  return lists_.front().at.enter_array() || fail_json(lists_.front().at);
}

bool Session::read_keys() {
  std::string_view key;
  while (json_.next_key(key, first_key_)) {
    if (key != "requests") {
      if (!read_top(key)) return fail_read(json_);
      continue;
    }
    if (list_seen_) return fail(key, "a second list of requests");
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

bool Session::end_object() {
  return json_.at_end() || fail_json(json_);
}

bool Session::read_top(std::string_view key) {
  if (key == "id") {
    if (!id_.empty()) return note_problem(problem_, key, "a second name of the session");
    std::string_view text;
    std::string store;
    if (!read_text(json_, key, text, store, problem_)) return false;
    id_ = text;
    return true;
  }
  if (key == "block_size") {
    if (block_tokens_ > 0) return note_problem(problem_, key, "a second block size of the session");
    if (!read_count(json_, key, block_tokens_, problem_)) return false;
    if (block_tokens_ == 0 || block_tokens_ > kMaxBlock)
      return note_problem(problem_, key,
                          "expected 1 to 1048576 tokens, found " + std::to_string(block_tokens_));
    return true;
  }
  if (key == "hash_id_scope") {
    if (scope_ != Scope::kUnstated) return note_problem(problem_, key, "a second scope of the session");
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

bool Session::next(Row& row) {
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
      lists_.pop_back();
      continue;
    }
    if (list_waits_) return false;  // what is behind the list has been read
    json_ = list.at;
    list.index = -1;
    return read_keys() && end_object() && false;
  }
}

bool Session::read_entry(JsonCursor& json, Entry& entry, Row& row) {
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

bool Session::read_value(JsonCursor& json, std::string_view key, Entry& entry, Row& row) {
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
  if (key == "duration_ms") return read_time(json, key, TimeUnit::kMillis, entry.duration_ns, problem_);
  if (key != "requests") return json.skip_value();
  entry.has_list = json.kind() == 'a';
  entry.list = json;
  return json.skip_value();
}

bool Session::fill(const Entry& entry, Row& row) {
  if (entry.input_tokens < 0) return fail("in", "missing: expected the tokens of the prompt");
  if (entry.output_tokens < 0) return fail("out", "missing: expected the tokens of the answer");
  row.input_tokens = entry.input_tokens;
  row.output_tokens = entry.output_tokens;
  if (__builtin_add_overflow(lists_.back().start_ns, entry.t_ns, &row.arrival_ns))
    return fail("t", "more than 292 years behind the session's start");
  return true;
}

bool Session::enter_agent(const Entry& entry) {
  if (!entry.has_list) return true;  // it left no requests
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
      return fail("t", "more than 292 years behind the session's start");
    if (start_ns < 0) ++agents_.start_cut;
    if (!known && extent.any) ++agents_.without_duration;
  }
  if (!list.at.enter_array()) return fail_json(list.at);
  lists_.push_back(list);
  return true;
}

/// Sessions, one per line or one over the lines of a file.
class SessionStream final : public TraceStream {
 public:
  SessionStream(Inputs inputs, std::int64_t block_option)
      : lines_(std::move(inputs)), block_option_(block_option) {}
  /// Reads the top of the first session, which says what holds for all. Call once, before `next`.
  Status start();
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  /// Begins the next session; false after the last one.
  Result<bool> begin_session();
  Result<std::string_view> whole_object(std::string_view line);
  void end_session();
  void name_session();
  /// Gives the row's ids the session's range; false where that is full.
  bool place_ids();
  [[nodiscard]] Error session_error() const {
    return lines_.error_here(session_.problem().message, session_.problem().field);
  }
  void finish();

  InputLines lines_;
  std::int64_t block_option_;
  std::optional<PieceBuilder> builder_;
  StreamSummary summary_;
  Session session_;
  bool in_session_{false};
  bool ended_{false};
  bool global_{false};
  std::int64_t sessions_{0};
  std::string name_;
  std::unordered_map<std::string, std::int64_t> names_;  ///< how often each was taken
  std::int64_t renamed_{0};
  Row row_;
  std::uint64_t id_base_{0};  ///< added to the ids of the session
  std::uint64_t id_top_{0};   ///< greatest source id so far
  bool any_id_{false};
  bool ids_used_up_{false};
};

Status SessionStream::start() {
  summary_.shares_clock = false;
  summary_.provenance.format = "claude-code";
  summary_.provenance.sources = lines_.sources();
  KVPLAN_TRY(const bool any, begin_session());
  if (!any) return bad_input("a trace without sessions").at_file(lines_.input().path());
  summary_.provenance.options = {"block=" + std::to_string(summary_.block_tokens),
                                 std::string("hash_id_scope=") + (global_ ? "global" : "local")};
  builder_.emplace(summary_.block_tokens, SourceTraits{.whole_prompts = true, .clock_per_session = true});
  return Done{};
}

Result<std::string_view> SessionStream::whole_object(std::string_view line) {
  // The end of a line ends the session, unless what ends it is no closing bracket of an object.
  const auto ends = [](std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t");
    return last == std::string_view::npos || text[last] == '}';
  };
  if (ends(line) || line.front() != '{') return line;
  std::int64_t depth = 0;
  bool quoted = false;
  std::size_t at = 0;
  for (;;) {
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (quoted) {
        if (c == '\\') ++at;
        quoted = c != '"';
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    if (depth <= 0) return line;
    if (line.size() > kMaxDocument)
      return lines_.error_here(
          "a session of more than 33554432 bytes over several lines; longer ones must be on one line each",
          "");
    at = line.size();
    if (!lines_.input().extend_line(line)) {
      if (lines_.input().failed()) return lines_.input().error();
      return line;  // the text ends inside the object, which its reader says
    }
  }
}

Result<bool> SessionStream::begin_session() {
  std::string_view line;
  KVPLAN_TRY(const bool more, lines_.next(line));
  if (!more) return false;
  KVPLAN_TRY(line, whole_object(line));
  if (!session_.begin(line)) return session_error();
  const std::int64_t stated = session_.block_tokens();
  if (stated < 0 && block_option_ == 0)
    return lines_.error_here("missing: say the tokens of one prefix id with --block", "block_size");
  if (stated > 0 && block_option_ > 0 && stated != block_option_)
    return lines_.error_here("the file says " + std::to_string(stated) + "; --block " +
                                 std::to_string(block_option_) + " is for files that leave it out",
                             "block_size");
  const std::int64_t block = stated > 0 ? stated : block_option_;
  const bool global = session_.scope() == Session::Scope::kGlobal;
  if (sessions_ == 0) {
    summary_.block_tokens = block;
    global_ = global;
  } else if (block != summary_.block_tokens) {
    return lines_.error_here("expected " + std::to_string(summary_.block_tokens) +
                                 " as in the first session, found " + std::to_string(block),
                             "block_size");
  } else if (global != global_) {
    return lines_.error_here(std::string("expected ") + (global_ ? "\"global\"" : "\"local\"") +
                                 " as in the first session: their ids cannot be told apart",
                             "hash_id_scope");
  }
  ++sessions_;
  name_session();
  in_session_ = true;
  return true;
}

void SessionStream::name_session() {
  name_ = session_.id();
  std::int64_t& times = names_[name_];
  if (++times == 1) return;
  ++renamed_;
  do name_ = session_.id() + "#" + std::to_string(times++);
  while (names_.count(name_) != 0);
  --times;
  names_.emplace(name_, 1);
}

void SessionStream::end_session() {
  in_session_ = false;
  if (global_ || !any_id_) return;
  ids_used_up_ = id_top_ == UINT64_MAX;
  id_base_ = id_top_ + 1;
}

bool SessionStream::place_ids() {
  if (global_ || row_.hashes.empty()) return true;
  if (ids_used_up_ || session_.largest_id() > UINT64_MAX - id_base_) return false;
  if (id_base_ != 0)
    for (std::uint64_t& id : row_.hashes) id += id_base_;
  id_top_ = std::max(id_top_, id_base_ + session_.largest_id());
  any_id_ = true;
  return true;
}

Result<bool> SessionStream::next(Trace& piece) {
  builder_->begin(piece);
  if (ended_) return false;
  while (!builder_->full()) {
    if (!in_session_) {
      KVPLAN_TRY(const bool more, begin_session());
      if (!more) {
        if (builder_->rows() == 0)
          return bad_input("a trace without requests").at_file(lines_.input().path());
        ended_ = true;
        finish();
        break;
      }
    }
    if (!session_.next(row_)) {
      if (session_.failed()) return session_error();
      end_session();
      continue;
    }
    row_.session = name_;
    if (!place_ids())
      return lines_.error_here("id " + std::to_string(session_.largest_id()) +
                                   " is too large: the ids of this session, behind those of the sessions "
                                   "before it, do not fit 64 bits",
                               session_.path_of("hash_ids"));
    if (!builder_->add(row_)) {
      const PieceBuilder::Problem& problem = builder_->problem();
      return lines_.error_here(problem.message,
                               problem.field == "session" ? "id" : session_.path_of("hash_ids"));
    }
  }
  return piece.size() > 0;
}

void SessionStream::finish() {
  builder_->finish(summary_);
  std::vector<std::string>& warnings = summary_.provenance.warnings;
  if (sessions_ > 1)
    warnings.push_back("The file does not say when a session starts: all " + std::to_string(sessions_) +
                       " have a clock that begins at 0, so a run of them as they are starts them at once.");
  if (renamed_ > 0)
    warnings.push_back(std::to_string(renamed_) +
                       " sessions have the id of an earlier one; they are kept apart as id#2 and so on.");
  const AgentCounts& agents = session_.agents();
  if (agents.same_clock > 0)
    warnings.push_back(std::to_string(agents.same_clock) +
                       " sub-agents have times that do not restart; they are taken as times of the session.");
  if (agents.without_duration > 0)
    warnings.push_back(std::to_string(agents.without_duration) +
                       " sub-agents have no duration; the end of their last answer is taken for it.");
  if (agents.start_cut > 0)
    warnings.push_back(std::to_string(agents.start_cut) +
                       " sub-agents ran for longer than their session so far; they start with it.");
}

bool recognises(const Sniff& sniff) {
  if (sniff.shape != Sniff::Shape::kJsonLines && sniff.shape != Sniff::Shape::kJsonObject) return false;
  // AIBrix too has rows with "requests"; a session has a name and says how its prefixes are cut or scoped.
  return sniff.kind("id") == 's' && sniff.kind("requests") == 'a' && sniff.kind("models") == 'a' &&
         (sniff.kind("block_size") == 'n' || sniff.kind("hash_id_scope") == 's');
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  auto stream = std::make_unique<SessionStream>(std::move(inputs), options.block_tokens);
  KVPLAN_TRY_DO(stream->start());
  return std::unique_ptr<TraceStream>(std::move(stream));
}

}  // namespace

extern const Importer kClaudeCode;
const Importer kClaudeCode{
    .name = "claude-code",
    .summary = "Sessions of coding agents as kv-cache-tester records them (JSON, JSON lines)",
    .source = "github.com/callanjfox/kv-cache-tester",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces
