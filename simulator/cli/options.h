// Commands and options of the command line: a thin layer over CLI11 (2.x), which parses the words and writes --help.
// Its header takes seconds to compile, so only options.cpp includes it. Commands and options live as long as the
// CommandLine.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kvplan::cli {

/// An option, a flag or a positional argument. Setters return the option, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option* required(bool required = true);
  /// --help shows this as the default; empty: none.
  Option* default_str(const std::string& shown);
  /// --help shows the variable's present value as the default.
  Option* capture_default_str();
  /// The name of the value in --help.
  Option* type_name(const std::string& name);
  /// Number of values; -1: any number, at least one.
  Option* expected(int values);
  /// The option may be given several times; each time adds one value.
  Option* repeatable();
  /// For a list: it takes one value each time the option is given.
  Option* one_value_each();
  /// Any value outside this list is an error.
  Option* one_of(std::vector<std::string> values);
  /// An empty value is an error.
  Option* not_empty();
  /// Giving this option without `other` is an error.
  Option* needs(const Option* other);
  /// Giving both options is an error.
  Option* excludes(const Option* other);
  /// The option's function is called as soon as it is parsed, before required options are checked.
  Option* read_at_once();

  /// "--output" of "-o,--output".
  [[nodiscard]] std::string name() const;
  /// All names by which it can be given: "--output" and "-o". Empty for a positional argument.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Least number of values that it takes each time it is given.
  [[nodiscard]] int least_values() const;
  [[nodiscard]] int most_values() const;
  [[nodiscard]] bool positional() const;
  [[nodiscard]] bool takes_value() const;
  /// True: it takes any text: it has no type_name of its own and is not a flag.
  [[nodiscard]] bool takes_text() const;
  [[nodiscard]] bool given() const;
  /// The given values, unchanged.
  [[nodiscard]] std::vector<std::string> values() const;

 private:
  CLI::Option* option_;
};

/// The program, one of its commands, or a sub-command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// `names` as "-o,--output"; without a dash a positional argument. The variable holds the default and must live as
  /// long as the command.
  Option* add_option(const std::string& names, std::string& to, const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::string>& to, const std::string& help);
  /// An option with one value, which `read` accepts or rejects; its error names the option.
  Option* add_function(const std::string& names, std::function<Status(const std::string&)> read,
                       const std::string& help);
  /// An option that may be given several times, each time with one value; `read` gets all of them.
  Option* add_list_function(const std::string& names,
                            std::function<void(const std::vector<std::string>&)> read,
                            const std::string& help);
  Option* add_flag(const std::string& names, bool& to, const std::string& help);
  /// A flag that calls `give` when it is given.
  Option* add_flag_function(const std::string& names, std::function<void()> give, const std::string& help);
  Command* add_subcommand(const std::string& name, const std::string& help);

  /// One of its sub-commands has to be given.
  void require_subcommand();
  /// Written below --help.
  void footer(const std::string& text);
  /// Called once the command line is parsed and this command was chosen.
  void callback(std::function<void()> body);

  [[nodiscard]] std::string name() const;
  /// The options in the order in which they were added; without --help and --version.
  [[nodiscard]] std::vector<Option*> options();
  [[nodiscard]] std::vector<const Option*> options() const;
  /// An option that was added. `name`: see Option::name().
  [[nodiscard]] const Option& option(const std::string& name) const;
  [[nodiscard]] const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }

 private:
  Option* keep(CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;
  std::vector<std::unique_ptr<Command>> commands_;
};

class CommandLine {
 public:
  /// `about`: first line of --help; `version`: output of --version.
  CommandLine(const std::string& name, const std::string& about, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command& program() { return *program_; }
  /// Parses the words and calls the chosen command's callback. `last_first`: the words after the program's name in
  /// reverse order. Returns the text of --help or --version if asked for, else an empty text. Errors: invalid words,
  /// in CLI11's wording.
  Result<std::string> run(std::vector<std::string> last_first);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command> program_;
};

}  // namespace kvplan::cli
