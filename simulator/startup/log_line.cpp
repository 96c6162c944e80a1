#include "simulator/startup/log_line.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace kvplan::startup {
namespace {

constexpr char kEscape = '\x1b';

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Removes ANSI colours: ESC [ numbers letter.
std::string without_colours(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == kEscape && i + 1 < raw.size() && raw[i + 1] == '[') {
      i += 2;
      while (i < raw.size() && (is_digit(raw[i]) || raw[i] == ';')) ++i;
      continue;
    }
    if (raw[i] != '\r') out += raw[i];
  }
  return out;
}

/// "(NAME pid=12)" from vLLM's processes, or "[DATE TIME NAME]" from SGLang's.
std::string worker_name(std::string_view text) {
  const std::size_t pid = text.find(" pid=");
  if (pid != std::string_view::npos) {
    const std::size_t open = text.rfind('(', pid);
    if (open != std::string_view::npos) return std::string(text.substr(open + 1, pid - open - 1));
  }
  if (text.starts_with("[20")) {
    const std::string_view inside = text.substr(1, std::min(text.find(']'), text.size()) - 1);
    const std::size_t date = inside.find(' ');
    const std::size_t time = date == std::string_view::npos ? date : inside.find(' ', date + 1);
    if (time != std::string_view::npos) return std::string(inside.substr(time + 1));
  }
  return {};
}

/// The text between `before` and `after`; nothing if one of them is missing.
std::optional<std::string_view> between(const LogLine& line, std::string_view before,
                                        std::string_view after) {
  const std::string_view text = line.text;
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t from = found + before.size();
  std::size_t to = from;
  while (to < text.size() && (is_digit(text[to]) || text[to] == ',' || text[to] == '.')) ++to;
  // A comma or a point after the number belongs to the sentence, not to the number.
  while (to > from && !is_digit(text[to - 1])) --to;
  if (to == from) return std::nullopt;
  if (after.empty() ? !line.whole || to != text.size() : !text.substr(to).starts_with(after))
    return std::nullopt;
  return text.substr(from, to - from);
}

template <class T>
std::optional<T> number_of(std::string text) {
  std::erase(text, ',');
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// The text that begins at `at` and ends with its closing quote.
std::optional<std::string> quoted(std::string_view text, std::size_t at) {
  const std::size_t close = text.find(text[at], at + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(at + 1, close - at - 1));
}

/// True if a key may begin at `at`: at the start, or after a separator of values.
bool begins_here(std::string_view text, std::size_t at) {
  return at == 0 || text[at - 1] == ' ' || text[at - 1] == '(' || text[at - 1] == '{' ||
         text[at - 1] == ',' || text[at - 1] == '\'';
}

std::optional<std::string> value_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return std::nullopt;
  if (text[at] == '\'' || text[at] == '"') return quoted(text, at);
  const std::size_t end = text.find_first_of(",)}", at);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(at, end - at));
}

}  // namespace

LogLine log_line(std::string_view raw, std::int64_t number, bool whole) {
  LogLine line{.text = without_colours(raw), .worker = {}, .number = number, .whole = whole};
  line.worker = worker_name(line.text);
  return line;
}

std::optional<std::int64_t> whole_between(const LogLine& line, std::string_view before,
                                          std::string_view after) {
  const auto text = between(line, before, after);
  return text ? number_of<std::int64_t>(std::string(*text)) : std::nullopt;
}

std::optional<double> decimal_between(const LogLine& line, std::string_view before, std::string_view after) {
  const auto text = between(line, before, after);
  return text ? number_of<double>(std::string(*text)) : std::nullopt;
}

std::optional<std::string> python_value(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (!begins_here(text, at)) continue;
    const std::string_view behind = text.substr(at + key.size());
    for (const std::string_view sign : {std::string_view("="), std::string_view("': ")})
      if (behind.starts_with(sign)) return value_at(text, at + key.size() + sign.size());
  }
  return std::nullopt;
}

void keep_text(Maybe<std::string>& into, const std::optional<std::string>& value, const LogLine& line) {
  if (value && *value != "None") keep(into, value, line);
}

void keep_whole(Maybe<std::int64_t>& into, const std::optional<std::string>& value, const LogLine& line) {
  if (value) keep(into, number_of<std::int64_t>(*value), line);
}

void keep_decimal(Maybe<double>& into, const std::optional<std::string>& value, const LogLine& line) {
  if (value) keep(into, number_of<double>(*value), line);
}

void keep_flag(Maybe<bool>& into, const std::optional<std::string>& value, const LogLine& line) {
  if (value == "True") into = Logged<bool>{true, line.number};
  if (value == "False") into = Logged<bool>{false, line.number};
}

WorkerMemory& worker_of(StartupLog& log, const LogLine& line) {
  for (WorkerMemory& worker : log.workers)
    if (worker.name == line.worker) return worker;
  log.workers.push_back({.name = line.worker});
  return log.workers.back();
}

}  // namespace kvplan::startup
