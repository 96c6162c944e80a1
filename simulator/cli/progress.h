// How far something long is, on one line of standard error, for someone who watches: nothing is printed during the
// first half second, nor when standard error is not a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "simulator/core/engine.h"

namespace kvplan::cli {

class Progress {
 public:
  /// `line` gives the line as it is now, less than 70 columns. It is called from a thread of its own until `end`.
  explicit Progress(std::function<std::string()> line);
  /// Of `total` requests that will be done, by one run or by several that share the control, which outlives this.
  Progress(const core::RunControl& control, std::int64_t total);
  /// Stops and wipes the line; call it before anything else is printed.
  void end();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  struct Printer;
  std::unique_ptr<Printer> printer_;  // null where nobody watches
};

/// "[########............]  40 %"; `done` beyond `total` is all of it. REQUIRES: total > 0, done >= 0.
std::string progress_bar(std::int64_t done, std::int64_t total);

/// Columns of the terminal that standard output is; 100 where it is none.
std::size_t output_width();

}  // namespace kvplan::cli
