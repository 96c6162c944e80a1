// The program `kvplan`: one line per command.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/base/program.h"
#include "simulator/base/version.h"
#include "simulator/cli/command.h"
#include "simulator/cli/options.h"
#include "simulator/cli/word_check.h"

namespace kvplan::cli {
namespace {

/// The arguments in reverse order, as the library needs them. `--name=` means an empty value, for which the library
/// would take the next argument. `help COMMAND` means `COMMAND --help`.
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

/// Rejects empty texts: one would count as not given, or as a file without a name. (Numbers have their own error
/// text.)
void refuse_empty_values(Command& program) {
  for (Option* const option : program.options())
    if (option->takes_text()) option->not_empty();
  for (const auto& command : program.commands()) refuse_empty_values(*command);
}

int fail(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  print_error(bad_input(message), " (see --help)");
  return static_cast<int>(ErrorKind::kBadInput);
}

struct Adder {
  std::string_view name;  ///< first word of its command line
  void (*add)(Command& app, Outcome& outcome);
};
/// The commands in the order of `kvplan --help`.
constexpr std::array<Adder, 21> kAdders{{
    {"bytes", add_bytes},
    {"cache", add_cache},
    {"run", add_run},
    {"scenario", add_scenario},
    {"plan", add_plan},
    {"compare", add_compare},
    {"check", add_check},
    {"sweep", add_sweep},
    {"merge", add_merge},
    {"report", add_report},
    {"convert", add_convert},
    {"list", add_list},
    {"pool", add_pool},
    {"trace", add_trace},
    {"evict", add_evict},
    {"budget", add_budget},
    {"format", add_format},
    {"frontier", add_frontier},
    {"attention", add_attention},
    {"calibration", add_calibration},
    {"latency", add_latency},
}};

/// Adds only the command that `first` names, since adding the options of all others takes a fifth of the time of a
/// small run; if it names none, adds all commands, for their list and for suggestions.
void add_commands(Command& app, Outcome& outcome, std::string_view first) {
  const auto named =
      std::find_if(kAdders.begin(), kAdders.end(), [&](const Adder& adder) { return adder.name == first; });
  if (named != kAdders.end()) return named->add(app, outcome);
  for (const Adder& adder : kAdders) adder.add(app, outcome);
}

int run(int argc, char** argv) {
  CommandLine line(
      "kvplan", "kvplan: where the KV-cache bytes of an LLM server go, and what another policy would change",
      "kvplan " + std::string(kVersion));
  Command& app = line.program();
  app.require_subcommand();
  app.footer("With KVPLAN_ERRORS=json in the environment, an error is one line of JSON for other programs.");
  Outcome outcome;
  std::vector<std::string> words = arguments(argc, argv);
  add_commands(app, outcome, words.empty() ? std::string_view() : words.back());
  refuse_empty_values(app);

  const Status known = check_words(app, {words.rbegin(), words.rend()});
  if (!known.ok()) return fail(known.error().message);
  const auto text = line.run(std::move(words));
  if (!text.ok()) return fail(text.error().message);
  if (!text.value().empty()) report(write_text("-", text.value()), outcome);
  return outcome.exit_code;
}

}  // namespace
}  // namespace kvplan::cli

int main(int argc, char** argv) {
  kvplan::begin_program();
  return kvplan::cli::run(argc, argv);
}
