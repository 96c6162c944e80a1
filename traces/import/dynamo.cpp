// Event logs that Dynamo's request tracing writes: schema `dynamo.request.trace.v1`, repository
// ai-dynamo/dynamo, docs/fern/pages/use-cases/agents/agent-tracing.md. One event per line, in sharded logs
// wrapped as {"timestamp": .., "event": {..}}.
//
// A `request_end` is a request. It arrived at `request_received_ms` (Unix time); lines are in the order of the ends.
// Prefix hashes are chained, unsigned 64-bit, one for each block of `replay.trace_block_size` tokens, also for an
// incomplete last one. Rows of a server that sees no session headers have `replay.input_length` instead of
// `input_tokens`.
//
// Sub-agents have sessions of their own, which name the parent's (`parent_session_id`). The waits follow from
// sessions and ends (ended_turns.h). The pause in between is the time of the client and its tools, so tool events add
// nothing and are only counted. Not kept, since there is no column: `cached_tokens` as the server measured them.
#include <optional>

#include "traces/import/ended_turns.h"
#include "traces/import/importer.h"
#include "traces/import/input_lines.h"
#include "traces/import/json_values.h"
#include "traces/import/piece_builder.h"

namespace kvplan::traces::dynamo {
namespace {

constexpr std::string_view kSchema = "dynamo.request.trace.v1";
constexpr std::string_view kBlockField = "request.replay.trace_block_size";
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 20;

/// One event of the log; all but `type` only for requests. Views live as long as the line and the event.
struct Event {
  std::string_view type;
  std::int32_t block_tokens{-1};  ///< -1 = not stated, here and below
  std::int32_t input_length{-1};
  std::int32_t input_tokens{-1};
  std::int32_t output_tokens{-1};
  std::int64_t received_ns{-1};
  Row row;
  std::string type_store;
  std::string session_store;
  std::string_view parent;  ///< session; empty = none
  std::string parent_store;

  void clear() {
    type = parent = {};
    block_tokens = input_length = input_tokens = output_tokens = -1;
    received_ns = -1;
    row.clear();
  }
};

/// Reads one line. After false, `problem` says what is wrong with which field.
class EventReader {
 public:
  bool read(std::string_view line, Event& event);
  [[nodiscard]] const JsonProblem& problem() const { return problem_; }

 private:
  bool read_event(std::string_view key, Event& event);
  bool read_request(std::string_view key, Event& event);
  bool read_replay(std::string_view key, Event& event);
  bool check(const Event& event);

  JsonCursor json_;
  bool has_schema_{false};
  bool has_request_{false};
  JsonCursor request_;  ///< before the request's value, which is read once the event's type is known
  JsonProblem problem_;
};

bool EventReader::read(std::string_view line, Event& event) {
  event.clear();
  has_schema_ = has_request_ = false;
  json_ = JsonCursor(line);
  const auto broken = [&] { return note_no_json(problem_, line, json_.where()); };
  if (json_.kind() != 'o') return broken();
  const auto top = [&](std::string_view key) {
    if (key != "event" || json_.kind() != 'o') return read_event(key, event);
    return read_object(json_, key, problem_,
                       [&](std::string_view inner) { return read_event(inner, event); });
  };
  if (!read_object(json_, "", problem_, top)) return json_.failed() && broken();
  if (!json_.at_end()) return broken();
  if (!has_schema_)
    return note_problem(problem_, "schema", "missing: expected \"" + std::string(kSchema) + "\"");
  if (event.type.empty()) return note_problem(problem_, "event_type", "missing");
  if (event.type != "request_end") return true;
  if (!has_request_) return note_problem(problem_, "request", "missing in a request_end");
  json_ = request_;
  if (!read_object(json_, "request", problem_,
                   [&](std::string_view key) { return read_request(key, event); }))
    return json_.failed() && broken();
  return check(event);
}

bool EventReader::read_event(std::string_view key, Event& event) {
  if (key == "schema") {
    std::string_view text;
    std::string store;
    if (!read_text(json_, key, text, store, problem_)) return false;
    if (text != kSchema)
      return note_problem(problem_, key, "expected \"" + std::string(kSchema) + "\", found " + shown(text));
    has_schema_ = true;
    return true;
  }
  if (key == "event_type") return read_text(json_, key, event.type, event.type_store, problem_);
  if (key == "agent_context")
    return read_object(json_, key, problem_, [&](std::string_view inner) {
      if (inner == "session_id")
        return read_text(json_, "agent_context.session_id", event.row.session, event.session_store, problem_);
      if (inner == "parent_session_id")
        return read_text(json_, "agent_context.parent_session_id", event.parent, event.parent_store,
                         problem_);
      return json_.skip_value();
    });
  if (key == "request") {
    has_request_ = true;
    request_ = json_;
  }
  return json_.skip_value();
}

bool EventReader::read_request(std::string_view key, Event& event) {
  if (key == "input_tokens") return read_count(json_, "request.input_tokens", event.input_tokens, problem_);
  if (key == "output_tokens")
    return read_count(json_, "request.output_tokens", event.output_tokens, problem_);
  if (key == "request_received_ms")
    return read_time(json_, "request.request_received_ms", TimeUnit::kMillis, event.received_ns, problem_);
  if (key == "ttft_ms")
    return read_time(json_, "request.ttft_ms", TimeUnit::kMillis, event.row.ttft_ns, problem_);
  if (key == "total_time_ms")
    return read_time(json_, "request.total_time_ms", TimeUnit::kMillis, event.row.e2e_ns, problem_);
  if (key == "replay")
    return read_object(json_, "request.replay", problem_,
                       [&](std::string_view inner) { return read_replay(inner, event); });
  return json_.skip_value();
}

bool EventReader::read_replay(std::string_view key, Event& event) {
  if (key == "input_length")
    return read_count(json_, "request.replay.input_length", event.input_length, problem_);
  if (key == "input_sequence_hashes")
    return read_ids(json_, "request.replay.input_sequence_hashes", event.row.has_hashes, problem_,
                    [&](std::uint64_t id) { event.row.hashes.push_back(id); });
  if (key != "trace_block_size") return json_.skip_value();
  if (!read_count(json_, kBlockField, event.block_tokens, problem_)) return false;
  return (event.block_tokens != 0 && event.block_tokens <= kMaxBlock) ||
         note_problem(problem_, kBlockField,
                      "expected 1 to 1048576 tokens, found " + std::to_string(event.block_tokens));
}

bool EventReader::check(const Event& event) {
  if (event.received_ns < 0)
    return note_problem(problem_, "request.request_received_ms", "missing: expected a time in ms");
  if (event.input_tokens < 0 && event.input_length < 0)
    return note_problem(problem_, "request.input_tokens",
                        "missing, like replay.input_length: expected the prompt tokens");
  if (event.output_tokens < 0)
    return note_problem(problem_, "request.output_tokens", "missing: expected the output tokens");
  return true;
}

class EventStream final : public TraceStream {
 public:
  EventStream(Inputs inputs, std::int64_t block_option)
      : lines_(std::move(inputs)), block_option_(block_option) {}
  /// Reads up to the first request, which has the values that hold for all. Call once, before `next`.
  Status start();
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  /// Reads the next request into `event_`; returns false after the last one.
  Result<bool> read_request();
  Status check_block() const;
  void finish();

  InputLines lines_;
  std::int64_t block_option_;
  std::optional<PieceBuilder> builder_;
  EndedTurns turns_;
  StreamSummary summary_;
  EventReader reader_;
  Event event_;
  bool waiting_{false};  ///< `event_` holds a request that was not added yet
  bool ended_{false};
  std::int64_t tool_events_{0};
  std::int64_t other_events_{0};
  std::int64_t lengths_differ_{0};
};

Status EventStream::start() {
  summary_.provenance.format = "dynamo";
  summary_.provenance.sources = lines_.sources();
  KVPLAN_TRY(const bool any, read_request());
  if (!any) return bad_input("a trace without requests").at_file(lines_.input().path());
  summary_.block_tokens = event_.block_tokens > 0 ? event_.block_tokens : block_option_;
  summary_.provenance.options = {"block=" + std::to_string(summary_.block_tokens)};
  builder_.emplace(summary_.block_tokens,
                   SourceTraits{.content_ids = false, .whole_prompts = true, .clock_per_session = false});
  waiting_ = true;
  return Done{};
}

Result<bool> EventStream::read_request() {
  std::string_view line;
  for (;;) {
    KVPLAN_TRY(const bool more, lines_.next(line));
    if (!more) return false;
    if (!reader_.read(line, event_))
      return lines_.error_here(reader_.problem().message, reader_.problem().field);
    if (event_.type == "request_end") break;
    ++(event_.type.substr(0, 5) == "tool_" ? tool_events_ : other_events_);
  }
  event_.row.arrival_ns = event_.received_ns;
  event_.row.input_tokens = event_.input_tokens >= 0 ? event_.input_tokens : event_.input_length;
  event_.row.output_tokens = event_.output_tokens;
  if (event_.input_length >= 0 && event_.input_length != event_.row.input_tokens) ++lengths_differ_;
  return true;
}

Status EventStream::check_block() const {
  const std::int64_t stated = event_.block_tokens;
  const std::int64_t block = summary_.block_tokens;
  if (stated > 0 && block_option_ > 0 && stated != block_option_)
    return lines_.error_here("the file says " + std::to_string(stated) + "; --block " +
                                 std::to_string(block_option_) + " is for files that leave it out",
                             kBlockField);
  if (stated > 0 && block > 0 && stated != block)
    return lines_.error_here(
        "expected " + std::to_string(block) + " as in the first request, found " + std::to_string(stated),
        kBlockField);
  if (block == 0 && event_.row.has_hashes)
    return lines_.error_here(
        "there are hashes, but the first request does not say how many tokens one covers: use --block",
        kBlockField);
  return Done{};
}

Result<bool> EventStream::next(Trace& piece) {
  builder_->begin(piece);
  if (ended_) return false;
  while (!builder_->full()) {
    if (!waiting_) {
      KVPLAN_TRY(const bool more, read_request());
      if (!more) {
        ended_ = true;
        finish();
        break;
      }
    }
    waiting_ = false;
    KVPLAN_TRY_DO(check_block());
    turns_.resolve(builder_->rows(), event_.parent, event_.row);
    if (!builder_->add(event_.row)) {
      const PieceBuilder::Problem& problem = builder_->problem();
      return lines_.error_here(problem.message, problem.field == "hashes"
                                                    ? "request.replay.input_sequence_hashes"
                                                    : "agent_context.session_id");
    }
  }
  return piece.size() > 0;
}

void EventStream::finish() {
  builder_->finish(summary_);
  std::vector<std::string>& warnings = summary_.provenance.warnings;
  if (tool_events_ > 0)
    warnings.push_back(std::to_string(tool_events_) + " tool events are not requests and were left out.");
  if (other_events_ > 0)
    warnings.push_back(std::to_string(other_events_) +
                       " events are neither requests nor tool events and were left out.");
  if (lengths_differ_ > 0)
    warnings.push_back(std::to_string(lengths_differ_) +
                       " requests have different values of replay.input_length and input_tokens; "
                       "replay.input_length was used.");
}

bool recognises(const Sniff& sniff) {
  if (sniff.shape != Sniff::Shape::kJsonLines || sniff.head.find(kSchema) == std::string::npos) return false;
  return (sniff.kind("schema") == 's' && sniff.kind("event_type") == 's') || sniff.kind("event") == 'o';
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  auto stream = std::make_unique<EventStream>(std::move(inputs), options.block_tokens);
  KVPLAN_TRY_DO(stream->start());
  return std::unique_ptr<TraceStream>(std::move(stream));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "dynamo",
                       .summary = "Event logs of Dynamo's request tracing with prefix hashes (JSON lines)",
                       .source = "github.com/ai-dynamo/dynamo",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::dynamo
