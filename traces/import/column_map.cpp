#include "traces/import/column_map.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "simulator/base/component.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"

namespace kvplan::traces {
namespace {

constexpr std::array<std::string_view, kRoles> kRoleNames{
    "arrival", "input", "output", "session",   "tenant", "max_tokens", "hashes",
    "ttft",    "e2e",   "think",  "tool_wait", "id",     "after",      "priority"};

bool is_time(Role role) {
  return role == Role::kArrival || role == Role::kTtft || role == Role::kE2e || role == Role::kThink ||
         role == Role::kToolWait;
}

Error map_error(std::string message) {
  return bad_input(std::move(message)).at_field("--map");
}

/// The words of a column name: "Request tokens" and "requestTokens" are request, tokens.
std::vector<std::string> words_of(std::string_view text) {
  std::string name(text);
  for (const std::string_view micro : {"\xC2\xB5", "\xCE\xBC"})  // the micro sign and the Greek letter
    for (std::size_t at = 0; (at = name.find(micro, at)) != std::string::npos;)
      name.replace(at, micro.size(), "u");
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

/// One argument for a POSIX shell, in quotes if it needs them.
std::string shell_quoted(const std::string& argument) {
  const bool plain = std::all_of(argument.begin(), argument.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_=:,.-").find(c) != std::string::npos;
  });
  if (plain) return argument;
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool any_of_words(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

/// The unit of times that a column's name states: the last such word in it, as in "ts_ms".
std::optional<TimeUnit> unit_in_name(std::string_view name) {
  using Known = std::pair<std::string_view, TimeUnit>;
  static constexpr std::array<Known, 32> kUnits{{
      {"s", TimeUnit::kSeconds},           {"sec", TimeUnit::kSeconds},
      {"secs", TimeUnit::kSeconds},        {"second", TimeUnit::kSeconds},
      {"seconds", TimeUnit::kSeconds},     {"ms", TimeUnit::kMillis},
      {"msec", TimeUnit::kMillis},         {"msecs", TimeUnit::kMillis},
      {"milli", TimeUnit::kMillis},        {"millis", TimeUnit::kMillis},
      {"millisecond", TimeUnit::kMillis},  {"milliseconds", TimeUnit::kMillis},
      {"us", TimeUnit::kMicros},           {"usec", TimeUnit::kMicros},
      {"usecs", TimeUnit::kMicros},        {"micro", TimeUnit::kMicros},
      {"micros", TimeUnit::kMicros},       {"microsecond", TimeUnit::kMicros},
      {"microseconds", TimeUnit::kMicros}, {"ns", TimeUnit::kNanos},
      {"nsec", TimeUnit::kNanos},          {"nsecs", TimeUnit::kNanos},
      {"nano", TimeUnit::kNanos},          {"nanos", TimeUnit::kNanos},
      {"nanosecond", TimeUnit::kNanos},    {"nanoseconds", TimeUnit::kNanos},
      {"millisec", TimeUnit::kMillis},     {"millisecs", TimeUnit::kMillis},
      {"microsec", TimeUnit::kMicros},     {"microsecs", TimeUnit::kMicros},
      {"nanosec", TimeUnit::kNanos},       {"nanosecs", TimeUnit::kNanos},
  }};
  const std::vector<std::string> words = words_of(name);
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    for (const Known& known : kUnits)
      if (known.first == *word) return known.second;
  return std::nullopt;
}

/// True if a column's name states a unit of times that maps do not have.
bool says_other_unit(std::string_view name) {
  return any_of_words(words_of(name), {"minute", "minutes", "mins", "hour", "hours", "hrs", "day", "days"});
}

/// A column's name in the form for `--map`: in quotes if it would not be read as it is.
std::string map_name(const std::string& name) {
  const bool plain = !name.empty() && name.front() != '"' && name.find(',') == std::string::npos;
  return plain ? name : quoted_name(name);
}

/// A value of `--map`: a column's name and what follows it up to the comma.
struct MapValue {
  std::string name;
  std::string_view after;  ///< for a name in quotes: the text after it
  bool quoted{false};
};

/// Removes the first value of `text`, with the comma after it, and returns it.
Result<MapValue> take_value(std::string_view& text) {
  MapValue value;
  std::size_t at = 0;
  value.quoted = !text.empty() && text.front() == '"';
  if (value.quoted) {
    const std::string_view whole = text;
    for (++at;; ++at) {
      if (at >= text.size()) return map_error("expected a quote at the end of the name " + shown(whole));
      if (text[at] == '"') {
        if (at + 1 >= text.size() || text[at + 1] != '"') break;
        ++at;  // a doubled quote means one quote
      }
      value.name += text[at];
    }
    text.remove_prefix(at + 1);
  }
  const std::size_t comma = std::min(text.find(','), text.size());
  if (value.quoted) {
    value.after = text.substr(0, comma);
  } else {
    value.name = text.substr(0, comma);
  }
  text.remove_prefix(std::min(comma + 1, text.size()));
  return value;
}

/// Removes the unit after a column of times; sets `column.unit` and leaves the column's name in `value`.
Status take_unit(Role role, std::string_view key, MapValue& value, Column& column) {
  const auto wrong = [&](std::string_view found) {
    return map_error(std::string(key) + ": expected COLUMN:UNIT with a unit of " +
                     (role == Role::kArrival ? "s, ms, us, ns, iso" : "s, ms, us, ns") + ", found " +
                     shown(found));
  };
  const std::string whole = value.quoted ? quoted_name(value.name) + std::string(value.after) : value.name;
  // The last colon separates the unit, so a column's own name may contain a colon if a unit follows.
  const std::size_t colon = value.quoted ? std::string::npos : value.name.rfind(':');
  std::string unit_text;
  if (value.quoted && !value.after.empty()) {
    if (value.after.front() != ':') return wrong(whole);
    unit_text = value.after.substr(1);
    value.after = {};
  } else if (colon != std::string::npos) {
    if (colon == 0) return wrong(whole);
    unit_text = value.name.substr(colon + 1);
    value.name.resize(colon);
  } else {
    const std::optional<TimeUnit> said = unit_in_name(value.name);
    if (!said && says_other_unit(value.name))
      return map_error(std::string(key) + ": times without a unit are seconds, but the column name " +
                       shown(value.name) +
                       " contradicts that: expected times in s, ms, us or ns, and a unit");
    if (!said || *said == TimeUnit::kSeconds) return Done{};
    return map_error(std::string(key) + ": times without a unit are seconds, but the column name " +
                     shown(value.name) + " contradicts that: expected a unit, as in " + std::string(key) +
                     "=" + map_name(value.name) + ":" + std::string(time_unit_name(*said)));
  }
  const std::optional<TimeUnit> unit = time_unit_from(unit_text);
  if (!unit || (*unit == TimeUnit::kIso && role != Role::kArrival)) return wrong(whole);
  column.unit = *unit;
  return Done{};
}

/// Handles `block=N` and `ids=`, which name no column; returns false for other keys.
Result<bool> take_setting(std::string_view key, const MapValue& value, ColumnMap& map) {
  if (key == "block") {
    const std::optional<std::int64_t> tokens = parse_integer(value.name);
    if (!tokens || *tokens < 1 || *tokens > (std::int64_t{1} << 20))
      return map_error("block: expected 1 to 1048576 tokens, found " + shown(value.name));
    map.block_tokens = *tokens;
    return true;
  }
  if (key == "by" && value.name == "auto") {
    map.recognised = true;
    return true;
  }
  if (key == "bad") {
    if (value.name != "skip") return map_error("bad: expected skip, found " + shown(value.name));
    map.skips_bad = true;
    return true;
  }
  if (key == "where") {
    const std::size_t equals = value.name.find('=');
    if (equals == std::string::npos || equals == 0)
      return map_error("where: expected COLUMN=VALUE, found " + shown(value.name));
    map.where.emplace_back(value.name.substr(0, equals), value.name.substr(equals + 1));
    return true;
  }
  if (key != "ids") return false;
  if (value.name != "content" && value.name != "chained")
    return map_error("ids: expected content or chained, found " + shown(value.name));
  map.content_ids = value.name == "content";
  return true;
}

/// Checks that the parts of a map go together.
Status check_whole(const ColumnMap& map) {
  for (const Role role : {Role::kArrival, Role::kInput, Role::kOutput})
    if (map.at(role).names.empty()) return map_error(std::string(role_name(role)) + "=COLUMN must be given");
  const bool hashes = !map.at(Role::kHashes).names.empty();
  if (hashes && map.block_tokens == 0) return map_error("hashes needs block=N, the number of tokens per id");
  if (!hashes && map.block_tokens != 0) return map_error("block needs hashes=COLUMN");
  if (!hashes && map.content_ids) return map_error("ids needs hashes=COLUMN");
  return Done{};
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string_view role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

Result<ColumnMap> parse_column_map(std::string_view text) {
  ColumnMap map;
  for (const Role role : {Role::kArrival, Role::kInput, Role::kOutput}) map.at(role).required = true;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals + 1 == part.size())
      return map_error("expected ROLE=COLUMN, found " + shown(part));
    const std::string_view key = part.substr(0, equals);
    text.remove_prefix(equals + 1);
    KVPLAN_TRY(MapValue value, take_value(text));
    KVPLAN_TRY(const bool setting, take_setting(key, value, map));
    if (setting) continue;
    const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), key);
    if (found == kRoleNames.end()) {
      std::vector<std::string_view> known(kRoleNames.begin(), kRoleNames.end());
      known.insert(known.end(), {"block", "ids", "bad", "where"});
      return map_error(unknown_name("role", key, known));
    }
    const auto role = static_cast<Role>(found - kRoleNames.begin());
    Column& column = map.at(role);
    if (!column.names.empty()) return map_error(std::string(key) + ": given twice");
    if (is_time(role)) KVPLAN_TRY_DO(take_unit(role, key, value, column));
    if (!value.after.empty())
      return map_error(std::string(key) + ": expected a comma after the quoted name, found " +
                       shown(value.after));
    column.names.push_back(std::move(value.name));
  }
  KVPLAN_TRY_DO(check_whole(map));
  // An id names a row for those that wait for it; without them nothing needs it.
  if (map.at(Role::kAfter).names.empty()) map.at(Role::kId) = {};
  return map;
}

std::string to_text(const ColumnMap& map) {
  std::string out;
  for (std::size_t r = 0; r < kRoles; ++r) {
    const Column& column = map.columns[r];
    if (column.names.empty()) continue;
    out += out.empty() ? "" : ",";
    out += kRoleNames[r];
    out += "=" + map_name(column.names.front());
    if (is_time(static_cast<Role>(r))) {
      out += ":";
      out += time_unit_name(column.unit);
    }
  }
  if (map.block_tokens > 0) out += ",block=" + std::to_string(map.block_tokens);
  if (map.content_ids) out += ",ids=content";
  if (map.skips_bad) out += ",bad=skip";
  for (const auto& [column, value] : map.where) out += ",where=" + map_name(column + "=" + value);
  return out;
}

namespace {

/// Role of a column by its words; nothing: none that is recognised.
std::optional<Role> role_of_words(const std::vector<std::string>& words) {
  const bool length = any_of_words(words, {"tokens", "token", "toks", "length", "len", "lens", "size"});
  if (any_of_words(words, {"max", "limit"}) && length) return Role::kMaxTokens;
  if (any_of_words(words, {"ttft"})) return Role::kTtft;
  if (any_of_words(words, {"e2e"})) return Role::kE2e;
  if (length && any_of_words(words, {"input", "prompt", "prefill", "context", "request", "in"}))
    return Role::kInput;
  if (length && any_of_words(words, {"output", "generated", "decode", "completion", "response", "out"}))
    return Role::kOutput;
  if (!length && any_of_words(words, {"arrival", "arrived", "timestamp", "time", "start", "created", "ts"}))
    return Role::kArrival;
  if (any_of_words(words, {"session", "conversation", "chat", "thread"})) return Role::kSession;
  if (any_of_words(words, {"tenant", "user", "client", "customer", "organisation", "organization"}))
    return Role::kTenant;
  return std::nullopt;
}

/// The unit of times by their values; nothing: they could have several.
std::optional<TimeUnit> unit_of_values(const std::vector<std::string>& values) {
  IsoTimeParser iso;
  std::size_t dates = 0, decimals = 0;
  double most = 0;
  for (const std::string& value : values) {
    if (iso.parse(value)) ++dates;
    const std::optional<double> number = parse_decimal(value);
    if (!number) continue;
    most = std::max(most, *number);
    decimals += value.find('.') != std::string::npos ? 1 : 0;
  }
  if (2 * dates > values.size()) return TimeUnit::kIso;
  // Since 1970: 2001 or later, in each unit.
  constexpr double kSince1970 = 1e9;
  if (most >= kSince1970 * 1e9) return TimeUnit::kNanos;
  if (most >= kSince1970 * 1e6) return TimeUnit::kMicros;
  if (most >= kSince1970 * 1e3) return TimeUnit::kMillis;
  if (most >= kSince1970) return TimeUnit::kSeconds;
  if (2 * decimals > values.size()) return TimeUnit::kSeconds;
  return std::nullopt;
}

}  // namespace

Result<ColumnMap> recognise_column_map(const std::vector<std::string>& columns,
                                       const std::vector<std::vector<std::string>>& rows) {
  ColumnMap map;
  map.recognised = true;
  const auto open = [&](const std::string& problem) {
    return map_error("auto: " + problem + "; write it, as in " + propose_column_map(columns));
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::optional<Role> role = role_of_words(words_of(columns[i]));
    if (!role || !map.at(*role).names.empty()) continue;
    Column column{{columns[i]}, TimeUnit::kSeconds, false};
    if (is_time(*role)) {
      std::vector<std::string> values;
      for (const auto& row : rows)
        if (i < row.size() && !row[i].empty()) values.push_back(row[i]);
      std::optional<TimeUnit> unit = unit_of_values(values);
      if (unit != TimeUnit::kIso)
        if (const auto said = unit_in_name(columns[i])) unit = said;
      if (!unit && *role == Role::kArrival)
        return open("the times of " + shown(columns[i]) + " could be seconds or milliseconds");
      if (!unit || (*unit == TimeUnit::kIso && *role != Role::kArrival)) continue;
      column.unit = *unit;
    }
    map.at(*role) = std::move(column);
  }
  for (const Role role : {Role::kArrival, Role::kInput, Role::kOutput}) {
    if (map.at(role).names.empty()) return open("no column is plainly the " + std::string(role_name(role)));
    map.at(role).required = true;
  }
  return map;
}

std::string propose_column_map(const std::vector<std::string>& columns) {
  std::string arrival, input, output, unit;
  for (const std::string& column : columns) {
    const std::vector<std::string> words = words_of(column);
    const bool length = any_of_words(words, {"tokens", "token", "toks", "length", "len", "lens", "size"});
    if (any_of_words(words, {"arrival", "arrived", "timestamp", "time", "start", "created", "ts"}) &&
        !length) {
      if (!arrival.empty()) continue;
      const std::optional<TimeUnit> said = unit_in_name(column);
      arrival = map_name(column);
      unit = said ? time_unit_name(*said) : "UNIT";
    } else if (length && any_of_words(words, {"input", "prompt", "prefill", "context", "request", "in"})) {
      if (input.empty()) input = map_name(column);
    } else if (length && any_of_words(words, {"output", "generated", "decode", "completion", "response",
                                              "out", "token"})) {
      if (output.empty()) output = map_name(column);
    }
  }
  const auto or_open = [](const std::string& name) { return name.empty() ? "COLUMN" : name; };
  const bool open_unit = unit.empty() || unit == "UNIT";
  const std::string map = "arrival=" + or_open(arrival) + ":" + (open_unit ? "UNIT" : unit) +
                          ",input=" + or_open(input) + ",output=" + or_open(output);
  return "--map " + shell_quoted(map) + (open_unit ? " with a UNIT of s, ms, us, ns or iso" : "");
}

}  // namespace kvplan::traces
