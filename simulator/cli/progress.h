// Shows progress on one line of standard error. Nothing is printed during the first half second, or if standard error
// is not a terminal.
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
  /// `line` returns the present line, shorter than 70 columns. It is called from a separate thread until `end`.
  explicit Progress(std::function<std::string()> line);
  /// Progress in requests, out of `total`, of one run or of several that share the control, which outlives this.
  Progress(const core::RunControl& control, std::int64_t total);
  /// Stops and wipes the line; call it before anything else is printed.
  void end();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  struct Printer;
  std::unique_ptr<Printer> printer_;  // null if nothing is shown
};

/// "[########............] 40 %"; `done` beyond `total` counts as all. REQUIRES: total > 0, done >= 0.
std::string progress_bar(std::int64_t done, std::int64_t total);

/// Columns of the terminal; 100 if standard output is not one.
std::size_t output_width();

}  // namespace kvplan::cli
