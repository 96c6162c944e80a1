// Reading traces from memory into columns: our importers compared with getline + sscanf, getline + from_chars and
// simdjson On-Demand on the same bytes, and opening the .kvt of the same trace. Prints CPU times, ratios and the digest
// of the trace, which must be the same for every reader.
//   trace_bench [--small] [--only TEXT] [--reader TEXT] [--rounds N]
// --small: 2,000 rows, run by the tests. --only, --reader: parts and readers with TEXT in their name. --rounds:
// number of rounds instead of 7 (for a profiler).
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/bench/measure.h"
#include "simulator/bench/trace_peers.h"
#include "traces/import/open_trace.h"
#include "traces/io/kvt.h"

namespace kvplan::traces {
namespace {

struct Settings {
  bool small{false};
  int rounds{0};  ///< 0: 7, small 1
  std::string only;
  std::string reader;
};

Result<std::unique_ptr<TraceStream>> stream_of(const std::string& bytes, const ImportOptions& options) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_memory(bytes, "bench"));
  Inputs inputs;
  inputs.first = std::make_unique<Input>(std::move(source), "bench");
  return open_stream(std::move(inputs), options);
}

Trace import_bytes(const std::string& bytes, const ImportOptions& options) {
  Result<std::unique_ptr<TraceStream>> stream = stream_of(bytes, options);
  KVPLAN_CHECK(stream.ok());
  Result<Trace> trace = collect(*stream.value());
  KVPLAN_CHECK(trace.ok());
  return std::move(trace).value();
}

std::string kvt_of(const std::string& text, const ImportOptions& options) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("trace_bench." + std::to_string(::getpid()))).string();
  Result<std::unique_ptr<TraceStream>> stream = stream_of(text, options);
  KVPLAN_CHECK(stream.ok() && write_kvt(*stream.value(), path, [] { return false; }).ok());
  std::ifstream file(path, std::ios::binary);
  std::string packed{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return packed;
}

/// Readers of one text, by name, each with the digest of what it read last.
class Part {
 public:
  Part(std::string name, const std::string& text, int rows, const Settings& settings)
      : name_(std::move(name)), bytes_(text.size()), rows_(rows), settings_(settings) {}

  void ours(const char* what, const std::string& bytes, const ImportOptions& options = {}) {
    if (!wanted(what)) return;
    readers_.push_back({what, [&bytes, options] { return import_bytes(bytes, options).digest; }, true});
  }
  /// `read` gives a PeerTrace; its digest is taken once, outside of what is timed.
  template <class Read>
  void peer(const char* what, std::int64_t block_tokens, Read read) {
    if (!wanted(what)) return;
    readers_.push_back({what,
                        [read] {
                          static_cast<void>(read());
                          return std::string();
                        },
                        false});
    readers_.back().digest = bench::digest_of(read(), block_tokens);
  }
  bool run();
  /// How many times the time of `b` the reader `a` takes; 0 where either is left out.
  [[nodiscard]] double ratio(std::string_view a, std::string_view b) const {
    const double below = median(b);
    return below > 0 ? median(a) / below : 0;
  }
  [[nodiscard]] double median(std::string_view what) const {
    for (const Reader& reader : readers_)
      if (reader.what == what) return reader.seconds.median;
    return 0;
  }

 private:
  struct Reader {
    const char* what;
    std::function<std::string()> read;
    bool ours;
    std::string digest{};
    kvplan::bench::Spread seconds{};
  };
  [[nodiscard]] bool wanted(std::string_view reader) const {
    return reader.find(settings_.reader) != reader.npos;
  }
  std::string name_;
  std::size_t bytes_;
  int rows_;
  const Settings& settings_;
  std::vector<Reader> readers_;
};

bool Part::run() {
  std::vector<kvplan::bench::Side> sides;
  for (Reader& reader : readers_)
    sides.push_back({[&reader] {
      std::string digest = reader.read();
      if (reader.ours) reader.digest = std::move(digest);
    }});
  const auto seconds = kvplan::bench::measure(sides, settings_.rounds > 0 ? settings_.rounds
                                                     : settings_.small    ? 1
                                                                          : 7);
  std::printf("%s, %d rows, %.1f MB\n", name_.c_str(), rows_, 1e-6 * static_cast<double>(bytes_));
  bool same = true;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = readers_[i];
    const double median = (reader.seconds = seconds[i]).median;
    std::printf("  %-28s %8.1f ms (%.1f-%.1f) %6.1f M rows/s %6.0f MB/s  digest %s\n", reader.what,
                1e3 * median, 1e3 * seconds[i].fastest, 1e3 * seconds[i].slowest, 1e-6 * rows_ / median,
                1e-6 * static_cast<double>(bytes_) / median, reader.digest.c_str());
    same = same && reader.digest == readers_.front().digest;
  }
  if (!same) std::fprintf(stderr, "trace_bench: %s: the readers disagree\n", name_.c_str());
  return same;
}

constexpr const char* kSscanf = "getline + sscanf";
constexpr const char* kSimdjson = "simdjson On-Demand";
constexpr const char* kImport = "kvplan import";
constexpr const char* kOpen = "kvplan open .kvt";

bool csv_part(const char* name, int rows, const Settings& settings) {
  const std::string text = bench::make_csv(rows);
  Part part(name, text, rows, settings);
  part.ours(kImport, text);
  part.peer(kSscanf, 0, [&] { return bench::csv_sscanf(text); });
  part.peer("getline + from_chars", 0, [&] { return bench::csv_from_chars(text); });
  const bool good = part.run();
  std::printf("  import faster than getline + sscanf: %.1fx (at least 5)\n", part.ratio(kSscanf, kImport));
  return good;
}

/// Without `ids_per_row` a table of three columns, which a map names.
bool jsonl_part(const char* name, int rows, std::optional<int> ids_per_row, const Settings& settings) {
  const std::int64_t block = ids_per_row ? 512 : 0;
  ImportOptions options;
  if (!ids_per_row) {
    options.format = "jsonl";
    options.map = "arrival=timestamp:ms,input=input_length,output=output_length";
  }
  const std::string text = bench::make_jsonl(rows, ids_per_row);
  const std::string packed = kvt_of(text, options);
  Part part(name, text, rows, settings);
  part.ours(kImport, text, options);
  part.ours(kOpen, packed);
  part.peer(kSimdjson, block, [&] { return bench::jsonl_simdjson(text, block > 0); });
  part.peer(kSscanf, block, [&] { return bench::jsonl_sscanf(text, block > 0); });
  const bool good = part.run();
  const bool many_ids = ids_per_row.value_or(0) > 0;
  std::printf("  import faster than getline + sscanf: %.1fx%s\n", part.ratio(kSscanf, kImport),
              many_ids ? ", ids by strtoull" : " (at least 5)");
  std::printf("  import: %.2fx the time of simdjson (at most 1.5)\n", part.ratio(kImport, kSimdjson));
  std::printf("  .kvt, %.1f MB: opened %.1fx faster than imported (at least 3), in %.3f s (at most %s)\n",
              1e-6 * static_cast<double>(packed.size()), part.ratio(kImport, kOpen), part.median(kOpen),
              many_ids ? "0.3" : "0.1");
  return good;
}

int run(const Settings& settings) {
  const int rows = settings.small ? 2000 : 1'000'000;
  const auto wanted = [&](std::string_view name) { return name.find(settings.only) != name.npos; };
  bool good = true;
  if (wanted("CSV")) good = csv_part("CSV", rows, settings) && good;
  const auto jsonl = [&](const char* name, std::optional<int> ids_per_row) {
    if (wanted(name)) good = jsonl_part(name, rows, ids_per_row, settings) && good;
  };
  jsonl("JSON lines, a table", {});
  jsonl("JSON lines, Mooncake's, no prefix ids", 0);
  jsonl("JSON lines, Mooncake's, 24 prefix ids each", 24);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory %.0f MiB; compiler %s\n", static_cast<double>(usage.ru_maxrss) / 1024.0,
              __VERSION__);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace kvplan::traces

int main(int argc, char** argv) {
  kvplan::traces::Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) settings.small = true;
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) settings.only = argv[++i];
    if (std::strcmp(argv[i], "--reader") == 0 && i + 1 < argc) settings.reader = argv[++i];
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      settings.rounds = static_cast<int>(std::strtol(argv[++i], nullptr, 10));
  }
  return kvplan::traces::run(settings);
}
