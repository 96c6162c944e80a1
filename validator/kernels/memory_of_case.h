// The filled memory regions of a problem on a machine; freed by the destructor.
#pragma once

#include <vector>

#include "validator/kernels/machine.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

class MemoryOfCase {
 public:
  /// Allocates `copies` copies of every region that rotates, and one of each other. Errors: those of the machine.
  static Result<MemoryOfCase> take(Machine& machine, const Problem& problem, std::int64_t copies);
  MemoryOfCase(MemoryOfCase&& other) noexcept;
  MemoryOfCase& operator=(MemoryOfCase&&) = delete;
  ~MemoryOfCase();

  /// Restores all written memory, above all results, to its contents before the first launch, which is mostly poison.
  Status reset();
  /// Addresses for copy number `copy`.
  [[nodiscard]] std::vector<void*> addresses(std::int64_t copy) const;
  /// The bytes of each result region.
  Result<std::vector<std::vector<std::byte>>> results() const;

  /// Bytes of one copy of the rotating regions, and of all other regions.
  static std::int64_t rotating_bytes(const Problem& problem);
  static std::int64_t fixed_bytes(const Problem& problem);

 private:
  Status fill();
  Status fill(std::size_t region);
  MemoryOfCase(Machine& machine, const Problem& problem, std::int64_t copies)
      : machine_(&machine), problem_(&problem), copies_(copies) {}

  Machine* machine_;
  const Problem* problem_;
  std::int64_t copies_;
  std::vector<void*> memory_;  ///< memory of each region
};

}  // namespace kvplan::validator
