#include "traces/import/column_map.h"

#include <algorithm>
#include <cctype>

#include "simulator/base/component.h"
#include "simulator/base/suggest.h"

namespace kvplan::traces {
namespace {

constexpr std::array<std::string_view, kRoles> kRoleNames{
    "arrival", "input", "output", "session",   "tenant", "max_tokens", "hashes",
    "ttft",    "e2e",   "think",  "tool_wait", "id",     "after"};

bool is_time(Role role) {
  return role == Role::kArrival || role == Role::kTtft || role == Role::kE2e || role == Role::kThink ||
         role == Role::kToolWait;
}

Error map_error(std::string message) {
  return bad_input(std::move(message)).at_field("--map");
}

/// The words of a column name: "Request tokens" and "requestTokens" are request, tokens.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool upper_after_lower =
        std::isupper(byte) != 0 && std::islower(static_cast<unsigned char>(before)) != 0;
    if ((std::isalnum(byte) == 0 || upper_after_lower) && !words.back().empty()) words.emplace_back();
    if (std::isalnum(byte) != 0) words.back() += static_cast<char>(std::tolower(byte));
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool any_of_words(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

}  // namespace

std::string_view role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

Result<ColumnMap> parse_column_map(std::string_view text) {
  ColumnMap map;
  for (const Role role : {Role::kArrival, Role::kInput, Role::kOutput}) map.at(role).required = true;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals + 1 == part.size())
      return map_error("expected ROLE=COLUMN, found " + shown(part));
    const std::string_view key = part.substr(0, equals);
    std::string_view value = part.substr(equals + 1);
    if (key == "block") {
      const std::optional<std::int64_t> tokens = parse_integer(value);
      if (!tokens || *tokens < 1 || *tokens > (std::int64_t{1} << 20))
        return map_error("block: expected 1 to 1048576 tokens, found " + shown(value));
      map.block_tokens = *tokens;
      continue;
    }
    if (key == "ids") {
      if (value != "content" && value != "chained")
        return map_error("ids: expected content or chained, found " + shown(value));
      map.content_ids = value == "content";
      continue;
    }
    const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), key);
    if (found == kRoleNames.end()) {
      std::vector<std::string_view> known(kRoleNames.begin(), kRoleNames.end());
      known.insert(known.end(), {"block", "ids"});
      return map_error(unknown_name("role", key, known));
    }
    const auto role = static_cast<Role>(found - kRoleNames.begin());
    Column& column = map.at(role);
    if (!column.names.empty()) return map_error(std::string(key) + ": given twice");
    if (is_time(role)) {
      // The last colon parts the unit, so that a column's own name may hold one if a unit follows.
      const std::size_t colon = value.rfind(':');
      if (colon != std::string_view::npos) {
        const std::optional<TimeUnit> unit = time_unit_from(value.substr(colon + 1));
        if (!unit || (*unit == TimeUnit::kIso && role != Role::kArrival) || colon == 0)
          return map_error(std::string(key) + ": expected COLUMN:UNIT with a unit of " +
                           (role == Role::kArrival ? "s, ms, us, ns, iso" : "s, ms, us, ns") + ", found " +
                           shown(value));
        column.unit = *unit;
        value = value.substr(0, colon);
      }
    }
    column.names.emplace_back(value);
  }
  for (const Role role : {Role::kArrival, Role::kInput, Role::kOutput})
    if (map.at(role).names.empty()) return map_error(std::string(role_name(role)) + "=COLUMN must be given");
  const bool hashes = !map.at(Role::kHashes).names.empty();
  if (hashes && map.block_tokens == 0)
    return map_error("hashes needs block=N, the tokens that one id stands for");
  if (!hashes && map.block_tokens != 0) return map_error("block has no meaning without hashes=COLUMN");
  if (map.at(Role::kAfter).names.empty() && !map.at(Role::kId).names.empty())
    return map_error("id has no meaning without after=COLUMN, in which rows name those that they wait for");
  if (!hashes && map.content_ids) return map_error("ids has no meaning without hashes=COLUMN");
  return map;
}

std::string to_text(const ColumnMap& map) {
  std::string out;
  for (std::size_t r = 0; r < kRoles; ++r) {
    const Column& column = map.columns[r];
    if (column.names.empty()) continue;
    out += out.empty() ? "" : ",";
    out += kRoleNames[r];
    out += "=" + column.names.front();
    if (is_time(static_cast<Role>(r))) {
      out += ":";
      out += time_unit_name(column.unit);
    }
  }
  if (map.block_tokens > 0) out += ",block=" + std::to_string(map.block_tokens);
  if (map.content_ids) out += ",ids=content";
  return out;
}

std::string propose_column_map(const std::vector<std::string>& columns) {
  std::string arrival = "COLUMN:s";
  std::string input = "COLUMN";
  std::string output = "COLUMN";
  for (const std::string& column : columns) {
    if (column.find_first_of(",='") != std::string::npos) continue;
    const std::vector<std::string> words = words_of(column);
    const bool length = any_of_words(words, {"tokens", "token", "toks", "length", "len", "lens", "size"});
    if (any_of_words(words, {"arrival", "arrived", "timestamp", "time", "start", "created", "ts"}) &&
        !length) {
      if (arrival != "COLUMN:s") continue;
      const std::string_view unit = any_of_words(words, {"ms"})   ? "ms"
                                    : any_of_words(words, {"us"}) ? "us"
                                    : any_of_words(words, {"ns"}) ? "ns"
                                                                  : "s";
      arrival = column + ":" + std::string(unit);
    } else if (length && any_of_words(words, {"input", "prompt", "prefill", "context", "request", "in"})) {
      if (input == "COLUMN") input = column;
    } else if (length && any_of_words(words, {"output", "generated", "decode", "completion", "response",
                                              "out", "token"})) {
      if (output == "COLUMN") output = column;
    }
  }
  const std::string map = "arrival=" + arrival + ",input=" + input + ",output=" + output;
  const bool plain = std::all_of(map.begin(), map.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_=:,.-").find(c) != std::string::npos;
  });
  return plain ? "--map " + map : "--map '" + map + "'";  // quotes for the shell
}

}  // namespace kvplan::traces
