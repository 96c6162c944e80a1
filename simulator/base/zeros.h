// An array of zeros in which only touched elements take memory and time. For tables with an entry for everything that
// could occur, when a run touches few of them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace kvplan {

template <class T>
class Zeros {
 public:
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
  /// Throws std::bad_alloc if that much memory is not available.
  explicit Zeros(std::size_t size) : data_(size == 0 ? nullptr : std::calloc(size, sizeof(T))) {
    if (size > 0 && !data_) throw std::bad_alloc();
  }
  /// REQUIRES: below the size.
  [[nodiscard]] T& operator[](std::size_t i) { return static_cast<T*>(data_.get())[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return static_cast<const T*>(data_.get())[i]; }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<void, Free> data_;
};

}  // namespace kvplan
