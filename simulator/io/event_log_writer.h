// Writes what the one replica of a run does into an event log (.kve), as an observer of it.
#pragma once

#include <memory>
#include <utility>

#include "simulator/io/event_log_file.h"
#include "simulator/io/event_recorder.h"

namespace kvplan::io {

/// Life cycle: construct, observe one run after an observer whose totals it reports, `close` once, when the run has
/// come to its end. EventLogFile says what becomes of the file; after an error the run goes on.
class EventLogWriter final : public EventRecorder {
 public:
  EventLogWriter(std::unique_ptr<EventLogFile> file, const EventLogOptions& options, TotalsNow totals)
      : EventRecorder(options, std::move(totals)), file_(std::move(file)) {}
  /// Into any sink; used by tests.
  EventLogWriter(event_log::Encoder::Sink sink, const EventLogOptions& options, TotalsNow totals)
      : EventLogWriter(std::make_unique<EventLogFile>(std::move(sink), header_of(options)), options,
                       std::move(totals)) {}

  Status close() { return file_->close(); }

 private:
  void put(event_log::Record record) override { file_->add(record); }

  std::unique_ptr<EventLogFile> file_;
};

}  // namespace kvplan::io
