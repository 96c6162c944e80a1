#include "simulator/scenario/vary.h"

#include <algorithm>
#include <array>
#include <set>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/scenario/plain_decimal.h"

namespace kvplan::runs {
namespace {

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The values given by one text between semicolons.
Result<std::vector<std::string>> values_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos || !looks_like_number(text.substr(0, dots)))
    return std::vector<std::string>{std::string(text)};
  const std::string_view rest = text.substr(dots + 2);
  const std::size_t colon = rest.find(':');
  const std::array<std::string_view, 3> parts{
      text.substr(0, dots), rest.substr(0, colon),
      colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1)};
  if (!std::all_of(parts.begin(), parts.end(), is_plain_decimal)) {
    const bool others = std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
      return looks_like_number(part) && !is_plain_decimal(part);
    });
    return not_expected(
        others ? "A..B:STEP with numbers from 0 on, as digits with or without a point" : "A..B:STEP", text);
  }
  std::size_t decimals = 0;
  for (const std::string_view part : parts) decimals = std::max(decimals, decimals_of(part));
  const auto begin = scaled_decimal(parts[0], decimals);
  const auto end = scaled_decimal(parts[1], decimals);
  const auto step = scaled_decimal(parts[2], decimals);
  if (!begin || !end || !step) return not_expected("a range of numbers that fit 63 bits", text);
  if (*step == 0 || *begin > *end) return not_expected("A..B:STEP with A at most B and STEP above 0", text);
  const std::int64_t more = (*end - *begin) / *step;
  if (more >= kMostValues)
    return not_expected("a range of at most " + std::to_string(kMostValues) + " values", text);
  std::vector<std::string> values;
  for (std::int64_t i = 0; i <= more; ++i) values.push_back(decimal_text(*begin + i * *step, decimals));
  return values;
}

/// Adds the place from which value `k` was read, unless it was the command line.
Error at_vary(Error error, const Vary& vary, std::size_t k) {
  if (error.field.empty()) error.field = vary.file.empty() ? "--vary" : vary.path;
  if (vary.file.empty() || !error.file.empty()) return error;
  return std::move(error).at_file(vary.file).at_line(vary.lines[k]);
}

}  // namespace

Result<Vary> parse_vary(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return not_expected("PATH=VALUE;VALUE;...", text).at_field("--vary");
  Vary vary{std::string(text.substr(0, equals)), {}};
  std::set<std::string> seen;
  std::string_view rest = text.substr(equals + 1);
  while (true) {
    const std::size_t semicolon = rest.find(';');
    const std::string_view part = without_spaces(rest.substr(0, semicolon));
    if (part.empty()) return bad_input("expected a value between semicolons").at_field("--vary " + vary.path);
    Result<std::vector<std::string>> values = values_of(part);
    if (!values) return std::move(values).error().at_field("--vary " + vary.path);
    for (std::string& value : values.value()) {
      if (!seen.insert(value).second)
        return bad_input("expected each value once, found " + found_text(value) + " again")
            .at_field("--vary " + vary.path);
      if (static_cast<std::int64_t>(seen.size()) > kMostValues)
        return bad_input("expected at most " + std::to_string(kMostValues) + " values")
            .at_field("--vary " + vary.path);
      vary.values.push_back(std::move(value));
    }
    if (semicolon == std::string_view::npos) return vary;
    rest = rest.substr(semicolon + 1);
  }
}

namespace {

Status check_paths_differ(const std::vector<Vary>& varies) {
  std::set<std::string_view> seen;
  for (const Vary& vary : varies)
    if (!seen.insert(vary.path).second)
      return bad_input("expected each path once, found " + vary.path + " again").at_field("--vary");
  return Done{};
}

}  // namespace

Result<Combinations> Combinations::of(std::vector<Vary> varies, std::int64_t most) {
  KVPLAN_TRY_DO(check_paths_differ(varies));
  Combinations all(std::move(varies));
  for (const Vary& vary : all.varies_) {
    KVPLAN_CHECK(!vary.values.empty());
    all.count_ *= static_cast<std::int64_t>(vary.values.size());
    if (all.count_ > most)
      return bad_input("expected at most " + std::to_string(most) + " variants").at_field("--vary");
  }
  return all;
}

Result<Combinations> Combinations::chosen(std::vector<Vary> varies, std::vector<std::uint32_t> places) {
  KVPLAN_TRY_DO(check_paths_differ(varies));
  KVPLAN_CHECK(!varies.empty() && !places.empty() && places.size() % varies.size() == 0);
  for (std::size_t i = 0; i < places.size(); ++i)
    KVPLAN_CHECK(places[i] < varies[i % varies.size()].values.size());
  Combinations some(std::move(varies));
  some.count_ = static_cast<std::int64_t>(places.size() / some.varies_.size());
  some.chosen_ = std::move(places);
  return some;
}

std::vector<std::size_t> Combinations::places(std::int64_t number) const {
  KVPLAN_CHECK(number >= 0 && number < count_);
  std::vector<std::size_t> places(varies_.size());
  auto rest = static_cast<std::size_t>(number);
  if (!chosen_.empty()) {
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = chosen_[rest * places.size() + i];
    return places;
  }
  for (std::size_t i = varies_.size(); i-- > 0; rest /= varies_[i].values.size())
    places[i] = rest % varies_[i].values.size();
  return places;
}

Varied Combinations::at(std::int64_t number) const {
  const std::vector<std::size_t> places = this->places(number);
  Varied varied;
  for (std::size_t i = 0; i < places.size(); ++i)
    varied.emplace_back(varies_[i].path, varies_[i].values[places[i]]);
  return varied;
}

std::vector<Setting> Combinations::settings(const std::vector<Setting>& settings, std::int64_t number) const {
  std::vector<Setting> all = settings;
  for (auto& [path, value] : at(number)) {
    all.push_back({std::move(path), std::move(value), {}, 0});
    all.back().option = "--vary";
  }
  return all;
}

ValueCheck::ValueCheck(const Combinations& combinations) : combinations_(combinations) {
  for (const Vary& vary : combinations.varies()) values_.emplace_back(vary.values.size());
}

void ValueCheck::told(std::int64_t number, const Error* error) {
  const std::vector<std::size_t> places = combinations_.places(number);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Value& value = values_[i][places[i]];
    if (error == nullptr) {
      value.read = true;
      value.refused.reset();
    } else if (!value.read && !value.refused) {
      value.refused = *error;
    }
  }
}

Status ValueCheck::slips(const std::vector<Setting>& settings) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Vary& vary = combinations_.varies()[i];
    for (std::size_t k = 0; k < vary.values.size(); ++k) {
      if (values_[i][k].read || !values_[i][k].refused) continue;
      std::vector<Setting> alone = settings;
      alone.push_back({vary.path, vary.values[k], {}, 0});
      if (!resolve(alone).ok()) return at_vary(*values_[i][k].refused, vary, k);
    }
  }
  return Done{};
}

}  // namespace kvplan::runs
