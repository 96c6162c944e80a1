// Turns records into the bytes of an event log, one frame at a time; memory does not grow with the log.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::event_log {

/// Life cycle: construct, `begin` once, `add` for each record, `finish` once. After an error of the sink nothing more
/// is written, and every call returns that error.
class Encoder {
 public:
  using Sink = std::function<Status(std::string_view)>;
  explicit Encoder(Sink sink);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  Status begin(const Header& header);
  /// Adds a record. Errors: those of the sink; a record too large for a frame.
  Status add(const Record& record);
  Status finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvplan::event_log
