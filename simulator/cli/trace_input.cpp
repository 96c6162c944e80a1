#include "simulator/cli/trace_input.h"

#include <filesystem>

#include "simulator/cli/command.h"
#include "simulator/report/number_text.h"
#include "traces/import/open_trace.h"

namespace kvplan::cli {
namespace {

/// Bytes of all files together; 0 if one of them is not a regular file.
std::int64_t bytes_of(const std::vector<std::string>& paths) {
  std::int64_t sum = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return 0;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error) return 0;
    sum += static_cast<std::int64_t>(bytes);
  }
  return sum;
}

/// A stream of requests that shows how much of its files has been read.
class InputStream final : public traces::TraceStream {
 public:
  explicit InputStream(const std::vector<std::string>& paths) : progress_(paths) {}
  Status open(const std::vector<std::string>& paths, const traces::ImportOptions& import) {
    KVPLAN_TRY(stream_, traces::open_stream(paths, import, progress_.hook()));
    return Done{};
  }
  Result<bool> next(traces::Trace& piece) override {
    if (interrupted()) return interrupted_error();
    Result<bool> more = stream_->next(piece);
    if (more.ok() && !more.value()) progress_.end();
    return more;
  }
  [[nodiscard]] const traces::StreamSummary& summary() const override { return stream_->summary(); }

 private:
  ReadProgress progress_;
  std::unique_ptr<traces::TraceStream> stream_;
};

}  // namespace

ReadProgress::ReadProgress(const std::vector<std::string>& paths)
    : begin_(std::chrono::steady_clock::now()),
      total_bytes_(bytes_of(paths)),
      progress_([this] { return line(); }) {}

traces::ReadHook ReadProgress::hook() {
  return [this](std::size_t bytes) -> Status {
    bytes_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    if (interrupted()) return interrupted_error();
    return Done{};
  };
}

std::string ReadProgress::line() const {
  const auto bytes = static_cast<double>(bytes_.load(std::memory_order_relaxed));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const std::string rate = report::bytes_text(bytes / seconds) + "/s";
  if (total_bytes_ == 0) return "read " + report::bytes_text(bytes) + ", " + rate;
  return "read " + progress_bar(static_cast<std::int64_t>(bytes), total_bytes_) + " of " +
         report::bytes_text(static_cast<double>(total_bytes_)) + ", " + rate;
}

CountedStream::CountedStream(traces::TraceStream& stream, std::int64_t total)
    : stream_(stream), total_(total), progress_([this] {
        const std::int64_t made = made_.load(std::memory_order_relaxed);
        if (total_ == 0) return report::grouped(made) + " requests";
        return progress_bar(made, total_) + " of " + report::grouped(total_) + " requests";
      }) {}

Result<bool> CountedStream::next(traces::Trace& piece) {
  Result<bool> more = stream_.next(piece);
  if (!more.ok()) return more;
  made_.fetch_add(piece.size(), std::memory_order_relaxed);
  if (!more.value()) progress_.end();
  return more;
}

Result<std::unique_ptr<traces::TraceStream>> open_input(const std::vector<std::string>& paths,
                                                        const traces::ImportOptions& import) {
  auto stream = std::make_unique<InputStream>(paths);
  KVPLAN_TRY_DO(stream->open(paths, import));
  return std::unique_ptr<traces::TraceStream>(std::move(stream));
}

Result<traces::Trace> read_trace(const std::string& path, const traces::ImportOptions& import) {
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, open_input({path}, import));
  return traces::collect(*stream);
}

}  // namespace kvplan::cli
