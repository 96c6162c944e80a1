#include "simulator/io/event_log_file.h"

#include <utility>

namespace kvplan::io {

Result<std::unique_ptr<EventLogFile>> EventLogFile::create(const std::string& path,
                                                           const event_log::Header& header) {
  for (const std::string_view ending : {".gz", ".zst"})
    if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
      return bad_input("expected a file name without " + std::string(ending) +
                       ": an event log is compressed internally and written as it is")
          .at_file(path);
  KVPLAN_TRY(auto output, traces::create_output(path));
  auto sink = [to = output.get()](std::string_view bytes) { return to->write(bytes); };
  auto file = std::make_unique<EventLogFile>(std::move(sink), header);
  file->output_ = std::move(output);
  return file;
}

EventLogFile::EventLogFile(event_log::Encoder::Sink sink, const event_log::Header& header)
    : encoder_(std::move(sink)) {
  const auto status = encoder_.begin(header);
  if (!status.ok()) failed_ = status.error();
}

void EventLogFile::add(const event_log::Record& record) {
  if (failed_) return;
  const auto status = encoder_.add(record);
  if (!status.ok()) failed_ = status.error();
}

Status EventLogFile::close() {
  if (!failed_) {
    const auto status = encoder_.finish();
    if (!status.ok()) failed_ = status.error();
  }
  if (failed_) return *failed_;
  return output_ ? output_->commit() : Status(Done{});
}

}  // namespace kvplan::io
