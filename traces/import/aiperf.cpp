// Records of requests that an AIPerf run exports: profile_export.jsonl (ai-dynamo/aiperf,
// docs/tutorials/working-with-profile-exports.md), one request per line in the order in which their answers were
// processed, with `metadata`, `metrics` ({"value": .., "unit": ..} by name) and `error`.
//
// Arrival is `request_start_ns` (`timestamp_ns` in the first releases), Unix time. The prompt is
// `input_sequence_length`, the answer `output_sequence_length`, which counts reasoning too (docs/metrics-reference.md);
// without them the counts that the server reported are used. ttft and e2e are `time_to_first_token` and
// `request_latency`; without the latter e2e ends at `request_end_ns`. A session is a user's conversation
// (`x_correlation_id`, else `conversation_id`); waits between its turns follow from ends (ended_turns.h). Requests of
// the warm-up, failed and cancelled ones are left out.
//
// The export beside it, profile_export_aiperf.json, has totals and no requests: an error says so.
#include <array>
#include <optional>

#include "traces/import/ended_turns.h"
#include "traces/import/importer.h"
#include "traces/import/input_lines.h"
#include "traces/import/json_values.h"
#include "traces/import/piece_builder.h"
#include "traces/record/oddities.h"

namespace kvplan::traces::aiperf {
namespace {

/// Names of one number, the best first.
struct Metric {
  std::array<std::string_view, 2> names;
  bool is_time{false};
};
enum Index : std::uint8_t { kInput, kOutput, kTtft, kLatency, kMetrics };
constexpr std::array<Metric, kMetrics> kNames{{
    {{"input_sequence_length", "usage_prompt_tokens"}},
    {{"output_sequence_length", "usage_completion_tokens"}},
    {{"time_to_first_token", "ttft"}, true},
    {{"request_latency", "request_latency"}, true},
}};

/// One line of the file. Views live as long as the line and the record.
struct Record {
  std::string_view phase;
  std::string_view correlation, conversation;
  std::array<std::string, 3> stores;
  std::int64_t start_ns{-1}, end_ns{-1};  ///< -1 = not stated, here and below
  std::array<std::int64_t, kMetrics> values{};
  std::array<std::size_t, kMetrics> ranks{};  ///< which of a metric's names was found
  bool failed{false};

  void clear() {
    phase = correlation = conversation = {};
    start_ns = end_ns = -1;
    values.fill(-1);
    ranks.fill(kNames.front().names.size());
    failed = false;
  }
};

/// Reads one line. After false, `problem` says what is wrong with which field.
class RecordReader {
 public:
  bool read(std::string_view line, Record& record);
  [[nodiscard]] const JsonProblem& problem() const { return problem_; }

 private:
  bool read_metadata(std::string_view key, Record& record);
  bool read_metric(std::string_view key, Record& record);
  bool read_value(std::string_view key, const Metric& metric, std::int64_t& value);
  bool read_cancelled(Record& record);
  bool check(const Record& record);

  JsonCursor json_;
  JsonProblem problem_;
};

bool RecordReader::read(std::string_view line, Record& record) {
  record.clear();
  json_ = JsonCursor(line);
  const auto broken = [&] { return note_no_json(problem_, line, json_.where()); };
  if (json_.kind() != 'o') return broken();
  const auto top = [&](std::string_view key) {
    if (key == "metadata")
      return read_object(json_, key, problem_,
                         [&](std::string_view inner) { return read_metadata(inner, record); });
    if (key == "metrics")
      return read_object(json_, key, problem_,
                         [&](std::string_view inner) { return read_metric(inner, record); });
    if (key == "error" && json_.kind() != 'l') record.failed = true;
    return json_.skip_value();
  };
  if (!read_object(json_, "", problem_, top)) return json_.failed() && broken();
  if (!json_.at_end()) return broken();
  return check(record);
}

bool RecordReader::read_metadata(std::string_view key, Record& record) {
  const auto text = [&](std::string_view& value, std::size_t store) {
    return read_text(json_, "metadata." + std::string(key), value, record.stores[store], problem_);
  };
  const auto time = [&](std::int64_t& value_ns) {
    return read_time(json_, "metadata." + std::string(key), TimeUnit::kNanos, value_ns, problem_);
  };
  if (key == "request_start_ns" || key == "timestamp_ns") return time(record.start_ns);
  if (key == "request_end_ns") return time(record.end_ns);
  if (key == "benchmark_phase" || key == "credit_phase") return text(record.phase, 0);
  if (key == "x_correlation_id") return text(record.correlation, 1);
  if (key == "conversation_id") return text(record.conversation, 2);
  if (key == "was_cancelled") return read_cancelled(record);
  if (key == "error" && json_.kind() != 'l') record.failed = true;  // of the first releases
  return json_.skip_value();
}

bool RecordReader::read_cancelled(Record& record) {
  std::string_view text;
  if (!json_.value(text)) return false;
  if (text == "true") record.failed = true;
  return true;
}

bool RecordReader::read_metric(std::string_view key, Record& record) {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    for (std::size_t rank = 0; rank < record.ranks[i]; ++rank) {
      if (key != kNames[i].names[rank]) continue;
      record.ranks[i] = rank;
      return read_value(key, kNames[i], record.values[i]);
    }
  }
  return json_.skip_value();
}

bool RecordReader::read_value(std::string_view key, const Metric& metric, std::int64_t& value) {
  const std::string field = "metrics." + std::string(key);
  std::string_view unit, text;
  std::string store;
  const auto read = [&](std::string_view inner) {
    if (inner == "unit") return read_text(json_, field + ".unit", unit, store, problem_);
    return inner == "value" ? json_.value(text) : json_.skip_value();
  };
  if (!read_object(json_, field, problem_, read)) return false;
  if (text.empty() || text == "null") return true;
  if (!metric.is_time) {
    const std::optional<std::int32_t> count = parse_count(text);
    if (!count)
      return note_problem(problem_, field + ".value",
                          "expected a whole number from 0 to 2147483647, found " + shown(text));
    value = *count;
    return true;
  }
  const std::optional<TimeUnit> of = unit == "sec" ? TimeUnit::kSeconds : time_unit_from(unit);
  if (!of || *of == TimeUnit::kIso)
    return note_problem(problem_, field + ".unit", "expected ns, us, ms or sec, found " + shown(unit));
  const std::optional<std::int64_t> time = parse_time_number(text, *of);
  if (!time)
    return note_problem(problem_, field + ".value",
                        "expected a time of at least 0 in " + std::string(time_unit_name(*of)) +
                            " within 292 years, found " + shown(text));
  value = *time;
  return true;
}

bool RecordReader::check(const Record& record) {
  if (record.start_ns < 0)
    return note_problem(problem_, "metadata.request_start_ns", "missing: expected a time in ns");
  if (record.failed || record.phase == "warmup") return true;
  if (record.values[kInput] < 0)
    return note_problem(problem_, "metrics.input_sequence_length", "missing: expected the prompt's tokens");
  if (record.values[kOutput] < 0)
    return note_problem(problem_, "metrics.output_sequence_length", "missing: expected the answer's tokens");
  return true;
}

class RecordStream final : public TraceStream {
 public:
  explicit RecordStream(Inputs inputs) : lines_(std::move(inputs)) {
    summary_.provenance.format = "aiperf";
    summary_.provenance.sources = lines_.sources();
  }
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  /// Makes `row_` from the next request that was answered; returns false after the last one.
  Result<bool> read_request();
  Status finish();

  InputLines lines_;
  PieceBuilder builder_{0, {.content_ids = false, .whole_prompts = true, .clock_per_session = false}};
  EndedTurns turns_;
  StreamSummary summary_;
  RecordReader reader_;
  Record record_;
  Row row_;
  bool ended_{false};
  std::int64_t records_{0};
  std::int64_t warm_up_{0};
  std::int64_t failed_{0};
};

Result<bool> RecordStream::read_request() {
  std::string_view line;
  for (;;) {
    KVPLAN_TRY(const bool more, lines_.next(line));
    if (!more) return false;
    if (!reader_.read(line, record_))
      return lines_.error_here(reader_.problem().message, reader_.problem().field);
    ++records_;
    if (record_.phase == "warmup") {
      ++warm_up_;
    } else if (record_.failed) {
      ++failed_;
    } else {
      break;
    }
  }
  row_.clear();
  row_.arrival_ns = record_.start_ns;
  row_.input_tokens = static_cast<std::int32_t>(record_.values[kInput]);
  row_.output_tokens = static_cast<std::int32_t>(record_.values[kOutput]);
  row_.ttft_ns = record_.values[kTtft];
  row_.e2e_ns = record_.values[kLatency];
  if (row_.e2e_ns < 0 && record_.end_ns >= record_.start_ns) row_.e2e_ns = record_.end_ns - record_.start_ns;
  row_.session = record_.correlation.empty() ? record_.conversation : record_.correlation;
  return true;
}

Result<bool> RecordStream::next(Trace& piece) {
  builder_.begin(piece);
  if (ended_) return false;
  while (!builder_.full()) {
    KVPLAN_TRY(const bool more, read_request());
    if (!more) {
      ended_ = true;
      KVPLAN_TRY_DO(finish());
      break;
    }
    turns_.resolve(builder_.rows(), {}, row_);
    if (!builder_.add(row_))
      return lines_.error_here(builder_.problem().message, record_.correlation.empty()
                                                               ? "metadata.conversation_id"
                                                               : "metadata.x_correlation_id");
  }
  return piece.size() > 0;
}

Status RecordStream::finish() {
  std::vector<std::string>& warnings = summary_.provenance.warnings;
  if (builder_.rows() == 0)
    return bad_input("expected requests that were answered, found only failed ones and the warm-up (" +
                     std::to_string(records_) + ")")
        .at_file(lines_.input().path());
  if (warm_up_ > 0)
    warnings.push_back(count_of(warm_up_, records_) + " requests are of the warm-up and are left out.");
  if (failed_ > 0)
    warnings.push_back(count_of(failed_, records_) + " requests failed or were cancelled and are left out.");
  builder_.finish(summary_);
  return Done{};
}

/// Recognises the records, or the totals beside them, which get an error that says where the requests are.
bool has_totals(const Sniff& sniff) {
  return sniff.is_object() && sniff.has("aiperf_version") && sniff.kind("request_latency") == 'o';
}

bool recognises(const Sniff& sniff) {
  const auto says = [&](std::string_view key) { return sniff.head.find(key) != std::string::npos; };
  return has_totals(sniff) ||
         (sniff.shape == Sniff::Shape::kJsonLines && sniff.kind("metadata") == 'o' && sniff.has("metrics") &&
          says("\"record_processor_id\"") && (says("\"request_start_ns\"") || says("\"timestamp_ns\"")));
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  if (has_totals(sniff(*inputs.first)))
    return bad_input(
               "expected the records of requests, found the totals of a run; use profile_export.jsonl beside "
               "it (AIPerf writes it at --export-level records and raw)")
        .at_file(inputs.first->path());
  return std::unique_ptr<TraceStream>(std::make_unique<RecordStream>(std::move(inputs)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "aiperf",
    .summary = "Records of requests that AIPerf exports: profile_export.jsonl (JSON lines)",
    .source = "github.com/ai-dynamo/aiperf, docs/tutorials/working-with-profile-exports.md",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::aiperf
