#include "simulator/cli/cases_input.h"

#include <algorithm>
#include <map>

#include "simulator/base/number_input.h"
#include "simulator/base/program.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/vary_input.h"
#include "simulator/sweep/draw.h"
#include "simulator/sweep/sweep.h"
#include "traces/import/csv_line.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

/// A CSV file with a column for each path and a line for each case.
class CaseLines {
 public:
  Status read(const std::string& path) {
    file_ = path;
    KVPLAN_TRY(const auto file, traces::Input::open(path));
    const auto at = [&](Error error) { return std::move(error).at_file(path).at_line(file->line_number()); };
    for (std::string_view line; file->next_line(line);) {
      if (line.find_first_not_of(' ') == std::string_view::npos) continue;
      if (std::count(line.begin(), line.end(), '"') % 2 != 0)
        return at(bad_input("a quoted field has no closing quote"));
      const std::vector<std::string> fields = traces::split_csv(line, ',');
      const Status status = varies_.empty() ? add_paths(fields) : add_case(fields, file->line_number());
      if (!status.ok()) return at(status.error());
    }
    if (file->failed()) return file->error();
    if (places_.empty())
      return bad_input("expected a header line with paths, then one line per case").at_file(path);
    return Done{};
  }
  Result<runs::Combinations> cases() {
    for (runs::Vary& vary : varies_) KVPLAN_TRY_DO(read_device_files(vary));
    return runs::Combinations::chosen(std::move(varies_), std::move(places_));
  }

 private:
  static std::string without_spaces(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
  }
  Status add_paths(const std::vector<std::string>& fields) {
    if (fields.size() > traces::kMaxColumns) return bad_input("expected fewer columns");
    for (const std::string& field : fields) {
      std::string path = without_spaces(field);
      if (path.empty()) return bad_input("expected a path as the name of each column");
      for (const runs::Vary& vary : varies_)
        if (vary.path == path) return bad_input("expected each path once, found " + path + " again");
      varies_.push_back({std::move(path), {}, file_, {}});
    }
    known_.resize(fields.size());
    return Done{};
  }
  Status add_case(const std::vector<std::string>& fields, std::int64_t line) {
    if (fields.size() != varies_.size())
      return bad_input("expected " + std::to_string(varies_.size()) + " values, found " +
                       std::to_string(fields.size()));
    if (places_.size() / varies_.size() == static_cast<std::size_t>(sweep::kMostCases))
      return bad_input("expected at most " + std::to_string(sweep::kMostCases) + " cases");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::string value = without_spaces(fields[i]);
      if (value.empty()) return bad_input("expected a value").at_field(varies_[i].path);
      std::vector<std::string>& values = varies_[i].values;
      const auto [found, added] = known_[i].try_emplace(value, static_cast<std::uint32_t>(values.size()));
      if (added) {
        values.push_back(std::move(value));
        varies_[i].lines.push_back(line);
      }
      places_.push_back(found->second);
    }
    return Done{};
  }

  std::string file_;
  std::vector<runs::Vary> varies_;
  std::vector<std::map<std::string, std::uint32_t>> known_;  // the index of each value
  std::vector<std::uint32_t> places_;
};

}  // namespace

void add_cases_options(Command& command, CasesInput& input) {
  Option* const vary = command.add_option("--vary", input.varies, kVaryHelp)->repeatable();
  vary->one_value_each();
  Option* const random =
      add_whole_number(command, "--random", {1, sweep::kMostCases},
                       "Draw this many different cases at random instead of running all combinations. A path "
                       "may then also take --vary PATH=A..B, a uniform draw between A and B with as many "
                       "decimals as they have, or PATH=A..B:log, a draw on a logarithmic scale",
                       "", [&input](std::int64_t value) { input.random = value; });
  random->needs(vary);
  add_whole_number(command, "--seed", input.seed, {0, INT64_MAX},
                   "Seed of --random: the same seed draws the same cases on every machine")
      ->needs(random);
  command
      .add_option("--cases", input.file,
                  "CSV file with one column per path and one line per case, instead of --vary")
      ->excludes(vary)
      ->excludes(random);
}

Result<runs::Combinations> read_cases(const CasesInput& input) {
  if (!input.file.empty()) {
    CaseLines lines;
    KVPLAN_TRY_DO(lines.read(input.file));
    return lines.cases();
  }
  if (input.varies.empty()) return bad_input("expected --vary or --cases");
  if (input.random == 0) {
    KVPLAN_TRY(std::vector<runs::Vary> varies, read_varies(input.varies));
    return runs::Combinations::of(std::move(varies), sweep::kMostCases);
  }
  std::vector<sweep::Spread> spreads;
  for (const std::string& text : input.varies) {
    KVPLAN_TRY(sweep::Spread spread, read_spread(text));
    spreads.push_back(std::move(spread));
  }
  return sweep::draw_cases(spreads, input.random, static_cast<std::uint64_t>(input.seed), interrupted);
}

std::string chosen_text(const CasesInput& input) {
  if (!input.file.empty()) return "lines of a file";
  if (input.random == 0) return "all combinations";
  return "drawn with seed " + std::to_string(input.seed);
}

}  // namespace kvplan::cli
