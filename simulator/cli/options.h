// Commands and options of the command line: a face of CLI11 (2.x), which reads the words and writes --help. Its header
// takes seconds to compile, so options.cpp alone includes it. Commands and options live as long as the CommandLine.
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

/// An option, a flag or a positional argument. What changes one returns it, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option* required(bool required = true);
  /// --help shows this as the default; empty: none.
  Option* default_str(const std::string& shown);
  /// --help shows what the variable holds now as the default.
  Option* capture_default_str();
  /// --help calls the value so.
  Option* type_name(const std::string& name);
  /// So many values; -1: any number, at least one.
  Option* expected(int values);
  /// It may be given again, and all values count: one each time.
  Option* repeatable();
  /// A list takes one value each time that the option is given.
  Option* one_value_each();
  /// Any other value is an error.
  Option* one_of(std::vector<std::string> values);
  /// An empty value is an error.
  Option* not_empty();
  /// It is an error to give this one without `other`.
  Option* needs(const Option* other);
  /// It is an error to give both.
  Option* excludes(const Option* other);
  /// Its function is called as soon as it is read, before what is required is checked.
  Option* read_at_once();

  /// "--output" of "-o,--output".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool positional() const;
  [[nodiscard]] bool takes_value() const;
  /// It takes texts, that is, has no type_name of its own and is no flag.
  [[nodiscard]] bool takes_text() const;
  [[nodiscard]] bool given() const;
  /// What was given, as it stood there.
  [[nodiscard]] std::vector<std::string> values() const;

 private:
  CLI::Option* option_;
};

/// The program, or a command of it, or a command of that.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// `names` as "-o,--output"; without a dash a positional argument. The variable must live as long as the command;
  /// what it holds is the default.
  Option* add_option(const std::string& names, std::string& to, const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::string>& to, const std::string& help);
  /// An option of one value, which `read` takes or refuses; its error names the option.
  Option* add_function(const std::string& names, std::function<Status(const std::string&)> read,
                       const std::string& help);
  Option* add_flag(const std::string& names, bool& to, const std::string& help);
  Command* add_subcommand(const std::string& name, const std::string& help);

  /// One of its commands has to be given.
  void require_subcommand();
  /// Written below --help.
  void footer(const std::string& text);
  /// Called once the command line is understood and this command was chosen.
  void callback(std::function<void()> body);

  [[nodiscard]] std::string name() const;
  /// In the order in which they were added; --help and --version are not among them.
  [[nodiscard]] std::vector<Option*> options();
  [[nodiscard]] std::vector<const Option*> options() const;
  /// One that was added. `name`: see Option::name().
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
  /// `about` heads --help; `version` is what --version prints.
  CommandLine(const std::string& name, const std::string& about, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command& program() { return *program_; }
  /// Reads the words and calls the chosen command's callback. `last_first`: the words after the program's name, the
  /// last one first. The text is that of --help or --version where one was asked for, else empty. Errors: words that
  /// are not understood, in CLI11's words.
  Result<std::string> run(std::vector<std::string> last_first);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command> program_;
};

}  // namespace kvplan::cli
