#include "simulator/cli/vary_input.h"

#include <optional>
#include <set>
#include <utility>

#include "simulator/base/number_input.h"
#include "simulator/io/device_file.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

/// An option PATH=@FILE, with the lines of the file that are not empty.
struct ValueFile {
  std::string path, file;
  std::vector<std::pair<std::int64_t, std::string>> lines;  ///< line number and text

  [[nodiscard]] Error at(Error error, std::size_t line) const {
    return std::move(error).at_file(file).at_line(lines[line].first);
  }
};

/// Returns nothing if the text is not PATH=@FILE. Errors: the file cannot be read.
Result<std::optional<ValueFile>> open_values(const std::string& text) {
  const std::size_t at = text.find("=@");
  if (at == std::string::npos || at != text.find('=')) return std::optional<ValueFile>();
  ValueFile out{text.substr(0, at), text.substr(at + 2), {}};
  KVPLAN_TRY(const auto file, traces::Input::open(out.file));
  for (std::string_view line; file->next_line(line);)
    if (line.find_first_not_of(' ') != std::string_view::npos)
      out.lines.emplace_back(file->line_number(), std::string(line));
  if (file->failed()) return file->error();
  if (out.lines.empty()) return bad_input("expected values, one per line").at_file(out.file);
  return std::optional(std::move(out));
}

Result<runs::Vary> vary_of(const ValueFile& from) {
  runs::Vary all{from.path, {}, from.file, {}};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < from.lines.size(); ++i) {
    auto part = runs::parse_vary(from.path + "=" + from.lines[i].second);
    if (!part.ok()) return from.at(std::move(part).error(), i);
    for (std::string& value : part.value().values) {
      const auto wrong = [&](std::string message) {
        return from.at(bad_input(std::move(message)).at_field("--vary " + from.path), i);
      };
      if (!seen.insert(value).second)
        return wrong("expected each value once, found " + found_text(value) + " again");
      if (static_cast<std::int64_t>(seen.size()) > runs::kMostValues)
        return wrong("expected at most " + std::to_string(runs::kMostValues) + " values");
      all.values.push_back(std::move(value));
      all.lines.push_back(from.lines[i].first);
    }
  }
  return all;
}

}  // namespace

Status read_device_files(runs::Vary& vary) {
  if (vary.path != "deployment.device") return Done{};
  for (std::string& value : vary.values) {
    KVPLAN_TRY(value, io::device_text(value));
  }
  return Done{};
}

Result<runs::Vary> read_vary(const std::string& text) {
  KVPLAN_TRY(const auto file, open_values(text));
  KVPLAN_TRY(runs::Vary vary, file ? vary_of(*file) : runs::parse_vary(text));
  KVPLAN_TRY_DO(read_device_files(vary));
  return vary;
}

Result<std::vector<runs::Vary>> read_varies(const std::vector<std::string>& texts) {
  std::vector<runs::Vary> varies;
  for (const std::string& text : texts) {
    KVPLAN_TRY(runs::Vary vary, read_vary(text));
    varies.push_back(std::move(vary));
  }
  return varies;
}

namespace {

Result<sweep::Spread> parsed_spread(const std::string& text) {
  KVPLAN_TRY(const auto file, open_values(text));
  if (!file) return sweep::parse_spread(text);
  if (file->lines.size() == 1) {
    auto spread = sweep::parse_spread(file->path + "=" + file->lines.front().second);
    if (!spread.ok()) return file->at(std::move(spread).error(), 0);
    if (spread.value().of.values.empty()) return spread;
  }
  KVPLAN_TRY(runs::Vary vary, vary_of(*file));
  return sweep::Spread{.of = std::move(vary)};
}

}  // namespace

Result<sweep::Spread> read_spread(const std::string& text) {
  KVPLAN_TRY(sweep::Spread spread, parsed_spread(text));
  KVPLAN_TRY_DO(read_device_files(spread.of));
  return spread;
}

}  // namespace kvplan::cli
