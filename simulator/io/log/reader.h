// Reads an event log, one frame at a time. For any bytes the result is either records with values in range and of the
// stated form, or one error with file, byte and field; memory stays bounded. The replay checks whether the records are
// consistent.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::event_log {

/// Life cycle: `open`, then `next` until it returns nothing (the file was complete) or an error.
class Reader {
 public:
  /// Errors: not readable, not an event log, a higher version, a damaged header.
  static Result<std::unique_ptr<Reader>> open(const std::string& path);
  /// Reads from a stream; errors show `name` as the path.
  static Result<std::unique_ptr<Reader>> open(std::unique_ptr<std::istream> stream, std::string name);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] const Header& header() const;
  Result<std::optional<Record>> next();

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvplan::event_log
