// The file of an event log (.kve): takes records and writes bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "simulator/base/result.h"
#include "simulator/io/log/encoder.h"
#include "simulator/io/log/events.h"
#include "traces/io/output.h"

namespace kvplan::io {

/// Life cycle: make one, `add` the records in order, `close` once. Without `close` no file appears, and an older one
/// stays as it was. Memory does not grow with the log.
class EventLogFile {
 public:
  /// Errors: a file that cannot be created; a name that asks for compression, which the format already has inside.
  static Result<std::unique_ptr<EventLogFile>> create(const std::string& path,
                                                      const event_log::Header& header);
  /// Writes into any sink; for tests.
  EventLogFile(event_log::Encoder::Sink sink, const event_log::Header& header);

  /// After an error nothing more is written.
  void add(const event_log::Record& record);
  /// Writes the rest and makes the file appear. Errors: any error since `create`.
  Status close();

 private:
  std::unique_ptr<Output> output_;
  event_log::Encoder encoder_;
  std::optional<Error> failed_;
};

}  // namespace kvplan::io
