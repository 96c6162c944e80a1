// Memory that a replay runs on. It stores, it writes stamps, it recounts by looking at every cell asked for;
// it decides nothing. Errors are failures of the memory itself (none left, device lost), never of the log.
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
  /// What it runs on, for people.
  [[nodiscard]] virtual std::string device() const = 0;
  /// Takes memory for `cells` cells, all poison. Called once, first.
  virtual Status reserve(std::int64_t cells) = 0;
  /// Bytes taken for the cells, as the memory itself says.
  [[nodiscard]] virtual std::int64_t reserved_bytes() const = 0;
  /// Writes extents that do not overlap. REQUIRES: they are inside what was reserved.
  virtual Status write(std::span<const Write> writes) = 0;
  /// Moves what is in memory, one extent after the other. REQUIRES: as for write.
  virtual Status shift(std::span<const Shift> shifts) = 0;
  /// Cells of all views by state, from what is in memory now. REQUIRES: as for write; views name holdings by
  /// their place in `holdings`, marks by theirs in `marks`.
  virtual Result<CellCounts> recount(std::span<const View> views, std::span<const Holding> holdings,
                                     std::span<const Mark> marks) = 0;
};

/// Makes one for each replica of a log.
using BackendMaker = std::function<Result<std::unique_ptr<Backend>>()>;

/// Host memory, one thread.
std::unique_ptr<Backend> make_host_backend();

}  // namespace kvplan::validator
