// Reading traces: our importers beside what a careful reader would write first (getline and sscanf, getline
// and from_chars) and beside simdjson On-Demand, all over the same bytes in memory, in one run; and opening
// the .kvt of the same trace. Prints CPU times, ratios and digests that must not change.
//   trace_bench [--small]     --small: 2,000 rows, run by the tests, which only check that all readers agree
#include <simdjson.h>
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>

#include "simulator/base/random.h"
#include "traces/import/open_trace.h"
#include "traces/io/kvt.h"

namespace kvplan::traces {
namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What every reader has to find: sums over all rows, so that none can skip a field.
struct Sums {
  std::int64_t rows{0};
  std::uint64_t tokens{0};
  std::uint64_t times{0};
  std::uint64_t ids{0};
  bool operator==(const Sums&) const = default;
};

/// Least of three runs.
double timed(const std::function<Sums()>& body, Sums& sums) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = cpu_seconds();
    sums = body();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

Sums sums_of(const Trace& trace) {
  Sums out;
  out.rows = trace.size();
  for (std::size_t i = 0; i < trace.arrival_ns.size(); ++i) {
    out.times += static_cast<std::uint64_t>(trace.arrival_ns[i]);
    out.tokens += static_cast<std::uint64_t>(trace.input_tokens[i]) * 3 +
                  static_cast<std::uint64_t>(trace.output_tokens[i]);
  }
  out.ids = trace.prefix.ids.size();
  return out;
}

Result<Trace> import_bytes(const std::string& bytes) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(bytes, "bench"));
  Inputs inputs;
  inputs.first = std::make_unique<Input>(std::move(source), "bench");
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(std::move(inputs), {}));
  return collect(*stream);
}

Sums import_sums(const std::string& bytes, std::string& digest) {
  const Result<Trace> trace = import_bytes(bytes);
  KVPLAN_CHECK(trace.ok());
  digest = trace.value().digest;
  return sums_of(trace.value());
}

// ---- Azure-like CSV ----

std::string make_csv(int rows) {
  Random random(1, "csv");
  std::string out = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  std::int64_t us = 0;
  for (int i = 0; i < rows; ++i) {
    us += static_cast<std::int64_t>(random.below(360'000));
    char line[80];
    const auto day = static_cast<int>(us / 86'400'000'000);
    const auto second = static_cast<int>(us / 1'000'000 % 86'400);
    std::snprintf(line, sizeof line, "2023-11-%02d %02d:%02d:%02d.%06d0,%d,%d\n", 1 + day % 28, second / 3600,
                  second / 60 % 60, second % 60, static_cast<int>(us % 1'000'000),
                  static_cast<int>(random.below(4000)), static_cast<int>(random.below(1000)));
    out += line;
  }
  return out;
}

std::uint64_t ns_of(int day, int hour, int minute, int second, std::int64_t ns) {
  // 2023-11-01 is day 19662 of the Unix epoch.
  return static_cast<std::uint64_t>((((19661LL + day) * 24 + hour) * 60 + minute) * 60 + second) *
             1'000'000'000ULL +
         static_cast<std::uint64_t>(ns);
}

void put(Trace& trace, std::uint64_t ns, int input, int output) {
  trace.arrival_ns.push_back(static_cast<std::int64_t>(ns));
  trace.input_tokens.push_back(input);
  trace.output_tokens.push_back(output);
}

Sums csv_sscanf(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  Trace trace;
  while (std::getline(in, line)) {
    int year, month, day, hour, minute, second, fraction, input, output;
    // The peer is what one would write in a hurry. NOLINTNEXTLINE(cert-err34-c)
    if (std::sscanf(line.c_str(), "%d-%d-%d %d:%d:%d.%d,%d,%d", &year, &month, &day, &hour, &minute, &second,
                    &fraction, &input, &output) != 9)
      std::abort();
    put(trace, ns_of(day, hour, minute, second, std::int64_t{fraction} * 100), input, output);
  }
  return sums_of(trace);
}

Sums csv_from_chars(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  Trace trace;
  const auto number = [&](std::size_t from, std::size_t to) {
    int value = 0;
    std::from_chars(line.data() + from, line.data() + to, value);
    return value;
  };
  while (std::getline(in, line)) {
    const std::size_t a = line.find(',');
    const std::size_t b = line.find(',', a + 1);
    put(trace,
        ns_of(number(8, 10), number(11, 13), number(14, 16), number(17, 19),
              std::int64_t{number(20, a)} * 100),
        number(a + 1, b), number(b + 1, line.size()));
  }
  return sums_of(trace);
}

// ---- Mooncake-like JSON lines ----

std::string make_jsonl(int rows, int ids_per_row) {
  Random random(2, "jsonl");
  std::string out;
  std::int64_t next = 1000;
  for (int i = 0; i < rows; ++i) {
    const auto count = static_cast<int>(random.below(static_cast<std::uint64_t>(2 * ids_per_row) + 1));
    out += "{\"timestamp\": " + std::to_string(i * 3) + ", \"input_length\": " + std::to_string(count * 512) +
           ", \"output_length\": " + std::to_string(random.below(1000)) + ", \"hash_ids\": [";
    for (int k = 0; k < count; ++k) out += (k == 0 ? "" : ", ") + std::to_string(k < count / 2 ? k : next++);
    out += "]}\n";
  }
  return out;
}

/// What a reader on top of simdjson would keep: columns, and the ids as they are.
Sums jsonl_simdjson(const simdjson::padded_string& text) {
  simdjson::ondemand::parser parser;
  Trace trace;
  std::vector<std::uint64_t> ids;
  simdjson::ondemand::document_stream rows;
  if (parser.iterate_many(text, 1 << 24).get(rows) != simdjson::SUCCESS) std::abort();
  for (auto row : rows) {
    auto object = row.get_object();
    trace.arrival_ns.push_back(object.find_field("timestamp").get_int64().value() * 1'000'000);
    trace.input_tokens.push_back(
        static_cast<std::int32_t>(object.find_field("input_length").get_int64().value()));
    trace.output_tokens.push_back(
        static_cast<std::int32_t>(object.find_field("output_length").get_int64().value()));
    for (auto id : object.find_field("hash_ids").get_array()) ids.push_back(id.get_uint64().value());
    trace.prefix.offsets.push_back(ids.size());
  }
  Sums out = sums_of(trace);
  out.ids = ids.size();
  return out;
}

// ---- report ----

bool check(bool same, const char* what) {
  if (!same) std::fprintf(stderr, "trace_bench: %s disagree\n", what);
  return same;
}

void print(const char* what, double seconds, std::size_t bytes, std::int64_t rows) {
  std::printf("  %-34s %9.1f ms %8.1f M rows/s %7.0f MB/s\n", what, 1e3 * seconds,
              1e-6 * static_cast<double>(rows) / seconds, 1e-6 * static_cast<double>(bytes) / seconds);
}

bool csv_part(int rows) {
  const std::string text = make_csv(rows);
  std::printf("CSV, %d rows, %.1f MB\n", rows, 1e-6 * static_cast<double>(text.size()));
  Sums scanf_sums, chars_sums, own_sums;
  std::string digest;
  const double with_scanf = timed([&] { return csv_sscanf(text); }, scanf_sums);
  const double with_chars = timed([&] { return csv_from_chars(text); }, chars_sums);
  const double own = timed([&] { return import_sums(text, digest); }, own_sums);
  print("getline + sscanf", with_scanf, text.size(), rows);
  print("getline + from_chars", with_chars, text.size(), rows);
  print("kvplan import", own, text.size(), rows);
  std::printf("  faster than getline + sscanf: %.1fx (at least 5); digest %s\n", with_scanf / own,
              digest.c_str());
  return check(scanf_sums == own_sums && chars_sums == own_sums, "CSV readers");
}

bool jsonl_part(int rows, int ids_per_row) {
  const std::string text = make_jsonl(rows, ids_per_row);
  std::printf("JSON lines, %d rows, %d prefix ids each on average, %.1f MB\n", rows, ids_per_row,
              1e-6 * static_cast<double>(text.size()));
  const simdjson::padded_string padded(text);
  Sums peer_sums, own_sums, kvt_sums;
  std::string digest, kvt_digest;
  const double peer = timed([&] { return jsonl_simdjson(padded); }, peer_sums);
  const double own = timed([&] { return import_sums(text, digest); }, own_sums);
  print("simdjson On-Demand into columns", peer, text.size(), rows);
  print("kvplan import, interned", own, text.size(), rows);

  const std::string path =
      (std::filesystem::temp_directory_path() / ("trace_bench." + std::to_string(::getpid()))).string();
  {
    Result<std::unique_ptr<ByteSource>> source = open_memory(text, "bench");
    Inputs inputs;
    inputs.first = std::make_unique<Input>(std::move(source).value(), "bench");
    Result<std::unique_ptr<TraceStream>> stream = open_stream(std::move(inputs), {});
    KVPLAN_CHECK(stream.ok() && write_kvt(*stream.value(), path, [] { return false; }).ok());
  }
  std::ifstream file(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  const double opened = timed([&] { return import_sums(packed, kvt_digest); }, kvt_sums);
  print("kvplan open .kvt", opened, text.size(), rows);
  std::printf(
      "  import against simdjson: %.2fx its time (at most 1.5); .kvt %.1f MB, %.1fx faster than the import "
      "(at least 3); "
      "digest %s\n",
      own / peer, 1e-6 * static_cast<double>(packed.size()), own / opened, digest.c_str());
  return check(peer_sums == own_sums && kvt_sums == own_sums && digest == kvt_digest, "JSON lines readers");
}

}  // namespace
}  // namespace kvplan::traces

int main(int argc, char** argv) {
  const bool small = argc > 1 && std::strcmp(argv[1], "--small") == 0;
  const int rows = small ? 2000 : 1'000'000;
  using namespace kvplan::traces;
  bool good = csv_part(rows);
  good = jsonl_part(rows, 0) && good;
  good = jsonl_part(small ? rows : rows / 4, 24) && good;
  return good ? 0 : 1;
}
