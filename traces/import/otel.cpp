// OpenTelemetry spans of inferences, by the GenAI conventions: open-telemetry/semantic-conventions-genai,
// docs/gen-ai/gen-ai-spans.md. Two containers: OTLP JSON (`resourceSpans[].scopeSpans[].spans[]`, attributes
// as a list of keys and values, 64-bit integers as numbers or decimal texts; open-telemetry/opentelemetry-proto,
// examples/trace.json), one export after the other or only one, and the flattened form of inference-perf
// (`spans[]`, attributes as an object, times as ISO text; kubernetes-sigs/inference-perf,
// docs/otel_trace_replay.md).
//
// A request is a span with both token counts. Arrival is its start, e2e its duration. The input count includes
// cached tokens, the output count reasoning. Counts and times have their present names or the older ones that vLLM
// writes (vllm-project/vllm, vllm/tracing/utils.py); if both exist, the present one is used. Parents of spans are not
// read, so there are no waits; a call traced with counts at both ends, in the client and in the server, makes two
// requests.
#include <algorithm>
#include <array>

#include "traces/import/document_stream.h"
#include "traces/import/json_cursor.h"
#include "traces/record/oddities.h"

namespace kvplan::traces::otel {
namespace {

/// The fields of a span, each as its text.
enum class Part : std::uint8_t {
  kInput,
  kOutput,
  kMaxTokens,
  kTtft,
  kConversation,
  kOperation,
  kTraceId,
  kStart,
  kEnd,
};
constexpr std::size_t kParts = 9;

struct Name {
  std::string_view name;
  Part part;
  int rank;  ///< of several names for one field, the lowest present one counts
};

constexpr std::array<Name, 9> kAttributes{{
    {"gen_ai.usage.input_tokens", Part::kInput, 0},
    {"gen_ai.usage.prompt_tokens", Part::kInput, 1},
    {"gen_ai.usage.output_tokens", Part::kOutput, 0},
    {"gen_ai.usage.completion_tokens", Part::kOutput, 1},
    {"gen_ai.request.max_tokens", Part::kMaxTokens, 0},
    {"gen_ai.response.time_to_first_chunk", Part::kTtft, 0},
    {"gen_ai.latency.time_to_first_token", Part::kTtft, 1},
    {"gen_ai.conversation.id", Part::kConversation, 0},
    {"gen_ai.operation.name", Part::kOperation, 0},
}};
constexpr std::array<Name, 6> kFields{{
    {"traceId", Part::kTraceId, 0},
    {"trace_id", Part::kTraceId, 1},
    {"startTimeUnixNano", Part::kStart, 0},
    {"start_time", Part::kStart, 1},
    {"endTimeUnixNano", Part::kEnd, 0},
    {"end_time", Part::kEnd, 1},
}};

/// Spans of these operations are no inferences, or repeat the counts of the inferences below them.
constexpr std::array<std::string_view, 6> kNoInference{"create_agent", "embeddings",      "execute_tool",
                                                       "invoke_agent", "invoke_workflow", "retrieval"};

const Name* find(const Name* begin, const Name* end, std::string_view name) {
  const Name* const found = std::find_if(begin, end, [&](const Name& known) { return known.name == name; });
  return found == end ? nullptr : found;
}

/// One span, read field by field out of its text.
class Span {
 public:
  /// Returns false if the text is not such an object; `where` is then the byte of the error.
  bool read(std::string_view text) {
    values_ = {};
    json_ = JsonCursor(text);
    std::string_view key;
    bool first = true;
    if (!json_.enter_object()) return false;
    while (json_.next_key(key, first)) {
      const Name* const name = find(kFields.data(), kFields.data() + kFields.size(), key);
      if (!(key == "attributes" ? read_attributes()
            : name != nullptr   ? read_value(*name)
                                : json_.skip_value()))
        return false;
    }
    return !json_.failed();
  }

  struct Value {
    std::string_view text;
    std::string_view name;  ///< empty: the span does not say
    std::size_t at{0};      ///< byte in the span's text
    int rank{0};
    std::string own;  ///< the name, if it had escapes
    [[nodiscard]] bool stated() const { return !name.empty(); }
  };
  [[nodiscard]] const Value& at(Part part) const { return values_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::size_t where() const { return json_.where(); }

 private:
  /// Stores a number or a text; any other value counts as not stated.
  bool read_value(const Name& name) {
    Value& value = values_[static_cast<std::size_t>(name.part)];
    const char kind = json_.kind();
    if ((kind != 'n' && kind != 's') || (value.stated() && value.rank < name.rank)) return json_.skip_value();
    value.at = json_.where();
    value.name = name.name;
    value.rank = name.rank;
    if (kind == 'n') return json_.number(value.text);
    bool escaped = false;
    if (!json_.string(value.text, escaped)) return false;
    if (escaped) {
      if (!unescape(value.text, value.own)) return false;
      value.text = value.own;
    }
    return true;
  }

  /// {"name": value, ...} or [{"key": "name", "value": {"intValue": value}}, ...].
  bool read_attributes() {
    std::string_view key;
    bool first = true;
    if (json_.kind() == 'o') {
      json_.enter_object();
      while (json_.next_key(key, first)) {
        const Name* const name = find(kAttributes.data(), kAttributes.data() + kAttributes.size(), key);
        if (!(name != nullptr ? read_value(*name) : json_.skip_value())) return false;
      }
      return !json_.failed();
    }
    if (json_.kind() != 'a') return json_.skip_value();
    json_.enter_array();
    while (json_.next_element(first)) {
      if (!read_listed_attribute()) return false;
    }
    return !json_.failed();
  }

  bool read_listed_attribute() {
    if (!json_.enter_object()) return false;
    const Name* name = nullptr;
    JsonCursor value;  // position of the value, which may come before its key
    bool have_value = false;
    std::string_view key;
    bool first = true;
    while (json_.next_key(key, first)) {
      std::string_view text;
      bool escaped = false;
      if (key == "key" && json_.kind() == 's') {
        if (!json_.string(text, escaped)) return false;
        name = find(kAttributes.data(), kAttributes.data() + kAttributes.size(), text);
        continue;
      }
      if (key == "value" && json_.kind() == 'o') {
        value = json_;
        have_value = true;
      }
      if (!json_.skip_value()) return false;
    }
    if (json_.failed()) return false;
    if (name == nullptr || !have_value) return true;
    std::swap(json_, value);
    if (!read_any_value(*name)) return false;
    std::swap(json_, value);
    return true;
  }

  /// Reads an AnyValue: {"intValue": "5"}, {"doubleValue": 0.5}, {"stringValue": "a"}; other kinds count as not stated.
  bool read_any_value(const Name& name) {
    json_.enter_object();
    std::string_view key;
    bool first = true;
    while (json_.next_key(key, first)) {
      const bool wanted = key == "intValue" || key == "doubleValue" || key == "stringValue";
      if (!(wanted ? read_value(name) : json_.skip_value())) return false;
    }
    return !json_.failed();
  }

  std::array<Value, kParts> values_;
  JsonCursor json_;
};

bool has_zone(std::string_view iso) {
  return iso.find_first_of("Zz+-U", std::min<std::size_t>(19, iso.size())) != std::string_view::npos;
}

class OtelStream final : public DocumentStream {
 public:
  explicit OtelStream(Inputs inputs) : DocumentStream(std::move(inputs), "otel") {}

 private:
  Result<bool> read_row() override;
  Status finish(std::int64_t rows) override;
  /// Advances by one step through the containers; returns true if `text` is a span.
  bool walk(std::string_view& text);
  /// Stores the span as a request; returns false if it is not one.
  Result<bool> take_span(std::string_view text);
  Error wrong_value(Part part, std::string_view expected) const;
  Result<std::int32_t> count(Part part) const;
  Result<std::int64_t> time(Part part);

  std::string key_;
  int depth_{0};      ///< odd: in an object; even: in an array, or (0) between documents
  bool flat_{false};  ///< in `spans` of the outermost object
  Span span_;
  IsoTimeParser iso_;

  std::int64_t spans_{0};
  std::int64_t without_counts_{0};
  std::int64_t one_count_{0};
  std::int64_t no_inference_{0};
  std::int64_t backwards_{0};
  std::int64_t starts_without_zone_{0};
};

bool OtelStream::walk(std::string_view& text) {
  static constexpr std::array<std::string_view, 3> kPath{"resourceSpans", "scopeSpans", "spans"};
  if (depth_ == 0) {
    if (json().enter('{')) ++depth_;
  } else if (depth_ % 2 == 1) {
    if (!json().next_key(key_)) {
      --depth_;
      return false;
    }
    flat_ = depth_ == 1 && key_ == "spans";
    const bool wanted = flat_ || key_ == kPath[static_cast<std::size_t>(depth_ / 2)];
    if (!wanted || json().kind() == 'l') {
      json().skip();
    } else if (json().enter('[')) {
      ++depth_;
    }
  } else if (!json().next_element()) {
    --depth_;
  } else if (flat_ || depth_ == 6) {
    return json().value(text);
  } else if (json().enter('{')) {
    ++depth_;
  }
  return false;
}

Result<bool> OtelStream::read_row() {
  for (;;) {
    if (depth_ == 0 && json().at_end() && !json().failed()) return false;
    std::string_view text;
    const bool span = walk(text);
    if (json().failed()) return json().error();
    if (!span) continue;
    row_begin_ = json().begin();
    KVPLAN_TRY(const bool request, take_span(text));
    if (request) return true;
  }
}

Error OtelStream::wrong_value(Part part, std::string_view expected) const {
  const Span::Value& value = span_.at(part);
  return wrong(row_begin_ + static_cast<std::int64_t>(value.at), value.name,
               "expected " + std::string(expected) + ", found " + shown(value.text));
}

Result<std::int32_t> OtelStream::count(Part part) const {
  if (!span_.at(part).stated()) return std::int32_t{-1};
  const std::optional<std::int32_t> count = parse_count(span_.at(part).text);
  if (!count) return wrong_value(part, "a whole number from 0 to 2147483647");
  return *count;
}

Result<std::int64_t> OtelStream::time(Part part) {
  const Span::Value& value = span_.at(part);
  if (!value.stated()) return std::int64_t{-1};
  const bool iso = value.rank == 1 && part != Part::kTtft;
  const std::optional<std::int64_t> time =
      iso ? iso_.parse(value.text)
          : parse_time_number(value.text, part == Part::kTtft ? TimeUnit::kSeconds : TimeUnit::kNanos);
  if (!time)
    return wrong_value(part, iso && IsoTimeParser::is_out_of_range(value.text)
                                 ? "a time of the years 1678 to 2261"
                             : iso ? "a time such as 2026-02-25T10:00:00.5 or 2026-02-25T10:00:00Z"
                             : part == Part::kTtft ? "a time of at least 0 in s within 292 years"
                                                   : "a time of at least 0 in ns within 292 years");
  return *time;
}

Result<bool> OtelStream::take_span(std::string_view text) {
  ++spans_;
  if (!span_.read(text))
    return wrong(row_begin_ + static_cast<std::int64_t>(span_.where()), "",
                 "expected a span (a JSON object), found something else: " +
                     shown(text.substr(std::min(span_.where(), text.size()))));
  const bool input = span_.at(Part::kInput).stated();
  const bool output = span_.at(Part::kOutput).stated();
  if (!input || !output) {
    ++(input || output ? one_count_ : without_counts_);
    return false;
  }
  if (std::find(kNoInference.begin(), kNoInference.end(), span_.at(Part::kOperation).text) !=
      kNoInference.end()) {
    ++no_inference_;
    return false;
  }
  row_.clear();
  KVPLAN_TRY(row_.input_tokens, count(Part::kInput));
  KVPLAN_TRY(row_.output_tokens, count(Part::kOutput));
  KVPLAN_TRY(row_.max_tokens, count(Part::kMaxTokens));
  KVPLAN_TRY(row_.ttft_ns, time(Part::kTtft));
  if (!span_.at(Part::kStart).stated())
    return wrong(row_begin_, "", "a span without startTimeUnixNano or start_time");
  KVPLAN_TRY(row_.arrival_ns, time(Part::kStart));
  KVPLAN_TRY(const std::int64_t end_ns, time(Part::kEnd));
  // In OTLP, an end of 0 means that there was none.
  if (span_.at(Part::kEnd).stated() && end_ns != 0) {
    if (end_ns < row_.arrival_ns) {
      ++backwards_;
    } else if (__builtin_sub_overflow(end_ns, row_.arrival_ns, &row_.e2e_ns)) {
      return wrong_value(Part::kEnd, "a duration within 292 years");
    }
  }
  const Span::Value& start = span_.at(Part::kStart);
  if (start.rank == 1 && !has_zone(start.text)) ++starts_without_zone_;
  row_.session = span_.at(Part::kConversation).text;
  if (row_.session.empty()) row_.session = span_.at(Part::kTraceId).text;
  return true;
}

Status OtelStream::finish(std::int64_t rows) {
  static constexpr const char* kCounts =
      "gen_ai.usage.input_tokens and gen_ai.usage.output_tokens, or the older gen_ai.usage.prompt_tokens and "
      "gen_ai.usage.completion_tokens";
  if (rows == 0)
    return bad_input("expected inference spans with token counts (" + std::string(kCounts) +
                     "), found none in " + std::to_string(spans_) + " spans")
        .at_file(path());
  if (without_counts_ > 0)
    warn(count_of(without_counts_, spans_) + " spans have no token counts (" + kCounts +
         ") and are left out.");
  if (one_count_ > 0)
    warn(count_of(one_count_, spans_) +
         " spans have only a count of input or only a count of output tokens, and are left out.");
  if (no_inference_ > 0)
    warn(count_of(no_inference_, spans_) +
         " spans with token counts are not inferences according to gen_ai.operation.name (agents repeat the "
         "counts of the calls that they make), and are left out.");
  if (backwards_ > 0)
    warn(count_of(backwards_, rows) + " requests end before they start; their durations are left out.");
  if (starts_without_zone_ > 0 && starts_without_zone_ < rows)
    warn(count_of(starts_without_zone_, rows) +
         " start times have no time zone, while others have one; they are read as UTC.");
  return Done{};
}

bool recognises(const Sniff& sniff) {
  return sniff.is_object() && (sniff.kind("resourceSpans") == 'a' ||
                               (sniff.kind("spans") == 'a' && sniff.kind("trace_id") == 's'));
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  return std::unique_ptr<TraceStream>(std::make_unique<OtelStream>(std::move(inputs)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "otel",
    .summary = "OpenTelemetry inference spans with token counts (OTLP JSON, or flattened)",
    .source = "github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::otel
