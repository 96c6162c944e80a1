// Sessions of coding agents: repository callanjfox/kv-cache-tester (folder traces, one file per session) and files of
// other publishers in the same form, one session per line. Fields: docs/TRACE_FORMAT.md of repository
// callanjfox/agentic-coding-analysis.
//
// A session is one object with a list of requests; a request of type "subagent" is a marker with a list of its
// own, and may contain further markers. Requests are taken in the order of the text, those of a sub-agent at its
// marker and in its session.
//
// Prefix ids are chained and count full blocks only; some publishers have an id for the incomplete last block, which is
// noticed and counted. With scope "local", or none, the ids of a session have no meaning outside it, and its sub-agents
// share them: each session gets its own range of ids. Text that sessions really share (tools and system prompt) is not
// visible in the ids then. With scope "global" ids are used unchanged.
//
// Times are seconds since the session's start; no file says when a session started. In the recorded sessions the clock
// of a sub-agent restarts at 0, and its marker's `t` is the moment when it *finished* (the page says spawned): over all
// sub-agents with a duration, t - duration is never before the request ahead of the marker, and parallel sub-agents
// then start together. So a sub-agent starts at t - duration. Other publishers write times of the session inside it.
// The content decides for each sub-agent: a clock that begins at 0, or more than a second before the sub-agent's
// start, has restarted; any other is that of the list around it. Without a duration, the end of the last answer (t +
// api_time) is used; for the 44 recorded sub-agents that is 1 to 7 s too short.
//
// A request waits for the one before it in its list and for the sub-agents between the two; the first of a sub-agent
// waits for the request ahead of its marker. `think_time`, the client's wait, is the pause before it, unless sub-agents
// ran meanwhile: then the pause follows from times. Not kept: models and kinds of content.
#include <optional>
#include <unordered_map>

#include "traces/import/agent_session.h"
#include "traces/import/importer.h"
#include "traces/import/input_lines.h"
#include "traces/record/known_warnings.h"

namespace kvplan::traces::claude_code {
namespace {

/// The largest session that is written over several lines. (A single line may be 64 MiB long.)
constexpr std::size_t kMaxDocument = std::size_t{1} << 25;

/// Sessions, one per line or one over the lines of a file.
class SessionStream final : public TraceStream {
 public:
  SessionStream(Inputs inputs, std::int64_t block_option)
      : lines_(std::move(inputs)), block_option_(block_option) {}
  /// Reads the beginning of the first session, which has the values that hold for all. Call once, before `next`.
  Status start();
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  /// Begins the next session; false after the last one.
  Result<bool> begin_session();
  Result<std::string_view> whole_object(std::string_view line);
  void end_session();
  void name_session();
  /// Moves the row's ids into the session's range; returns false if that range is full.
  bool place_ids();
  [[nodiscard]] Error session_error() const {
    return lines_.error_here(session_.problem().message, session_.problem().field);
  }
  void finish();

  InputLines lines_;
  std::int64_t block_option_;
  std::optional<PieceBuilder> builder_;
  StreamSummary summary_;
  AgentSession session_;
  bool in_session_{false};
  std::int64_t first_row_{0};  ///< of the session
  bool ended_{false};
  bool global_{false};
  std::int64_t sessions_{0};
  std::string name_;
  std::unordered_map<std::string, std::int64_t> names_;  ///< how often each name was used
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
  builder_.emplace(summary_.block_tokens,
                   SourceTraits{.content_ids = false, .whole_prompts = true, .clock_per_session = true});
  return Done{};
}

Result<std::string_view> SessionStream::whole_object(std::string_view line) {
  // The end of a line ends the session, unless the line ends without a closing bracket of an object.
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
          "a session spread over several lines has more than 33554432 bytes: expected such a session on one "
          "line",
          "");
    at = line.size();
    if (!lines_.input().extend_line(line)) {
      if (lines_.input().failed()) return lines_.input().error();
      return line;  // the text ends inside the object; the object's reader reports that
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
    return lines_.error_here("missing: give the tokens per prefix id with --block", "block_size");
  if (stated > 0 && block_option_ > 0 && stated != block_option_)
    return lines_.error_here("the file says " + std::to_string(stated) + "; --block " +
                                 std::to_string(block_option_) + " is only for files without a block size",
                             "block_size");
  const std::int64_t block = stated > 0 ? stated : block_option_;
  const bool global = session_.scope() == AgentSession::Scope::kGlobal;
  if (sessions_ == 0) {
    summary_.block_tokens = block;
    global_ = global;
  } else if (block != summary_.block_tokens) {
    return lines_.error_here("expected " + std::to_string(summary_.block_tokens) +
                                 " as in the first session, found " + std::to_string(block),
                             "block_size");
  } else if (global != global_) {
    return lines_.error_here(std::string("expected ") + (global_ ? "\"global\"" : "\"local\"") +
                                 " as in the first session: ids of different scopes cannot be compared",
                             "hash_id_scope");
  }
  ++sessions_;
  first_row_ = builder_ ? builder_->rows() : 0;
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
    for (std::int64_t& before : row_.after) before += first_row_;
    if (!place_ids())
      return lines_.error_here(
          "id " + std::to_string(session_.largest_id()) +
              " is too large: with the ids of earlier sessions, the ids of this session exceed 64 bits",
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
    warnings.push_back(std::string(kNoSessionStarts) + "all " + std::to_string(sessions_) +
                       " have a clock that begins at 0, so a run starts all of them at once. `kvplan trace "
                       "start` gives them start times.");
  if (renamed_ > 0)
    warnings.push_back(std::to_string(renamed_) +
                       " sessions have the same id as an earlier one; they are renamed id#2 and so on.");
  const AgentCounts& agents = session_.agents();
  if (agents.same_clock > 0)
    warnings.push_back(std::to_string(agents.same_clock) +
                       " sub-agents have times that do not restart at 0; they are read as times since the "
                       "start of the session.");
  if (agents.without_duration > 0)
    warnings.push_back(std::to_string(agents.without_duration) +
                       " sub-agents have no duration; the end of their last answer is used instead.");
  if (agents.start_cut > 0)
    warnings.push_back(std::to_string(agents.start_cut) +
                       " sub-agents ran longer than their session so far; they start with it.");
}

bool recognises(const Sniff& sniff) {
  // AIBrix also has rows with "requests"; a session has a name too, and states how its prefixes are cut or scoped.
  return sniff.is_object() && sniff.kind("id") == 's' && sniff.kind("requests") == 'a' &&
         sniff.kind("models") == 'a' &&
         (sniff.kind("block_size") == 'n' || sniff.kind("hash_id_scope") == 's');
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  auto stream = std::make_unique<SessionStream>(std::move(inputs), options.block_tokens);
  KVPLAN_TRY_DO(stream->start());
  return std::unique_ptr<TraceStream>(std::move(stream));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "claude-code",
                       .summary = "Sessions of coding agents, recorded by kv-cache-tester (JSON, JSON lines)",
                       .source = "github.com/callanjfox/kv-cache-tester",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::claude_code
