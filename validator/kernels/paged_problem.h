// Shared by all problems: a list of regions that grows while a problem is made.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "validator/kernels/comparison.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

class ListedProblem : public Problem {
 public:
  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }

 protected:
  /// Adds a region and returns its number, which is the index of its address.
  std::size_t add(Region region) {
    regions_.push_back(std::move(region));
    return regions_.size() - 1;
  }
  template <class T>
  std::size_t add(const char* name, const std::vector<T>& values) {
    Region region{.name = name, .size = static_cast<std::int64_t>(values.size() * sizeof(T))};
    region.bytes = bytes_of_vector(values);
    return add(std::move(region));
  }
  /// `bytes` for checking, `made_up` for timing.
  std::size_t add(const char* name, std::vector<std::byte> bytes, const MadeUp& made_up, std::int64_t size,
                  Purpose purpose) {
    Region region{.name = name, .size = size, .rotates = true};
    if (purpose == Purpose::kCheck)
      region.bytes = std::move(bytes);
    else
      region.made_up = made_up;
    return add(std::move(region));
  }
  Region& region(std::size_t i) { return regions_[i]; }

 private:
  std::vector<Region> regions_;
};

template <class T>
const T* in(std::span<void* const> at, std::size_t i) {
  return static_cast<const T*>(at[i]);
}
template <class T>
T* out_of(std::span<void* const> at, std::size_t i) {
  return static_cast<T*>(at[i]);
}

/// Generated numbers of 16 or 8 bits as bytes, equal to those that a machine makes up for such a region.
std::vector<std::byte> made_up_bytes(const MadeUp& of, std::int64_t elements);

}  // namespace kvplan::validator
