// Writes an event log (.kve) of a run with one replica, as an observer of it.
#pragma once

#include <memory>
#include <utility>

#include "simulator/io/event_log_file.h"
#include "simulator/io/event_recorder.h"

namespace kvplan::io {

/// Life cycle: construct; observe one run, placed after the observer that supplies the totals; `close` once when the
/// run has ended. EventLogFile writes the file; if writing fails, the run goes on.
class EventLogWriter final : public EventRecorder {
 public:
  EventLogWriter(std::unique_ptr<EventLogFile> file, const EventLogOptions& options, TotalsNow totals)
      : EventRecorder(options, std::move(totals)), file_(std::move(file)) {}
  /// Writes into any sink; for tests.
  EventLogWriter(event_log::Encoder::Sink sink, const EventLogOptions& options, TotalsNow totals)
      : EventLogWriter(std::make_unique<EventLogFile>(std::move(sink), header_of(options)), options,
                       std::move(totals)) {}

  Status close() { return file_->close(); }

 private:
  void put(event_log::Record record) override { file_->add(record); }

  std::unique_ptr<EventLogFile> file_;
};

}  // namespace kvplan::io
