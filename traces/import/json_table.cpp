// JSON lines: one object per line, columns are its keys.
#include "traces/import/json_table.h"

#include <cstring>

#include "traces/import/json_text.h"

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

bool JsonTable::matches(std::string_view& line) {
  std::size_t met = 0;
  JsonCursor json(line);
  if (!json.enter_object()) return true;  // read_row says what is wrong
  std::string_view key, value;
  bool first = true;
  while (json.next_key(key, first)) {
    if (!json.value(value)) return true;
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    for (const auto& [name, wanted] : map_.where) met += name == key && wanted == value ? 1 : 0;
  }
  return json.failed() || met == map_.where.size();
}

bool JsonTable::read_row(std::string_view line) {
  if (!read_any_row(line)) return false;
  if (misses_ > kMostMisses || other_keys_ == OtherKeys::kRead) return true;
  ++misses_;
  learned_.learn(line, values_);
  quick_ = !learned_.empty() && misses_ <= kMostMisses;
  return true;
}

inline const char* JsonTable::take_ids(const char* at, const char* end) {
  row_.has_hashes = true;
  if (map_.block_tokens == 0) return nullptr;
  return plain_ids(at, end, [this](std::uint64_t id) { row_.hashes.push_back(id); });
}

std::size_t JsonTable::read_held_row(std::string_view held) {
  row_.clear();
  const auto take = [this](int name, const char* at, const char* end) {
    if (name == static_cast<int>(Role::kHashes)) return take_ids(at, end);
    const char* const stop = name < 0 ? nullptr : set_plain(static_cast<Role>(name), at, end);
    const bool whole = stop != nullptr && stop != end && (*stop == ',' || *stop == '}');
    return whole ? stop : take_value(name, at, end);
  };
  const char* const stop = learned_.read(held.data(), held.data() + held.size(), take);
  if (stop == nullptr) return 0;
  misses_ = 0;
  return static_cast<std::size_t>(stop - held.data());
}

const char* JsonTable::take_value(int name, const char* at, const char* end) {
  if (name == kPassedOver) {
    JsonCursor json({at, static_cast<std::size_t>(end - at)});
    // The skipped value may contain white space, but no end of line.
    return json.skip_value() && std::memchr(at, '\n', json.where()) == nullptr ? at + json.where() : nullptr;
  }
  const auto role = static_cast<Role>(name);
  if (at != end && *at == '"') {
    const char* stop = set_plain(role, ++at, end);
    if (stop != nullptr && stop != end && *stop == '"') return stop + 1;
    stop = plain_text_end(at, end);
    return stop != end && *stop == '"' && set(role, {at, static_cast<std::size_t>(stop - at)}) ? stop + 1
                                                                                               : nullptr;
  }
  JsonCursor json({at, static_cast<std::size_t>(end - at)});
  std::string_view text;
  return json.kind() == 'n' && json.number(text) && text.data() == at && set(role, text) ? at + text.size()
                                                                                         : nullptr;
}

bool JsonTable::read_any_row(std::string_view line) {
  row_.clear();
  values_.clear();
  bool learnable = other_keys_ == OtherKeys::kSkipped;
  JsonCursor json(line);
  std::uint32_t seen = 0;
  if (json.enter_object()) {
    std::string_view key;
    bool first = true;
    while (json.next_key(key, first)) {
      const int name = role_of(key);
      if (name < 0) {
        json.kind();  // moves to the beginning of the value
        const std::size_t begin = json.where();
        if (other_value(json, key)) {
          learnable = learnable && values_.size() < kMostLearned;
          if (learnable) values_.push_back({begin, json.where(), kPassedOver});
          continue;
        }
        if (json.failed()) break;
        return false;
      }
      const auto role = static_cast<Role>(names_[static_cast<std::size_t>(name)].role);
      const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(role);
      if ((seen & bit) != 0)
        return fail(key, "found a second value for the " + std::string(role_name(role)) + " column");
      if (json.kind() == 'l') {  // null means "not stated"; true and false are not valid for any column
        if (!json.skip_value()) break;
        continue;
      }
      seen |= bit;
      learnable = learnable && role != Role::kAfter;  // lists of names are not learned
      const std::size_t begin = json.where();
      if (!read_value(json, role)) {
        if (json.failed()) break;
        return false;
      }
      values_.push_back({begin, json.where(), static_cast<int>(role)});
    }
  }
  if (!learnable) values_.clear();
  if (json.failed() || !json.at_end())
    return fail("", "expected one JSON object, found something else at byte " + std::to_string(json.where()) +
                        " of the line: " + shown(line.substr(std::min(json.where(), line.size()))));
  for (std::size_t r = 0; r < kRoles; ++r) {
    if (map_.columns[r].required && (seen >> r & 1) == 0)
      return fail("", "no value for \"" + map_.columns[r].names.front() + "\" (" +
                          std::string(role_name(static_cast<Role>(r))) + ")" +
                          (map_.columns[r].names.front().find('.') == std::string::npos
                               ? ""
                               : "; nested objects are not read"));
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
    // Without escapes, the view into the line is valid as long as the row; with escapes, a copy is made.
    std::string& copy = role == Role::kSession  ? session_text_
                        : role == Role::kTenant ? tenant_text_
                                                : id_text_;
    if (escaped) {
      if (!unescape(text, copy)) return fail_expected(role, "a string with JSON escapes", text);
      text = copy;
    }
    return set(role, text);
  }
  if (kind == 'n') return json.number(text) && set(role, text);
  const std::size_t start = json.where();
  if (!json.skip_value()) return false;
  const std::string_view found = kind == 0 ? "something else" : "an array or object";
  return fail(name_of(role), "expected a number or a string, found " + std::string(found) + " at byte " +
                                 std::to_string(start) + " of the line");
}

bool JsonTable::read_after(JsonCursor& json) {
  row_.states_after = true;
  bool first = true;
  if (!json.enter_array()) return false;
  while (json.next_element(first)) {
    if (json.kind() != 's' && json.kind() != 'n')
      return fail(name_of(Role::kAfter), "expected an array of numbers or strings");
    if (!read_value(json, Role::kAfter)) return false;
  }
  return !json.failed();
}

bool JsonTable::read_hashes(JsonCursor& json) {
  row_.has_hashes = true;
  if (map_.block_tokens == 0) return json.skip_value();
  JsonCursor before = json;
  if (json.integers([this](std::uint64_t id) { row_.hashes.push_back(id); })) return true;
  if (!before.skip_value()) return false;  // broken JSON: the caller reports it
  json = before;
  return fail(name_of(Role::kHashes), "expected an array of whole numbers from 0 to 2^64 - 1");
}

Result<std::unique_ptr<TraceStream>> open_json_table(Inputs inputs, ColumnMap map, std::string_view format,
                                                     SourceTraits traits) {
  return std::unique_ptr<TraceStream>(
      std::make_unique<JsonTable>(std::move(inputs), std::move(map), format, traits));
}

}  // namespace kvplan::traces
