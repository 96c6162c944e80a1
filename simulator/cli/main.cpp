// The program `kvplan`: one line per command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/program.h"
#include "simulator/base/suggest.h"
#include "simulator/base/version.h"
#include "simulator/cli/command.h"

namespace kvplan::cli {
namespace {

/// The arguments, last first as the library takes them. `--name=` is an empty value, for which the library
/// would take the next argument. `help COMMAND` is `COMMAND --help`.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out;
  const bool help = argc > 1 && std::string_view(argv[1]) == "help";
  for (int i = help ? 2 : 1; i < argc; ++i) {
    std::string text = argv[i];
    const bool empty_value = text.size() > 3 && text.starts_with("--") && text.find('=') == text.size() - 1;
    if (empty_value) text.pop_back();
    out.push_back(std::move(text));
    if (empty_value) out.emplace_back();
  }
  if (help) out.emplace_back("--help");
  std::reverse(out.begin(), out.end());
  return out;
}

/// The leading words are commands that there are, as far as their kind has any. `last_first`: see arguments().
Status check_commands(const CLI::App& app, const std::vector<std::string>& last_first) {
  const CLI::App* at = &app;
  for (auto word = last_first.rbegin(); word != last_first.rend(); ++word) {
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty() || word->starts_with("-")) break;
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    const auto found = std::find(names.begin(), names.end(), *word);
    if (found == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return bad_input(unknown_name("command", *word, known));
    }
    at = commands[static_cast<std::size_t>(found - names.begin())];
  }
  return Done{};
}

/// No text is given empty: it would count as not given, or as a file without a name. (Numbers say themselves
/// what they expect.)
void refuse_empty_values(CLI::App& app) {
  const auto filled = [](const std::string& text) {
    return text.empty() ? std::string("expected a value, found nothing") : std::string();
  };
  for (CLI::Option* const option : app.get_options({}))
    if (option->get_type_name().starts_with("TEXT")) option->check(filled);
  for (CLI::App* const command : app.get_subcommands({})) refuse_empty_values(*command);
}

int fail(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  print_error(bad_input(message), " (see --help)");
  return static_cast<int>(ErrorKind::kBadInput);
}

int run(int argc, char** argv) {
  CLI::App app{
      "kvplan: where the KV-cache bytes of an LLM server go, and what another policy would do with them",
      "kvplan"};
  app.set_version_flag("--version", "kvplan " + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(
      "With KVPLAN_ERRORS=json in the environment an error is a line of JSON, for programs that read it.");
  Outcome outcome;
  add_bytes(app, outcome);
  add_cache(app, outcome);
  add_run(app, outcome);
  add_compare(app, outcome);
  add_sweep(app, outcome);
  add_merge(app, outcome);
  add_report(app, outcome);
  add_convert(app, outcome);
  add_list(app, outcome);
  add_pool(app, outcome);
  add_trace(app, outcome);
  add_evict(app, outcome);
  add_budget(app, outcome);
  add_format(app, outcome);
  add_frontier(app, outcome);
  add_attention(app, outcome);
  add_calibration(app, outcome);
  add_latency(app, outcome);
  refuse_empty_values(app);

  std::vector<std::string> words = arguments(argc, argv);
  const Status commands = check_commands(app, words);
  if (!commands.ok()) return fail(commands.error().message);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(error.what());
    std::ostringstream text;  // of --help or --version
    app.exit(error, text, text);
    report(write_text("-", text.str()), outcome);
  }
  return outcome.exit_code;
}

}  // namespace
}  // namespace kvplan::cli

int main(int argc, char** argv) {
  kvplan::begin_program();
  return kvplan::cli::run(argc, argv);
}
