// The program `kvplan`: one line per command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "simulator/cli/command.h"

int main(int argc, char** argv) {
  using namespace kvplan::cli;
  CLI::App app{
      "kvplan: where the KV-cache bytes of an LLM server go, and what another policy would do with them"};
  app.set_version_flag("--version", std::string("kvplan ") + KVPLAN_VERSION);
  app.require_subcommand(1);
  watch_interrupts();
  Outcome outcome;
  add_cache(app, outcome);
  add_run(app, outcome);
  add_compare(app, outcome);
  add_convert(app, outcome);
  add_list(app, outcome);
  add_trace(app, outcome);
  add_evict(app, outcome);
  add_attention(app, outcome);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::fprintf(stderr, "kvplan: %s (see --help)\n", message.c_str());
    return 2;
  }
  return outcome.exit_code;
}
