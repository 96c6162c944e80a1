// The memory on which a replay runs. It stores and writes stamps, and recounts by reading every cell asked for; it
// makes no decisions. Errors are failures of the memory itself (none left, device lost), never of the log.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "simulator/base/result.h"
#include "validator/replay/cells.h"

namespace kvplan::validator {

class Backend {
 public:
  virtual ~Backend() = default;
  /// Description of the device, for reports.
  [[nodiscard]] virtual std::string device() const = 0;
  /// Allocates memory for `cells` cells, all poison. Called once, first.
  virtual Status reserve(std::int64_t cells) = 0;
  /// Bytes allocated for the cells, as the memory itself reports.
  [[nodiscard]] virtual std::int64_t reserved_bytes() const = 0;
  /// Writes extents that do not overlap. REQUIRES: they are inside the reserved memory.
  virtual Status write(std::span<const Write> writes) = 0;
  /// Moves extents within memory, one after the other. REQUIRES: as for write.
  virtual Status shift(std::span<const Shift> shifts) = 0;
  /// Counts the cells of all views by state, from the present content of memory. REQUIRES: as for write; views refer to
  /// holdings by their index in `holdings`, and to marks by their index in `marks`.
  virtual Result<CellCounts> recount(std::span<const View> views, std::span<const Holding> holdings,
                                     std::span<const Mark> marks) = 0;
};

/// Makes a backend for each replica of a log.
using BackendMaker = std::function<Result<std::unique_ptr<Backend>>()>;

/// A backend in host memory, with one thread.
std::unique_ptr<Backend> make_host_backend();

}  // namespace kvplan::validator
