// Errors that a user can cause are values: a `Result<T>` holds a T or an `Error`, which says in one line what was
// found, where (file, line or byte, field) and what was expected. Exceptions do not cross folder borders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "simulator/base/check.h"

namespace kvplan {

/// The exit code of a program that ends with this error, the same for every program here.
enum class ErrorKind : std::uint8_t {
  kCheckFailed = 1,  ///< a comparison or validation did not hold
  kBadInput = 2,     ///< bad file, flag, scenario, or a file system that refuses
  kInterrupted = 3,  ///< the user asked to stop
};

/// One problem with input. `to_string` gives "file:line: field: message" with the known parts, always on one line:
/// control characters, which text from files may contain, are shown as \xNN.
struct Error {
  std::string message;    ///< what was found and what was expected, without a final full stop
  std::string file;       ///< path as the user wrote it; empty where there is none
  std::int64_t line{0};   ///< 1-based; 0 = not known
  std::int64_t byte{-1};  ///< 0-based offset, for binary files; -1 = not known
  std::string field;      ///< column, JSON path or option; empty where there is none
  ErrorKind kind{ErrorKind::kBadInput};

  [[nodiscard]] std::string to_string() const;
  Error&& at_file(std::string_view path) &&;
  Error&& at_line(std::int64_t number) &&;
  Error&& at_byte(std::int64_t offset) &&;
  Error&& at_field(std::string_view name) &&;
};

/// An error with a message; add the place with `.at_file(..).at_line(..).at_field(..)`.
[[nodiscard]] inline Error bad_input(std::string message) {
  return Error{.message = std::move(message), .file = {}, .field = {}};
}

/// The result of a task that ended early because the user asked it to stop.
[[nodiscard]] inline Error interrupted_error() {
  return Error{.message = "interrupted", .file = {}, .field = {}, .kind = ErrorKind::kInterrupted};
}

/// Either a value or an `Error`. Ask `ok()` (or bool) before `value()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & {
    KVPLAN_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    KVPLAN_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    KVPLAN_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const& {
    KVPLAN_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    KVPLAN_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace kvplan

#define KVPLAN_CONCAT_INNER(a, b) a##b
#define KVPLAN_CONCAT(a, b) KVPLAN_CONCAT_INNER(a, b)

/// KVPLAN_TRY(auto x, make()): x is the value, or the enclosing function returns the error.
#define KVPLAN_TRY(declaration, expression) \
  KVPLAN_TRY_INNER(declaration, expression, KVPLAN_CONCAT(kvplan_result_, __LINE__))
#define KVPLAN_TRY_INNER(declaration, expression, name) \
  auto name = (expression);                             \
  if (!name.ok()) return std::move(name).error();       \
  declaration = std::move(name).value()

/// KVPLAN_TRY_DO(status): returns the error of a `Status`, goes on otherwise.
#define KVPLAN_TRY_DO(expression)                                     \
  do {                                                                \
    auto kvplan_status = (expression);                                \
    if (!kvplan_status.ok()) return std::move(kvplan_status).error(); \
  } while (false)
