// JSON lines: one object per line, columns are its keys.
#include "traces/import/json_table.h"

#include <cstring>

namespace kvplan::traces {

JsonTable::JsonTable(Inputs inputs, ColumnMap map, std::string_view format, SourceTraits traits,
                     OtherKeys other_keys)
    : TableStream(std::move(inputs), std::move(map), format, traits), other_keys_(other_keys) {
  for (std::size_t r = 0; r < kRoles; ++r) {
    std::int8_t order = 0;
    for (const std::string& name : map_.columns[r].names)
      names_.push_back({name, static_cast<std::int8_t>(r), order++});
  }
}

int JsonTable::role_of(std::string_view key) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i].text;
    if (name.size() == key.size() && std::memcmp(name.data(), key.data(), key.size()) == 0)
      return static_cast<int>(i);
  }
  return -1;
}

bool JsonTable::read_row(std::string_view line) {
  if (other_keys_ == OtherKeys::kRead || misses_ > kMostMisses) return read_any_row(line);
  if (!learned_.empty() && read_like_learned(line)) {
    misses_ = 0;
    return true;
  }
  ++misses_;
  if (!read_any_row(line)) return false;
  learned_.clear();
  std::size_t from = 0;
  for (std::size_t i = 0; i < value_at_.size(); ++i) {
    learned_.push_back({std::string(line.substr(from, value_at_[i].first - from)), value_role_[i]});
    from = value_at_[i].second;
  }
  learned_rest_ = line.substr(from);
  return true;
}

bool JsonTable::read_like_learned(std::string_view line) {
  row_.clear();
  JsonCursor json(line);
  for (const Value& value : learned_) {
    if (!json.pass(value.before)) return false;
    if (value.role == Role::kHashes) {
      row_.has_hashes = true;
      if (map_.block_tokens == 0 || !json.integers([this](std::uint64_t id) { row_.hashes.push_back(id); }))
        return false;
      continue;
    }
    const std::string_view rest = json.rest();
    const char* const end = rest.data() + rest.size();
    const char* const stop = set_plain(value.role, rest.data(), end);
    if (stop != nullptr && stop != end && (*stop == ',' || *stop == '}')) {
      json.skip(static_cast<std::size_t>(stop - rest.data()));
      continue;
    }
    std::string_view text;
    if (json.kind() != 'n' || !json.number(text) || !set(value.role, text)) return false;
  }
  return json.pass(learned_rest_) && json.at_end();
}

bool JsonTable::read_any_row(std::string_view line) {
  row_.clear();
  value_at_.clear();
  value_role_.clear();
  bool numbers_only = true;
  JsonCursor json(line);
  std::uint32_t seen = 0;
  if (json.enter_object()) {
    std::string_view key;
    bool first = true;
    while (json.next_key(key, first)) {
      const int name = role_of(key);
      if (name < 0) {
        if (other_value(json, key)) continue;
        if (json.failed()) break;
        return false;
      }
      const auto role = static_cast<Role>(names_[static_cast<std::size_t>(name)].role);
      const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(role);
      if ((seen & bit) != 0)
        return fail(key, "a second value for the " + std::string(role_name(role)) + " column");
      if (json.kind() == 'l') {  // null is "not stated"; true and false are no value for any column
        if (!json.skip_value()) break;
        continue;
      }
      seen |= bit;
      numbers_only = numbers_only && json.kind() != 's' && role != Role::kAfter;
      value_role_.push_back(role);
      const std::size_t begin = json.where();
      if (!read_value(json, role)) {
        if (json.failed()) break;
        return false;
      }
      value_at_.emplace_back(begin, json.where());
    }
  }
  if (!numbers_only) value_at_.clear();  // names in quotes and lists of names are not learned
  if (json.failed() || !json.at_end())
    return fail("", "expected one JSON object, found something else at byte " + std::to_string(json.where()) +
                        " of the line: " + shown(line.substr(std::min(json.where(), line.size()))));
  for (std::size_t r = 0; r < kRoles; ++r) {
    if (map_.columns[r].required && (seen >> r & 1) == 0)
      return fail("", "no value for \"" + map_.columns[r].names.front() + "\" (" +
                          std::string(role_name(static_cast<Role>(r))) + ")");
  }
  return end_row();
}

bool JsonTable::read_value(JsonCursor& json, Role role) {
  if (role == Role::kHashes) return read_hashes(json);
  if (role == Role::kAfter && json.kind() == 'a') return read_after(json);
  std::string_view text;
  const char kind = json.kind();
  if (kind == 's') {
    bool escaped = false;
    if (!json.string(text, escaped)) return false;
    const bool name =
        role == Role::kSession || role == Role::kTenant || role == Role::kId || role == Role::kAfter;
    if (!name) return set(role, text);
    // Without escapes the view into the line lives as long as the row; else an own copy does.
    std::string& copy = role == Role::kSession  ? session_text_
                        : role == Role::kTenant ? tenant_text_
                                                : id_text_;
    if (escaped) {
      if (!unescape(text, copy)) return fail_expected(role, "text with JSON escapes", text);
      text = copy;
    }
    return set(role, text);
  }
  if (kind == 'n') return json.number(text) && set(role, text);
  const std::size_t start = json.where();
  if (!json.skip_value()) return false;
  const std::string_view found = kind == 0 ? "something else" : "an array or object";
  return fail(name_of(role), "expected a number or a text, found " + std::string(found) + " at byte " +
                                 std::to_string(start) + " of the line");
}

bool JsonTable::read_after(JsonCursor& json) {
  row_.states_after = true;
  bool first = true;
  if (!json.enter_array()) return false;
  while (json.next_element(first)) {
    if (json.kind() != 's' && json.kind() != 'n')
      return fail(name_of(Role::kAfter), "expected an array of numbers or texts");
    if (!read_value(json, Role::kAfter)) return false;
  }
  return !json.failed();
}

bool JsonTable::read_hashes(JsonCursor& json) {
  row_.has_hashes = true;
  if (map_.block_tokens == 0) return json.skip_value();
  JsonCursor before = json;
  if (json.integers([this](std::uint64_t id) { row_.hashes.push_back(id); })) return true;
  if (!before.skip_value()) return false;  // broken JSON: reported as such
  json = before;
  return fail(name_of(Role::kHashes), "expected an array of whole numbers from 0 to 2^64 - 1");
}

Result<std::unique_ptr<TraceStream>> open_json_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                     SourceTraits traits) {
  return std::unique_ptr<TraceStream>(
      std::make_unique<JsonTable>(std::move(inputs), std::move(map), format, traits));
}

}  // namespace kvplan::traces
