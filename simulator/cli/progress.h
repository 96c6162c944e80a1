// How far a long run is, on standard error, for someone who watches: nothing is printed during the first half
// second, nor when standard error is not a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "simulator/core/engine.h"

namespace kvplan::cli {

class Progress {
 public:
  /// `total` requests will be done, by one run or by several that share the control; both outlive this.
  Progress(const core::RunControl& control, std::int64_t total);
  /// Stops and wipes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  struct Printer;
  std::unique_ptr<Printer> printer_;  // null where nobody watches
};

/// Columns of the terminal that standard output is; 100 where it is none.
std::size_t output_width();

}  // namespace kvplan::cli
