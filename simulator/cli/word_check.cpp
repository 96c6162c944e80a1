#include "simulator/cli/word_check.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "simulator/base/suggest.h"

namespace kvplan::cli {
namespace {

constexpr std::string_view kHelp[] = {"--help", "-h", "--version"};

/// The command that the leading words name; removes these words from `words`.
Result<const Command*> chosen_command(const Command& program, std::vector<std::string>& words) {
  const Command* at = &program;
  auto word = words.begin();
  for (; word != words.end(); ++word) {
    if (at->commands().empty() || word->starts_with("-")) break;
    std::vector<std::string> names;
    names.reserve(at->commands().size());
    for (const auto& command : at->commands()) names.push_back(command->name());
    const auto found = std::find(names.begin(), names.end(), *word);
    if (found == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return bad_input(unknown_name("command", *word, known));
    }
    at = at->commands()[static_cast<std::size_t>(found - names.begin())].get();
  }
  words.erase(words.begin(), word);
  return at;
}

/// The option's name in "--name", "--name=value" and "-nvalue"; empty for other words.
std::string_view option_name(std::string_view word) {
  if (word.size() > 2 && word.starts_with("--")) return word.substr(0, word.find('='));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return word.size() > 1 && word[0] == '-' && is_letter(word[1]) ? word.substr(0, 2) : std::string_view();
}

const Option* find_option(const Command& command, std::string_view name) {
  for (const Option* option : command.options()) {
    const auto names = option->names();
    if (std::find(names.begin(), names.end(), name) != names.end()) return option;
  }
  return nullptr;
}

int most_arguments(const Command& command) {
  int most = 0;
  for (const Option* option : command.options())
    if (option->positional())
      most = option->most_values() > std::numeric_limits<int>::max() - most ? std::numeric_limits<int>::max()
                                                                            : most + option->most_values();
  return most;
}

/// "--threads= 2": an option with an empty value, and the argument right after it. Both empty: there is no such pair.
struct Parted {
  std::string option, argument;
};

Error unexpected(const Command& command, const std::vector<std::string>& words, const Parted& parted) {
  std::string text = words.size() == 1 ? "The following argument was not expected:"
                                       : "The following arguments were not expected:";
  for (const std::string& word : words) text += " " + word;
  if (!parted.option.empty())
    return bad_input(text + "; " + parted.option + "= has no value: write " + parted.option + "=" +
                     parted.argument + ", without a space");
  std::vector<std::string> names;
  for (const Option* option : command.options())
    for (std::string& name : option->names()) names.push_back(std::move(name));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = nearest_name(option_name(words.front()), known);
  if (!near.empty()) text.append("; did you mean ").append(near).append("?");
  return bad_input(std::move(text));
}

}  // namespace

Status check_words(const Command& program, const std::vector<std::string>& all) {
  std::vector<std::string> words = all;
  KVPLAN_TRY(const Command* const command, chosen_command(program, words));
  std::vector<std::string> none_takes;
  int arguments = 0;
  int to_option = 0;   // how many of the next words are values of the latest option
  bool maybe = false;  // whether further words may be its values too
  bool only_arguments = false;
  std::string empty_option;  // the option before this word, if its value is empty
  Parted parted;
  for (const std::string& word : words) {
    if (to_option > 0) {
      --to_option;
      if (!word.empty()) empty_option.clear();
      continue;
    }
    const std::string before = std::exchange(empty_option, {});
    const std::string_view name = only_arguments ? std::string_view() : option_name(word);
    if (word == "--" && !only_arguments) {
      only_arguments = true;
      maybe = false;
    } else if (name.empty()) {
      if (!before.empty() && parted.option.empty()) parted = {before, word};
      if (!maybe && ++arguments > most_arguments(*command)) none_takes.push_back(word);
    } else if (const Option* const option = find_option(*command, name); option != nullptr) {
      const bool has_value = word.size() > name.size();
      to_option = std::max(option->least_values() - (has_value ? 1 : 0), 0);
      maybe = option->most_values() > std::max(option->least_values(), 1);
      if (to_option == 1) empty_option = name;
    } else {
      if (std::find(std::begin(kHelp), std::end(kHelp), name) != std::end(kHelp)) return Done{};
      none_takes.push_back(word);
      maybe = false;
    }
  }
  if (none_takes.empty()) return Done{};
  return unexpected(*command, none_takes, parted);
}

}  // namespace kvplan::cli
