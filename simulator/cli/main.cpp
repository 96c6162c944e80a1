// The program `kvplan`: one line per command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/base/version.h"
#include "simulator/cli/command.h"

namespace kvplan::cli {
namespace {

/// The arguments, last first as the library takes them. `--name=` is an empty value, for which the library
/// would take the next argument.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    const bool empty_value = text.size() > 3 && text.starts_with("--") && text.find('=') == text.size() - 1;
    if (empty_value) text.pop_back();
    out.push_back(std::move(text));
    if (empty_value) out.emplace_back();
  }
  std::reverse(out.begin(), out.end());
  return out;
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

int fail(const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "kvplan: %s (see --help)\n", bad_input(message).to_string().c_str());
  return static_cast<int>(ErrorKind::kBadInput);
}

int run(int argc, char** argv) {
  CLI::App app{
      "kvplan: where the KV-cache bytes of an LLM server go, and what another policy would do with them",
      "kvplan"};
  app.set_version_flag("--version", "kvplan " + std::string(kVersion));
  app.require_subcommand(1);
  Outcome outcome;
  add_cache(app, outcome);
  add_run(app, outcome);
  add_compare(app, outcome);
  add_convert(app, outcome);
  add_list(app, outcome);
  add_trace(app, outcome);
  add_evict(app, outcome);
  add_attention(app, outcome);
  refuse_empty_values(app);

  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(error);
    std::ostringstream text;  // of --help or --version
    app.exit(error, text, text);
    report(write_text("-", text.str()), outcome);
  }
  return outcome.exit_code;
}

}  // namespace
}  // namespace kvplan::cli

int main(int argc, char** argv) {
  kvplan::cli::watch_interrupts();  // first of all: from here on Ctrl-C leaves outputs absent or whole
  return kvplan::cli::run(argc, argv);
}
