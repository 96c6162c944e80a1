// Reads the JSON of calibrations, value by value, so that an error knows its line.
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/base/utf8.h"
#include "simulator/io/calibration.h"

namespace kvplan::io {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kMostCalibrationBytes = std::size_t{64} << 20;
constexpr std::size_t kMostTables = 256;
constexpr std::size_t kMostColumns = 64;
constexpr std::size_t kMostCalibrationRows = 1'000'000;
constexpr std::size_t kMostFits = 1024;
constexpr std::size_t kMostText = 4096;
constexpr double kMostWhole = 9007199254740992.0;  // 2^53

/// 2026-11-22T04:05:06Z
bool is_moment(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  return text.size() == kForm.size() &&
         std::equal(text.begin(), text.end(), kForm.begin(),
                    [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

bool is_unit(std::string_view unit) {
  const auto units = calibration_units();
  return std::find(units.begin(), units.end(), unit) != units.end();
}

bool is_parameter_unit(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  if (slash == std::string_view::npos) return is_unit(unit) && unit != "text";
  return is_parameter_unit(unit.substr(0, slash)) && is_parameter_unit(unit.substr(slash + 1)) &&
         unit.find('/', slash + 1) == std::string_view::npos;
}

bool is_whole_unit(std::string_view unit) {
  return unit == "bytes" || unit == "tokens" || unit == "count";
}

class CalibrationReader {
 public:
  CalibrationReader(std::string_view text, const std::string& file)
      : text_(without_byte_order_mark(text)), padded_(text_), file_(file) {}

  Result<Calibration> read() {
    // These mistakes are found before anything is read: invalid UTF-8, and brackets that are not closed.
    if (const auto error = parser_.iterate(padded_).get(document_))
      return bad_input(std::string("expected JSON: ") + simdjson::error_message(error))
          .at_file(file_)
          .at_line(1 + std::count(text_.begin(), text_.begin() + good_text(), '\n'));
    od::object object;
    if (const auto error = document_.get_object().get(object)) return broken(error, "");
    Calibration c;
    KVPLAN_TRY_DO(members(
        object, "",
        {{"schema", [&](od::value v, const std::string& at) { return schema_of(v, at); }},
         {"made_by", [&](od::value v, const std::string& at) { return text_of(v, at, c.made_by); }},
         {"when", [&](od::value v, const std::string& at) { return moment(v, at, c.when); }},
         {"device", [&](od::value v, const std::string& at) { return device(v, at, c.device); }},
         {"software", [&](od::value v, const std::string& at) { return software(v, at, c.software); }},
         {"method", [&](od::value v, const std::string& at) { return method(v, at, c.method); }},
         {"tables", [&](od::value v, const std::string& at) { return tables(v, at, c.tables); }},
         {"fits", [&](od::value v, const std::string& at) { return fits(v, at, c.fits); }}}));
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS)
      return wrong("expected nothing after the object", "");
    for (const CalibrationFit& fit : c.fits)
      if (std::none_of(c.tables.begin(), c.tables.end(), [&](const auto& t) { return t.name == fit.table; }))
        return bad_input("expected the name of a table in this file, found \"" + fit.table + "\"")
            .at_file(file_)
            .at_field("fits");
    return c;
  }

 private:
  using Take = std::function<Status(od::value, const std::string& path)>;
  struct Member {
    const char* key;
    Take take;
  };

  /// Bytes before the first line that is not UTF-8.
  [[nodiscard]] std::ptrdiff_t good_text() const {
    std::size_t begin = 0;
    for (std::size_t end = 0; end < text_.size(); begin = end + 1) {
      end = std::min(text_.find('\n', begin), text_.size());
      if (!simdjson::validate_utf8(text_.data() + begin, end - begin)) break;
    }
    return static_cast<std::ptrdiff_t>(std::min(begin, text_.size()));
  }

  [[nodiscard]] std::int64_t line() {
    const char* at = nullptr;
    const std::size_t offset = document_.current_location().get(at) == simdjson::SUCCESS
                                   ? std::min(static_cast<std::size_t>(at - padded_.data()), text_.size())
                                   : text_.size();
    // Lines are counted on from the last position, since readers only move forward.
    if (offset > counted_) {
      line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                          text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
      counted_ = offset;
    }
    return line_;
  }
  Error wrong(std::string message, const std::string& path) {
    return bad_input(std::move(message)).at_file(file_).at_line(line()).at_field(path);
  }
  Error broken(simdjson::error_code error, const std::string& path) {
    if (error == simdjson::INCORRECT_TYPE) return wrong("expected a JSON object", path);
    return wrong(std::string("expected JSON: ") + simdjson::error_message(error), path);
  }

  /// Every key of an object exactly once, in any order; others are refused.
  Status members(od::object object, const std::string& prefix, const std::vector<Member>& known) {
    std::set<std::string, std::less<>> seen;
    for (auto item : object) {
      od::field field;
      std::string_view key;
      if (const auto error = std::move(item).get(field)) return broken(error, prefix);
      if (const auto error = field.unescaped_key().get(key)) return broken(error, prefix);
      const std::string name(key);
      std::string path = prefix;
      path.append(prefix.empty() ? "" : ".").append(name);
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const Member& member) { return name == member.key; });
      if (found == known.end()) {
        std::vector<std::string_view> names(known.size());
        std::transform(known.begin(), known.end(), names.begin(), [](const Member& m) { return m.key; });
        return wrong(unknown_name("key", name, names), path);
      }
      if (!seen.insert(name).second) return wrong("expected one value, found a second", path);
      KVPLAN_TRY_DO(found->take(field.value(), path));
    }
    for (const Member& member : known)
      if (!seen.contains(member.key)) return wrong("expected \"" + std::string(member.key) + "\"", prefix);
    return Done{};
  }

  Status below(od::value value, const std::string& path, const std::vector<Member>& known) {
    od::object object;
    if (value.get_object().get(object)) return wrong("expected an object", path);
    return members(object, path, known);
  }

  /// Calls `take` for each element with its path.
  Status elements(od::value value, const std::string& path, std::size_t most, const Take& take) {
    od::array array;
    if (value.get_array().get(array)) return wrong("expected an array", path);
    std::size_t i = 0;
    for (auto item : array) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      od::value element;
      if (const auto error = item.get(element)) return broken(error, at);
      if (++i > most) return wrong("expected at most " + std::to_string(most) + " entries", path);
      KVPLAN_TRY_DO(take(element, at));
    }
    return Done{};
  }

  Status text_of(od::value value, const std::string& path, std::string& to) {
    std::string_view text;
    if (value.get_string().get(text)) return wrong("expected a string", path);
    if (text.size() > kMostText)
      return wrong("expected at most " + std::to_string(kMostText) + " bytes of text", path);
    to = text;
    return Done{};
  }
  Status name_of(od::value value, const std::string& path, std::string& to) {
    KVPLAN_TRY_DO(text_of(value, path, to));
    return to.empty() ? Status(wrong("expected a name, found an empty string", path)) : Status(Done{});
  }
  Status unit_of(od::value value, const std::string& path, std::string& to) {
    KVPLAN_TRY_DO(text_of(value, path, to));
    return is_unit(to) ? Status(Done{}) : Status(wrong(unknown_name("unit", to, calibration_units()), path));
  }
  Status schema_of(od::value value, const std::string& path) {
    std::string schema;
    KVPLAN_TRY_DO(text_of(value, path, schema));
    if (schema == kCalibrationSchema) return Done{};
    return wrong(not_expected("\"" + std::string(kCalibrationSchema) + "\"", schema).message, path);
  }
  Status moment(od::value value, const std::string& path, std::string& to) {
    KVPLAN_TRY_DO(text_of(value, path, to));
    return is_moment(to) ? Status(Done{})
                         : Status(wrong("expected a time such as 2026-11-22T04:05:06Z", path));
  }
  Status whole(od::value value, const std::string& path, std::int64_t& to) {
    if (value.get_int64().get(to) || to < 0) return wrong("expected a whole number of at least 0", path);
    return Done{};
  }
  Status flag(od::value value, const std::string& path, bool& to) {
    return value.get_bool().get(to) ? Status(wrong("expected true or false", path)) : Status(Done{});
  }
  Status decimal(od::value value, const std::string& path, double& to) {
    if (value.get_double().get(to) || !std::isfinite(to)) return wrong("expected a number", path);
    return Done{};
  }

  Take text_to(std::string& to) {
    return [this, &to](od::value v, const std::string& at) { return text_of(v, at, to); };
  }
  Take name_to(std::string& to) {
    return [this, &to](od::value v, const std::string& at) { return name_of(v, at, to); };
  }
  Take whole_to(std::int64_t& to) {
    return [this, &to](od::value v, const std::string& at) { return whole(v, at, to); };
  }
  Take flag_to(bool& to) {
    return [this, &to](od::value v, const std::string& at) { return flag(v, at, to); };
  }
  Take decimal_to(double& to) {
    return [this, &to](od::value v, const std::string& at) { return decimal(v, at, to); };
  }

  Status device(od::value value, const std::string& path, CalibrationDevice& to) {
    return below(value, path,
                 {{"name", name_to(to.name)},
                  {"sm_count", whole_to(to.sm_count)},
                  {"l2_bytes", whole_to(to.l2_bytes)},
                  {"visible_bytes", whole_to(to.visible_bytes)},
                  {"sm_clock_mhz", whole_to(to.sm_clock_mhz)},
                  {"memory_clock_mhz", whole_to(to.memory_clock_mhz)}});
  }
  Status software(od::value value, const std::string& path, CalibrationSoftware& to) {
    return below(value, path,
                 {{"driver", text_to(to.driver)},
                  {"toolkit", text_to(to.toolkit)},
                  {"engine", name_to(to.engine)},
                  {"engine_version", text_to(to.engine_version)},
                  {"kernel_build", name_to(to.kernel_build)}});
  }
  Status method(od::value value, const std::string& path, CalibrationMethod& to) {
    return below(value, path,
                 {{"cold", flag_to(to.cold)},
                  {"graph", flag_to(to.graph)},
                  {"least_samples", whole_to(to.least_samples)},
                  {"stop_rule", text_to(to.stop_rule)}});
  }

  Status tables(od::value value, const std::string& path, std::vector<CalibrationTable>& to) {
    return elements(value, path, kMostTables, [&](od::value v, const std::string& at) -> Status {
      CalibrationTable table;
      KVPLAN_TRY_DO(
          below(v, at,
                {{"name", name_to(table.name)}, {"columns", [&](od::value columns, const std::string& where) {
                                                   return columns_of(columns, where, table.columns);
                                                 }}}));
      if (std::any_of(to.begin(), to.end(), [&](const auto& t) { return t.name == table.name; }))
        return wrong("expected each table once, found \"" + table.name + "\" again", at);
      KVPLAN_TRY_DO(check_table(table, at));
      to.push_back(std::move(table));
      return Done{};
    });
  }

  Status columns_of(od::value value, const std::string& path, std::vector<CalibrationColumn>& to) {
    return elements(value, path, kMostColumns, [&](od::value v, const std::string& at) -> Status {
      CalibrationColumn column;
      bool numbers_first = false;
      KVPLAN_TRY_DO(below(
          v, at,
          {{"name", name_to(column.name)},
           {"unit",
            [&](od::value unit, const std::string& where) { return unit_of(unit, where, column.unit); }},
           {"numbers",
            [&](od::value numbers, const std::string& where) {
              numbers_first = column.unit.empty();
              return numbers_of(numbers, where, column);
            }},
           {"texts", [&](od::value texts, const std::string& where) {
              return elements(texts, where, kMostCalibrationRows,
                              [&](od::value text, const std::string& each) -> Status {
                                column.texts.emplace_back();
                                return text_of(text, each, column.texts.back());
                              });
            }}}));
      if (numbers_first) return wrong("expected the unit before the numbers", at);
      if (std::any_of(to.begin(), to.end(), [&](const auto& c) { return c.name == column.name; }))
        return wrong("expected each column once, found \"" + column.name + "\" again", at);
      if (column.is_text() ? !column.numbers.empty() : !column.texts.empty())
        return wrong(column.is_text() ? "expected only strings in a column of text" : "expected only numbers",
                     at);
      if (column.rows() == 0) return wrong("expected at least one row", at);
      if (!to.empty() && column.rows() != to.front().rows())
        return wrong("expected " + std::to_string(to.front().rows()) +
                         " rows as in the first column, found " + std::to_string(column.rows()),
                     at);
      to.push_back(std::move(column));
      return Done{};
    });
  }

  Status numbers_of(od::value value, const std::string& path, CalibrationColumn& column) {
    const bool in_wholes = is_whole_unit(column.unit);
    return elements(value, path, kMostCalibrationRows, [&](od::value v, const std::string& at) -> Status {
      double number = 0;
      KVPLAN_TRY_DO(decimal(v, at, number));
      if (in_wholes && (number != std::floor(number) || std::fabs(number) > kMostWhole))
        return wrong("expected a whole number of " + column.unit + " up to 2^53", at);
      // The distance between two addresses may be negative; all other numbers are at least 0.
      if (number < 0 && column.unit != "bytes") return wrong("expected a number of at least 0", at);
      column.numbers.push_back(number);
      return Done{};
    });
  }

  /// A table of a known kind must have that kind's columns, and its quantiles must ascend.
  Status check_table(const CalibrationTable& table, const std::string& path) {
    if (table.columns.empty()) return wrong("expected at least one column", path);
    if (const KnownTable* known = known_table(table.name)) {
      for (const KnownColumn& wanted : known->columns) {
        const CalibrationColumn* found = table.column(wanted.name);
        if (found == nullptr || found->unit != wanted.unit)
          return wrong("expected a column \"" + std::string(wanted.name) + "\" in " +
                           std::string(wanted.unit) + " in the table \"" + table.name + "\"",
                       path);
      }
    }
    const CalibrationColumn* p10 = table.column("p10");
    const CalibrationColumn* median = table.column("median");
    const CalibrationColumn* p90 = table.column("p90");
    if (p10 == nullptr || median == nullptr || p90 == nullptr) return Done{};
    if (p10->is_text() || median->is_text() || p90->is_text())
      return wrong("expected quantiles as numbers", path);
    for (std::size_t i = 0; i < table.rows(); ++i)
      if (p10->numbers[i] > median->numbers[i] || median->numbers[i] > p90->numbers[i])
        return wrong("expected p10 <= median <= p90 in row " + std::to_string(i), path);
    return Done{};
  }

  Status fits(od::value value, const std::string& path, std::vector<CalibrationFit>& to) {
    return elements(value, path, kMostFits, [&](od::value v, const std::string& at) -> Status {
      CalibrationFit fit;
      KVPLAN_TRY_DO(below(v, at,
                          {{"table", name_to(fit.table)},
                           {"form", text_to(fit.form)},
                           {"parameters",
                            [&](od::value parameters, const std::string& where) {
                              return parameters_of(parameters, where, fit.parameters);
                            }},
                           {"held_out_error", decimal_to(fit.held_out_error)},
                           {"held_out_rows", whole_to(fit.held_out_rows)}}));
      if (fit.held_out_error < 0) return wrong("expected an error of at least 0", at + ".held_out_error");
      to.push_back(std::move(fit));
      return Done{};
    });
  }

  Status parameters_of(od::value value, const std::string& path, std::vector<CalibrationParameter>& to) {
    return elements(value, path, kMostColumns, [&](od::value v, const std::string& at) -> Status {
      CalibrationParameter parameter;
      KVPLAN_TRY_DO(below(v, at,
                          {{"name", name_to(parameter.name)},
                           {"value", decimal_to(parameter.value)},
                           {"unit", text_to(parameter.unit)}}));
      if (!is_parameter_unit(parameter.unit))
        return wrong("expected a unit, or two units with a slash between, found \"" + parameter.unit + "\"",
                     at + ".unit");
      to.push_back(std::move(parameter));
      return Done{};
    });
  }

  std::string_view text_;
  simdjson::padded_string padded_;
  std::string file_;
  od::parser parser_;
  od::document document_;
  std::size_t counted_{0};
  std::int64_t line_{1};
};

}  // namespace

Result<Calibration> parse_calibration(std::string_view text, const std::string& file) {
  return CalibrationReader(text, file).read();
}

Result<Calibration> read_calibration(traces::Input& input) {
  const std::string text(input.take(kMostCalibrationBytes + 1));
  if (input.failed()) return input.error();
  if (text.size() > kMostCalibrationBytes)
    return bad_input("expected a calibration of at most 64 MiB").at_file(input.path());
  return parse_calibration(text, input.path());
}

}  // namespace kvplan::io
