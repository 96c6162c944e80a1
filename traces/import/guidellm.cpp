// Reports of GuideLLM: benchmarks.json (vllm-project/guidellm, src/guidellm/schemas/base/request_stats.py and info.py;
// older releases src/guidellm/benchmark/benchmark.py). `benchmarks[].requests` has lists of requests by their end:
// `successful`, `errored` and `incomplete`; the last two are left out.
//
// Lengths are `prompt_tokens` and `output_tokens`. Arrival is when the request was sent: `request_start_time`
// (`start_time` in older releases), Unix time in seconds. ttft is `time_to_first_token_ms`, e2e `request_latency` in
// seconds. A session is `info.conversation_id`; waits between its turns follow from ends (ended_turns.h).
//
// A report has several benchmarks if it sweeps rates: they ran one after the other, and their requests keep their
// times. With --sample-requests a report lists fewer requests than were made.
#include "traces/import/document_stream.h"
#include "traces/import/ended_turns.h"
#include "traces/import/json_values.h"
#include "traces/record/oddities.h"

namespace kvplan::traces::guidellm {
namespace {

/// A request of a list, read out of its text. Views live as long as the text and this object.
struct Listed {
  std::int32_t input{-1}, output{-1};  ///< -1 = not stated, here and below
  std::int64_t start_ns{-1}, older_start_ns{-1}, ttft_ns{-1}, latency_ns{-1};
  std::string_view conversation{};
  std::string store{};
  JsonProblem problem{};

  /// False if the text is no such object; `problem` then says why, at `where`, a byte of it.
  bool read(std::string_view text, std::size_t& where);

 private:
  bool read_field(JsonCursor& json, std::string_view key);
  bool read_info(JsonCursor& json);
};

bool Listed::read(std::string_view text, std::size_t& where) {
  JsonCursor json(text);
  std::string_view key;
  bool first = true;
  bool good = json.enter_object();
  while (good && json.next_key(key, first)) {
    where = json.where();
    good = read_field(json, key);
  }
  if (!json.failed()) return good;
  where = json.where();
  return note_no_json(problem, text, where);
}

bool Listed::read_field(JsonCursor& json, std::string_view key) {
  if (key == "prompt_tokens") return read_count(json, key, input, problem);
  if (key == "output_tokens") return read_count(json, key, output, problem);
  if (key == "request_start_time") return read_time(json, key, TimeUnit::kSeconds, start_ns, problem);
  if (key == "start_time") return read_time(json, key, TimeUnit::kSeconds, older_start_ns, problem);
  if (key == "time_to_first_token_ms") return read_time(json, key, TimeUnit::kMillis, ttft_ns, problem);
  if (key == "request_latency") return read_time(json, key, TimeUnit::kSeconds, latency_ns, problem);
  return key == "info" && json.kind() == 'o' ? read_info(json) : json.skip_value();
}

bool Listed::read_info(JsonCursor& json) {
  std::string_view key;
  bool first = true;
  json.enter_object();
  while (json.next_key(key, first)) {
    if (!(key == "conversation_id" ? read_text(json, "info.conversation_id", conversation, store, problem)
                                   : json.skip_value()))
      return false;
  }
  return !json.failed();
}

class ReportStream final : public DocumentStream {
 public:
  explicit ReportStream(Inputs inputs)
      : DocumentStream(std::move(inputs), "guidellm", {.whole_prompts = true}) {}

 private:
  /// What encloses the next value.
  enum class Inside : std::uint8_t { kNothing, kReport, kBenchmarks, kBenchmark, kRequests, kSuccessful };

  Result<bool> read_row() override;
  Status finish(std::int64_t rows) override;
  /// Advances by one step through the report; returns true if `text` is a request that was answered.
  bool walk(std::string_view& text);
  void walk_report();
  void walk_benchmark();
  /// Adds the requests that the benchmark says it made, if it says so in `metrics.request_totals.successful`.
  void read_totals();
  void walk_requests();
  Status take(std::string_view text);

  Inside inside_{Inside::kNothing};
  std::string key_;
  Listed listed_;
  EndedTurns turns_;
  std::int64_t taken_{0};
  std::int64_t made_{0};  ///< answered requests of benchmarks that say how many they had
  std::int64_t benchmarks_{0};
  std::int64_t errored_{0};
  std::int64_t incomplete_{0};
};

bool ReportStream::walk(std::string_view& text) {
  switch (inside_) {
    case Inside::kNothing:
      if (json().enter('{')) inside_ = Inside::kReport;
      return false;
    case Inside::kReport:
      walk_report();
      return false;
    case Inside::kBenchmarks:
      if (!json().next_element()) {
        inside_ = Inside::kReport;
      } else if (json().enter('{')) {
        ++benchmarks_;
        inside_ = Inside::kBenchmark;
      }
      return false;
    case Inside::kBenchmark:
      walk_benchmark();
      return false;
    case Inside::kRequests:
      walk_requests();
      return false;
    case Inside::kSuccessful:
      if (json().next_element()) return json().value(text);
      inside_ = Inside::kRequests;
      return false;
  }
  return false;
}

void ReportStream::walk_report() {
  if (!json().next_key(key_)) {
    inside_ = Inside::kNothing;
  } else if (key_ != "benchmarks") {
    json().skip();
  } else if (json().enter('[')) {
    inside_ = Inside::kBenchmarks;
  }
}

void ReportStream::walk_benchmark() {
  if (!json().next_key(key_)) {
    inside_ = Inside::kBenchmarks;
  } else if (key_ == "metrics" && json().kind() == 'o') {
    read_totals();
  } else if (key_ != "requests") {
    json().skip();
  } else if (json().enter('{')) {
    inside_ = Inside::kRequests;
  }
}

void ReportStream::read_totals() {
  json().enter('{');
  while (json().next_key(key_)) {
    if (key_ != "request_totals" || json().kind() != 'o') {
      json().skip();
      continue;
    }
    json().enter('{');
    while (json().next_key(key_)) {
      std::string_view text;
      if (!json().value(text) || key_ != "successful") continue;
      made_ += parse_count(text).value_or(0);
    }
  }
}

void ReportStream::walk_requests() {
  if (!json().next_key(key_)) {
    inside_ = Inside::kBenchmark;
  } else if (json().kind() != 'a') {
    json().skip();
  } else if (key_ == "successful") {
    if (json().enter('[')) inside_ = Inside::kSuccessful;
  } else {
    std::int64_t& count = key_ == "errored" ? errored_ : incomplete_;
    json().enter('[');
    while (json().next_element() && json().skip()) ++count;
  }
}

Result<bool> ReportStream::read_row() {
  for (;;) {
    if (inside_ == Inside::kNothing && json().at_end() && !json().failed()) return false;
    std::string_view text;
    const bool request = walk(text);
    if (json().failed()) return json().error();
    if (!request) continue;
    row_begin_ = json().begin();
    KVPLAN_TRY_DO(take(text));
    return true;
  }
}

Status ReportStream::take(std::string_view text) {
  listed_ = {};
  std::size_t where = 0;
  if (!listed_.read(text, where))
    return wrong(row_begin_ + static_cast<std::int64_t>(where), listed_.problem.field,
                 listed_.problem.message);
  const std::int64_t start_ns = listed_.start_ns < 0 ? listed_.older_start_ns : listed_.start_ns;
  if (listed_.input < 0) return wrong(row_begin_, "prompt_tokens", "missing: expected the prompt's tokens");
  if (listed_.output < 0) return wrong(row_begin_, "output_tokens", "missing: expected the answer's tokens");
  if (start_ns < 0)
    return wrong(row_begin_, "request_start_time", "missing, like start_time: expected a time in s");
  row_.clear();
  row_.arrival_ns = start_ns;
  row_.input_tokens = listed_.input;
  row_.output_tokens = listed_.output;
  row_.ttft_ns = listed_.ttft_ns;
  row_.e2e_ns = listed_.latency_ns;
  row_.session = listed_.conversation;
  turns_.resolve(taken_, {}, row_);
  ++taken_;
  return Done{};
}

Status ReportStream::finish(std::int64_t rows) {
  const std::int64_t left_out = errored_ + incomplete_;
  if (rows == 0)
    return bad_input(left_out == 0
                         ? std::string("a trace without requests")
                         : "expected requests that were answered, found only failed and incomplete ones (" +
                               std::to_string(left_out) + ")")
        .at_file(path());
  if (benchmarks_ > 1)
    warn("The requests of " + std::to_string(benchmarks_) +
         " benchmarks are one trace, with the times at which they were sent: each benchmark has its own "
         "rate.");
  if (errored_ > 0) warn(count_of(errored_, rows + left_out) + " requests failed and are left out.");
  if (incomplete_ > 0)
    warn(count_of(incomplete_, rows + left_out) + " requests were cut off at the end and are left out.");
  if (made_ > rows)
    warn("The report lists " + std::to_string(rows) + " of " + std::to_string(made_) +
         " answered requests, a sample: rates are that much lower.");
  return Done{};
}

bool recognises(const Sniff& sniff) {
  return sniff.is_object() && sniff.has("args") && sniff.kind("benchmarks") == 'a';
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  return std::unique_ptr<TraceStream>(std::make_unique<ReportStream>(std::move(inputs)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "guidellm",
    .summary = "Reports of GuideLLM with the requests of each benchmark: benchmarks.json",
    .source = "github.com/vllm-project/guidellm, src/guidellm/schemas/base/request_stats.py",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::guidellm
