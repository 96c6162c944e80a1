#include "simulator/cli/number_option.h"

#include <algorithm>
#include <thread>

#include "simulator/base/json_writer.h"

namespace kvplan::cli {
namespace {

/// Adds an option with one text, which `read` accepts or rejects.
Option* add_text(Command& command, const std::string& name, const std::string& help,
                 const std::string& shown_default, const char* type,
                 std::function<Status(const std::string&)> read) {
  return command.add_function(name, std::move(read), help)->type_name(type)->default_str(shown_default);
}

}  // namespace

Option* add_whole_number(Command& command, const std::string& name, WholeRange range, const std::string& help,
                         const std::string& shown_default, std::function<void(std::int64_t)> set) {
  return add_text(command, name, help, shown_default, "N",
                  [range, set = std::move(set)](const std::string& text) -> Status {
                    KVPLAN_TRY(const std::int64_t value, read_whole_number(text, range));
                    set(value);
                    return Done{};
                  });
}

void add_layer_threads(Command& command, int& threads) {
  constexpr std::int64_t kMost = 1024;
  threads = static_cast<int>(std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, kMost));
  add_whole_number(command, "--threads", {1, kMost},
                   "Layers of sequences that are computed at once; the results do not depend on it",
                   "all cores", [&threads](std::int64_t count) { threads = static_cast<int>(count); });
}

Option* add_number(Command& command, const std::string& name, double& to, NumberRange range,
                   const std::string& help) {
  return add_text(command, name, help, shortest(to), "X", [range, &to](const std::string& text) -> Status {
    KVPLAN_TRY(to, read_number(text, range));
    return Done{};
  });
}

Result<std::vector<std::int64_t>> different_numbers(const std::string& text, WholeRange range,
                                                    std::string_view field) {
  std::vector<std::int64_t> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto read = read_whole_number(text.substr(begin, end - begin), range);
    if (!read.ok()) return bad_input(read.error().message).at_field(field);
    if (std::find(out.begin(), out.end(), read.value()) != out.end())
      return bad_input(std::to_string(read.value()) + " is given twice").at_field(field);
    out.push_back(read.value());
    begin = end + 1;
  }
  return out;
}

}  // namespace kvplan::cli
