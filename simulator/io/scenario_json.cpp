#include "simulator/io/scenario_json.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/base/json_brackets.h"
#include "simulator/base/number_input.h"
#include "simulator/base/pair_value.h"
#include "simulator/base/utf8.h"

namespace kvplan::io {
namespace {

namespace od = simdjson::ondemand;

constexpr int kMostDepth = 8;

/// States what was expected at the place where the JSON is broken. The library's own messages do not say that.
std::string problem(simdjson::error_code error) {
  switch (error) {
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "expected JSON in which every { and [ is closed";
    case simdjson::UNCLOSED_STRING:
      return "expected a closing quote for every JSON string";
    case simdjson::STRING_ERROR:
      return "expected a string with JSON escapes";
    case simdjson::UTF8_ERROR:
      return "expected UTF-8";
    case simdjson::DEPTH_ERROR:
      return "expected at most " + std::to_string(kMostDepth) + " levels";
    case simdjson::EMPTY:
      return "expected a JSON object, found nothing";
    case simdjson::TAPE_ERROR:
      return "expected JSON: \"key\": value, with commas between pairs and no comma at the end";
    case simdjson::INCORRECT_TYPE:
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "expected a string, a number, true, false or null";
    default:
      return std::string("expected JSON: ") + simdjson::error_message(error);
  }
}

/// Index after the bracket that closes the one at the start of `text`; the end if none does.
std::size_t object_end(std::string_view text) {
  std::size_t end = text.size();
  each_bracket(text, [&](std::size_t at, std::int64_t depth) {
    if (depth <= 0) end = at + 1;
    return depth > 0;
  });
  return end;
}

/// Where the first line begins that is not UTF-8.
std::size_t first_bad_line(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    if (!simdjson::validate_utf8(text.data() + begin, end - begin)) break;
  }
  return std::min(begin, text.size());
}

/// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  const auto is = [&](char c) { return at < text.size() && text[at] == c; };
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  if (is('-')) ++at;
  const bool zero = is('0');
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (is('.') && (++at, digits() == 0)) return false;
  if (is('e') || is('E')) {
    ++at;
    if (is('+') || is('-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

/// Reads one document into settings.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path)
      : padded_(without_byte_order_mark(text)), path_(path) {}

  Result<std::vector<runs::Setting>> read() {
    if (const auto error = parser_.iterate(padded_).get(document_)) return not_an_object(error);
    auto object = document_.get_object();
    if (object.error()) return not_an_object(object.error());
    KVPLAN_TRY_DO(read_object(object.value_unsafe(), "", 0));
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS)
      return wrong("expected nothing after the object", line_of(rest));
    apply_origins(origins_, settings_);
    return std::move(settings_);
  }

 private:
  [[nodiscard]] Error wrong(std::string message, std::int64_t at, std::string_view field = {}) const {
    return bad_input(std::move(message)).at_file(path_).at_line(at).at_field(field);
  }

  [[nodiscard]] Error not_an_object(simdjson::error_code error) const {
    const std::string_view text(padded_.data(), padded_.size());
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{')
      return wrong("expected a scenario: a JSON object, which begins with {", 1);
    if (error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) {
      const std::size_t end = object_end(text.substr(first)) + first;
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      if (next != std::string_view::npos)
        return wrong("expected nothing after the object", line_of(text.data() + next));
    }
    // The library reports such mistakes at the end of the text, except for bytes that are not UTF-8.
    const std::size_t place = error == simdjson::UTF8_ERROR ? first_bad_line(text) : text.size();
    return wrong("read as a scenario: " + problem(error), line_of(text.data() + place));
  }

  /// Called for each key in turn, so lines are counted on from the position of the call before.
  [[nodiscard]] std::int64_t line_of(const char* position) const {
    const char* const begin = padded_.data();
    const char* const end = std::clamp(position, begin, begin + padded_.size());
    if (counted_ == nullptr || end < counted_) {
      counted_ = begin;
      counted_lines_ = 0;
    }
    counted_lines_ += std::count(counted_, end, '\n');
    counted_ = end;
    return 1 + counted_lines_;
  }
  [[nodiscard]] std::int64_t line() const {
    const char* position = nullptr;
    return document_.current_location().get(position) == simdjson::SUCCESS
               ? line_of(position)
               : line_of(padded_.data() + padded_.size());
  }

  enum class Meaning : std::uint8_t { kUnknown, kGroup, kLeaf, kComponent };
  static Meaning meaning(std::string_view path) {
    for (const runs::Field& field : runs::scenario_fields())
      if (field.path == path)
        return field.kind == runs::FieldKind::kComponent ? Meaning::kComponent : Meaning::kLeaf;
    for (const runs::Field& field : runs::scenario_fields())
      if (field.path.size() > path.size() && field.path[path.size()] == '.' &&
          field.path.substr(0, path.size()) == path)
        return Meaning::kGroup;
    return Meaning::kUnknown;
  }

  /// The text of a scalar as a setting has it: strings without quotes, numbers and booleans as written.
  Result<std::string> scalar(od::value value, std::string_view path) {
    const std::int64_t at = line();
    od::json_type type{};
    if (const auto error = value.type().get(type)) return wrong(problem(error), at, path);
    if (type == od::json_type::string) {
      std::string_view text;
      if (const auto error = value.get_string().get(text)) return wrong(problem(error), at, path);
      return std::string(text);
    }
    if (type == od::json_type::number) {
      // The number as it is written: the field decides how many digits and which range are allowed.
      std::string_view raw = value.raw_json_token();
      while (!raw.empty() && static_cast<unsigned char>(raw.back()) <= ' ') raw.remove_suffix(1);
      if (!is_json_number(raw))
        return Error(not_expected("a number as JSON has it", raw)).at_file(path_).at_line(at).at_field(path);
      return std::string(raw);
    }
    if (type == od::json_type::boolean) {
      bool flag = false;
      if (const auto error = value.get_bool().get(flag)) return wrong(problem(error), at, path);
      return std::string(flag ? "true" : "false");
    }
    return wrong("expected a string, a number or true/false", at, path);
  }

  Status read_object(od::object object, const std::string& prefix, int depth) {
    if (depth > kMostDepth)
      return wrong("expected at most " + std::to_string(kMostDepth) + " levels", line(), prefix);
    for (auto item : object) {
      std::string_view key;
      if (const auto error = item.unescaped_key().get(key)) return wrong(problem(error), line(), prefix);
      const std::string path = prefix.empty() ? std::string(key) : prefix + "." + std::string(key);
      const std::int64_t at = line();
      od::value value;
      if (const auto error = item.value().get(value)) return wrong(problem(error), at, path);
      od::json_type type{};
      if (const auto error = value.type().get(type)) return wrong(problem(error), at, path);
      KVPLAN_TRY_DO(see(path, at));
      if (path == "scenario" && type == od::json_type::object)
        return wrong(
            "expected a scenario, found a report: its member \"scenario\" is the scenario that it ran", at);
      if (path == "view") continue;  // written by the desktop program's sessions
      if (path == "scenario_origins") {
        KVPLAN_TRY_DO(read_origins(value, at));
        continue;
      }
      if (type == od::json_type::null) {
        bool null = false;
        if (const auto error = value.is_null().get(null)) return wrong(problem(error), at, path);
        if (meaning(path) == Meaning::kUnknown) add(path, "null", at);
        continue;
      }
      if (type == od::json_type::object) {
        od::object child;
        if (const auto error = value.get_object().get(child)) return wrong(problem(error), at, path);
        const Meaning meant = meaning(path);
        if (meant == Meaning::kLeaf)
          return wrong("expected a string, a number or true/false, found an object", at, path);
        if (meant == Meaning::kComponent) {
          KVPLAN_TRY_DO(read_component(child, path, at));
          continue;
        }
        const std::size_t before = settings_.size();
        KVPLAN_TRY_DO(read_object(child, path, depth + 1));
        // Unknown names are refused when the settings are resolved, so this one must be among the settings.
        if (meant == Meaning::kUnknown && settings_.size() == before) add(path, "{}", at);
        continue;
      }
      KVPLAN_TRY(const std::string text, scalar(value, path));
      add(path, text, at);
    }
    return Done{};
  }

  Status read_origins(od::value value, std::int64_t at) {
    od::object object;
    if (value.get_object().get(object)) return wrong("expected an object", at, "scenario_origins");
    for (auto item : object) {
      std::string_view path, origin;
      if (const auto error = item.unescaped_key().get(path))
        return wrong(problem(error), line(), "scenario_origins");
      const std::string key(path);
      if (item.value().get_string().get(origin) || (origin != "given" && origin != "default"))
        return wrong("expected \"given\" or \"default\"", line(), "scenario_origins." + key);
      origins_[key] = origin;
    }
    return Done{};
  }

  /// {"name": "paged", "block_tokens": 16}: the name first, then each parameter as a path of its own.
  Status read_component(od::object object, const std::string& path, std::int64_t at) {
    std::string name;
    std::vector<runs::Setting> params;
    std::set<std::string> seen;
    for (auto item : object) {
      std::string_view key;
      if (const auto error = item.unescaped_key().get(key)) return wrong(problem(error), line(), path);
      const std::string param(key);
      const std::string at_param = std::string(path).append(".").append(param);
      const std::int64_t place = line();
      od::value value;
      if (const auto error = item.value().get(value)) return wrong(problem(error), place, path);
      KVPLAN_TRY(const std::string text, scalar(value, at_param));
      if (!seen.insert(param).second) return wrong("expected one value, found a second", place, at_param);
      if (param == "name") {
        name = text;
      } else {
        params.push_back({param, text, path_, place});
      }
    }
    if (name.empty()) return wrong("expected \"name\" in the component", at, path);
    for (std::size_t i = 0; i < params.size(); ++i)
      name.append(i == 0 ? ":" : ",").append(params[i].path).append("=").append(pair_value(params[i].text));
    add(path, name, at);
    for (const runs::Setting& param : params)
      settings_.back().param_lines.emplace_back(param.path, param.line);
    return Done{};
  }

  /// A key may occur only once, whatever its value is.
  Status see(const std::string& path, std::int64_t at) {
    const auto [first, is_new] = seen_.emplace(path, at);
    if (is_new) return Done{};
    return wrong("expected one value, found a second; the first is in line " + std::to_string(first->second),
                 at, path);
  }

  void add(const std::string& path, std::string text, std::int64_t at) {
    settings_.push_back({path, std::move(text), path_, at});
  }

  simdjson::padded_string padded_;
  std::string path_;
  od::parser parser_;
  mutable od::document document_;  // the library's query for the position changes nothing, but is not const
  mutable const char* counted_{nullptr};  // lines before here are counted
  mutable std::int64_t counted_lines_{0};
  std::vector<runs::Setting> settings_;
  std::map<std::string, std::int64_t> seen_;  // path and its line
  std::map<std::string, std::string> origins_;
};

}  // namespace

bool looks_like_scenario_json(std::string_view begin) {
  const std::size_t brace = begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (brace == std::string_view::npos || begin[brace] != '{') return false;
  const std::size_t quote = begin.find_first_not_of(" \t\r\n", brace + 1);
  if (quote == std::string_view::npos) return false;
  if (begin[quote] == '}') return true;  // {}: all defaults
  const std::size_t end = begin.find('"', quote + 1);
  if (begin[quote] != '"' || end == std::string_view::npos) return false;
  const std::string_view key = begin.substr(quote + 1, end - quote - 1);
  for (const runs::Field& field : runs::scenario_fields())
    if (field.path.substr(0, field.path.find('.')) == key || field.path == key) return true;
  return false;
}

Result<std::vector<runs::Setting>> parse_scenario(std::string_view text, const std::string& path) {
  return Reader(text, path).read();
}

void apply_origins(const std::map<std::string, std::string>& origins, std::vector<runs::Setting>& settings) {
  for (runs::Setting& setting : settings) {
    const auto found = origins.find(setting.path);
    if (found != origins.end() && found->second == "default") setting.origin = runs::Origin::kDefault;
    const std::string prefix = setting.path + ".";
    for (auto param = origins.lower_bound(prefix);
         param != origins.end() && param->first.compare(0, prefix.size(), prefix) == 0; ++param)
      if (param->second == "default") setting.default_params.push_back(param->first.substr(prefix.size()));
  }
}

}  // namespace kvplan::io
