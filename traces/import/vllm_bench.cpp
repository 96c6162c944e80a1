// Results of serving benchmarks: one JSON object per run, with arrays that have an entry per request.
//
// - `vllm bench serve --save-result --save-detailed` (vllm-project/vllm, vllm/benchmarks/serve.py);
//   --append-result writes several objects into one file.
// - SGLang's bench_serving --output-details, which appends one object per run (sgl-project/sglang,
//   python/sglang/bench_serving.py). It has the same arrays but no start times.
//
// Times are seconds. Arrival is `start_times` less `queue_times` (the wait inside the client before sending);
// ttft and e2e count from the sending, as recorded. e2e is `latencies`, else ttft plus the sum of `itls`.
// `start_times` are the client's monotonic clock. Requests with a text in `errors` failed and are left out.
#include <algorithm>
#include <array>

#include "traces/import/document_stream.h"
#include "traces/import/json_cursor.h"
#include "traces/record/oddities.h"

namespace kvplan::traces::vllm_bench {
namespace {

/// The arrays come one after the other, so all arrays of a run are held in memory: at most this many requests, 256 MiB.
constexpr std::int64_t kMostRequests = std::int64_t{1} << 22;

/// One array of a run. Times are ns; -1 if the entry is null.
struct Column {
  std::string_view name;
  enum class Kind : std::uint8_t { kCount, kSeconds, kSumOfSeconds, kFailed } kind;
  std::int64_t begin{-1};  ///< byte of its beginning; -1: absent
  std::vector<std::int64_t> values{};

  [[nodiscard]] bool present() const { return begin >= 0; }
};

class BenchStream final : public DocumentStream {
 public:
  explicit BenchStream(Inputs inputs) : DocumentStream(std::move(inputs), "vllm-bench") {}
  /// Reads the first run: it decides whether the trace has a clock.
  Status start();

 private:
  enum Index : std::uint8_t { kInput, kOutput, kStart, kQueue, kTtft, kLatency, kItls, kErrors, kColumns };

  Result<bool> read_row() override;
  Status finish(std::int64_t rows) override;
  /// Reads the next run of the file into `columns_`; returns false at the end of the file.
  Result<bool> read_run();
  Status read_column(Column& column);
  Result<std::int64_t> entry(Column::Kind kind, std::string_view name);
  Status check_run();
  /// Makes `row_` from the current request; returns false if the request failed.
  Result<bool> take_request();
  [[nodiscard]] bool has(Index column) const { return columns_[column].present(); }
  [[nodiscard]] std::int64_t value(Index column) const {
    return has(column) ? columns_[column].values[static_cast<std::size_t>(at_)] : -1;
  }

  std::array<Column, kColumns> columns_{{
      {"input_lens", Column::Kind::kCount},
      {"output_lens", Column::Kind::kCount},
      {"start_times", Column::Kind::kSeconds},
      {"queue_times", Column::Kind::kSeconds},
      {"ttfts", Column::Kind::kSeconds},
      {"latencies", Column::Kind::kSeconds},
      {"itls", Column::Kind::kSumOfSeconds},
      {"errors", Column::Kind::kFailed},
  }};
  std::int64_t run_begin_{0};  ///< byte of the current run
  std::int64_t size_{0};       ///< requests of the current run
  std::int64_t at_{0};         ///< the next request
  std::int64_t runs_{0};
  std::int64_t requests_{0};
  std::int64_t failed_{0};
  std::int64_t queued_{0};
};

Status BenchStream::start() {
  KVPLAN_TRY(const bool any, read_run());
  if (!any) return bad_input("a trace without requests").at_file(path());
  summary_.shares_clock = has(kStart);
  if (!has(kStart)) summary_.provenance.options.emplace_back("arrival=0");
  return Done{};
}

Result<bool> BenchStream::read_run() {
  if (json().at_end() && !json().failed()) return false;
  for (Column& column : columns_) {
    column.begin = -1;
    column.values.clear();
  }
  at_ = size_ = 0;
  std::string key;
  json().enter('{');
  run_begin_ = json().begin();
  while (json().next_key(key)) {
    Column* const known = std::find_if(columns_.begin(), columns_.end(),
                                       [&](const Column& column) { return column.name == key; });
    if (known != columns_.end() && json().kind() == 'a') {
      KVPLAN_TRY_DO(read_column(*known));
    } else {
      json().skip();
    }
  }
  if (json().failed()) return json().error();
  KVPLAN_TRY_DO(check_run());
  ++runs_;
  return true;
}

Status BenchStream::read_column(Column& column) {
  json().enter('[');
  const std::int64_t begin = json().begin();
  if (column.present())
    return wrong(begin, column.name, "expected one array of this name per run, found a second");
  column.begin = begin;
  while (json().next_element()) {
    if (static_cast<std::int64_t>(column.values.size()) == kMostRequests)
      return wrong(begin, column.name,
                   "expected at most " + std::to_string(kMostRequests) + " requests in one run");
    KVPLAN_TRY(const std::int64_t value, entry(column.kind, column.name));
    column.values.push_back(value);
  }
  if (json().failed()) return json().error();
  return Done{};
}

/// Adds up a list of seconds, in ns. Returns false if it is not such a list; `where` is then the byte of the error.
bool sum_of_seconds(std::string_view text, std::int64_t& sum, std::size_t& where) {
  JsonCursor json(text);
  bool first = true;
  sum = 0;
  bool good = json.enter_array();
  while (good && json.next_element(first)) {
    good = json.kind() == 'n';
    where = json.where();
    std::string_view number;
    good = good && json.number(number);
    const std::optional<std::int64_t> ns =
        good ? parse_time_number(number, TimeUnit::kSeconds) : std::nullopt;
    good = ns && !__builtin_add_overflow(sum, *ns, &sum);
  }
  return good && !json.failed();
}

Result<std::int64_t> BenchStream::entry(Column::Kind kind, std::string_view name) {
  std::string_view text;
  const char is = json().kind();
  if (!json().value(text)) return json().error();
  const auto expected = [&](std::string_view what, std::size_t at) {
    return wrong(json().begin() + static_cast<std::int64_t>(at), name,
                 "expected " + std::string(what) + ", found " + shown(text.substr(at)));
  };
  if (kind == Column::Kind::kCount) {
    const std::optional<std::int32_t> count = parse_count(text);
    if (!count) return expected("a whole number from 0 to 2147483647", 0);
    return std::int64_t{*count};
  }
  if (text == "null") return std::int64_t{kind == Column::Kind::kFailed ? 0 : -1};
  if (kind == Column::Kind::kFailed) {
    if (is != 's') return expected("a string, empty for a successful request", 0);
    return std::int64_t{text.size() > 2 ? 1 : 0};
  }
  std::int64_t ns = 0;
  if (kind == Column::Kind::kSumOfSeconds) {
    std::size_t where = 0;
    if (!sum_of_seconds(text, ns, where))
      return expected("a list of times of at least 0 in s within 292 years", where);
    return ns;
  }
  const std::optional<std::int64_t> time = parse_time_number(text, TimeUnit::kSeconds);
  if (!time) return expected("a time of at least 0 in s within 292 years", 0);
  return *time;
}

Status BenchStream::check_run() {
  if (!has(kInput) || !has(kOutput))
    return wrong(run_begin_, has(kInput) ? "output_lens" : "input_lens",
                 "expected an entry per request, found a run without them; use --save-result --save-detailed "
                 "of vllm bench serve, or --output-details of sglang.bench_serving");
  const std::size_t size = columns_[kInput].values.size();
  for (const Column& column : columns_) {
    if (column.present() && column.values.size() != size)
      return wrong(column.begin, column.name,
                   "expected " + std::to_string(size) + " entries as in input_lens, found " +
                       std::to_string(column.values.size()));
  }
  if (runs_ > 0 && has(kStart) != summary_.shares_clock)
    return wrong(run_begin_, "start_times",
                 std::string("expected these arrays in all runs or in none, found a run ") +
                     (has(kStart) ? "with" : "without"));
  size_ = static_cast<std::int64_t>(size);
  requests_ += size_;
  return Done{};
}

Result<bool> BenchStream::read_row() {
  for (;;) {
    if (at_ == size_) {
      KVPLAN_TRY(const bool more, read_run());
      if (!more) return false;
      continue;
    }
    KVPLAN_TRY(const bool taken, take_request());
    ++at_;
    if (taken) return true;
  }
}

Result<bool> BenchStream::take_request() {
  if (value(kErrors) == 1) {
    ++failed_;
    return false;
  }
  const auto at_request = [&](Index column, std::string message) {
    return wrong(columns_[column].begin, columns_[column].name,
                 "request " + std::to_string(at_) + ": " + std::move(message));
  };
  row_.clear();
  row_begin_ = run_begin_;
  row_.input_tokens = static_cast<std::int32_t>(value(kInput));
  row_.output_tokens = static_cast<std::int32_t>(value(kOutput));
  row_.arrival_ns = 0;
  if (has(kStart)) {
    if (value(kStart) < 0) return at_request(kStart, "expected a time, found null");
    const std::int64_t queue_ns = std::max<std::int64_t>(value(kQueue), 0);
    if (queue_ns > value(kStart)) return at_request(kQueue, "expected at most the request's start time");
    row_.arrival_ns = value(kStart) - queue_ns;
    if (queue_ns > 0) ++queued_;
  }
  row_.ttft_ns = value(kTtft);
  row_.e2e_ns = value(kLatency);
  if (row_.e2e_ns < 0 && row_.ttft_ns >= 0 && value(kItls) >= 0 &&
      __builtin_add_overflow(row_.ttft_ns, value(kItls), &row_.e2e_ns))
    return at_request(kItls, "expected times within 292 years");
  return true;
}

Status BenchStream::finish(std::int64_t rows) {
  if (rows == 0)
    return bad_input(requests_ == 0 ? std::string("a trace without requests")
                                    : "expected successful requests, found only failed ones (" +
                                          std::to_string(requests_) + ")")
        .at_file(path());
  if (failed_ > 0) warn(count_of(failed_, requests_) + " requests failed and are left out.");
  if (!summary_.shares_clock)
    warn(
        "The results have no start_times: all requests arrive at 0, so rates and waiting times are "
        "meaningless.");
  if (summary_.shares_clock && runs_ > 1)
    warn(
        "The start times of " + std::to_string(runs_) +
        " runs are read as times of one clock, which is only true for one client machine without a restart.");
  if (queued_ > 0)
    warn(count_of(queued_, rows) +
         " requests waited in the client before they were sent: they arrive before that wait, but the "
         "recorded ttft and e2e exclude it.");
  return Done{};
}

/// Recognises the arrays, or totals that both tools write before them: a result without the arrays gets an error that
/// says how to produce them.
bool recognises(const Sniff& sniff) {
  if (!sniff.is_object()) return false;
  if (sniff.kind("input_lens") == 'a' && sniff.kind("output_lens") == 'a') return true;
  return sniff.kind("duration") == 'n' && sniff.kind("completed") == 'n' &&
         sniff.kind("total_input_tokens") == 'n' && sniff.kind("request_throughput") == 'n';
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  auto stream = std::make_unique<BenchStream>(std::move(inputs));
  KVPLAN_TRY_DO(stream->start());
  return std::unique_ptr<TraceStream>(std::move(stream));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "vllm-bench",
                       .summary = "detailed results of vllm bench serve or sglang.bench_serving (JSON)",
                       .source = "github.com/vllm-project/vllm, vllm/benchmarks/serve.py",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::vllm_bench
