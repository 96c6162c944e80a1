#include "simulator/cli/vary_input.h"

#include "traces/io/input.h"

namespace kvplan::cli {

Result<std::string> with_values(const std::string& text) {
  const std::size_t at = text.find("=@");
  if (at == std::string::npos || at != text.find('=')) return text;
  KVPLAN_TRY(const auto file, traces::Input::open(text.substr(at + 2)));
  std::string values;
  for (std::string_view line; file->next_line(line);)
    if (line.find_first_not_of(' ') != std::string_view::npos)
      values.append(values.empty() ? "" : ";").append(line);
  if (file->failed()) return file->error();
  if (values.empty()) return bad_input("expected values, one per line").at_file(text.substr(at + 2));
  return text.substr(0, at + 1) + values;
}

Result<std::vector<plan::Vary>> read_varies(const std::vector<std::string>& texts) {
  std::vector<plan::Vary> varies;
  for (const std::string& text : texts) {
    KVPLAN_TRY(const std::string whole, with_values(text));
    KVPLAN_TRY(plan::Vary vary, plan::parse_vary(whole));
    varies.push_back(std::move(vary));
  }
  return varies;
}

}  // namespace kvplan::cli
