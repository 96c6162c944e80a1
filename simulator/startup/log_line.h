// One line of a log, without colours and prefixes, and functions that extract values from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/startup/startup_log.h"

namespace kvplan::startup {

struct LogLine {
  std::string text;  ///< without colours (ANSI escapes)
  std::string
      worker;  ///< "Worker_TP0" of "(Worker_TP0 pid=12)", "TP0" of "[2025-11-07 10:00:00 TP0]"; or empty
  std::int64_t number{0};
  bool whole{true};  ///< false: the text ended without a line break, so its last word may be cut
};

/// Removes colours and finds the worker.
LogLine log_line(std::string_view raw, std::int64_t number, bool whole);

/// The number between `before` and `after` (digits with commas, a point for doubles); nothing if either is missing,
/// so that a truncated number is never taken. An empty `after` means the end of a complete line.
std::optional<std::int64_t> whole_between(const LogLine& line, std::string_view before,
                                          std::string_view after);
std::optional<double> decimal_between(const LogLine& line, std::string_view before, std::string_view after);

/// The value of `key` in a list of Python values: key=VALUE, or 'key': VALUE; a text without its quotes. Nothing if
/// no ",", ")" or "}" follows the value: it may be truncated.
std::optional<std::string> python_value(std::string_view text, std::string_view key);

/// Sets `into` if `value` has a value.
template <class T>
void keep(Maybe<T>& into, const std::optional<T>& value, const LogLine& line) {
  if (value) into = Logged<T>{*value, line.number};
}
void keep_text(Maybe<std::string>& into, const std::optional<std::string>& value, const LogLine& line);
/// As keep, for a whole number in a Python list; other texts are ignored.
void keep_whole(Maybe<std::int64_t>& into, const std::optional<std::string>& value, const LogLine& line);
void keep_decimal(Maybe<double>& into, const std::optional<std::string>& value, const LogLine& line);
void keep_flag(Maybe<bool>& into, const std::optional<std::string>& value, const LogLine& line);

/// The worker of that name; a new one if there is none.
WorkerMemory& worker_of(StartupLog& log, const LogLine& line);

/// Takes the values of a line of this engine's log. False: the line is not part of a start-up.
bool take_vllm_line(const LogLine& line, StartupLog& log);
bool take_sglang_line(const LogLine& line, StartupLog& log);

}  // namespace kvplan::startup
