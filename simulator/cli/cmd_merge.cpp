// kvplan merge: databases of the shards of one sweep become one.
#include <memory>

#include "simulator/cli/command.h"
#include "simulator/cli/database_name.h"
#include "simulator/cli/outputs.h"
#include "simulator/sweep/database.h"
#include "simulator/sweep/database_text.h"
#include "simulator/sweep/merge.h"

namespace kvplan::cli {
namespace {

struct MergeFlags {
  std::vector<std::string> inputs;
  std::string out;
};

Status run(const MergeFlags& flags) {
  KVPLAN_TRY_DO(check_apart(flags.inputs, {flags.out}));
  KVPLAN_TRY_DO(check_database_name(flags.out, true));
  KVPLAN_TRY_DO(sweep::merge(flags.inputs, flags.out, interrupted));
  KVPLAN_TRY(sweep::Database merged, sweep::Database::open(flags.out));
  KVPLAN_TRY(const std::string text, sweep::database_text(merged));
  return write_text("-", text);
}

}  // namespace

void add_merge(Command& app, Outcome& outcome) {
  Command* const command = app.add_subcommand("merge", "Merge the databases of the shards of one sweep");
  auto flags = std::make_shared<MergeFlags>();
  command->add_option("databases", flags->inputs, "Databases of kvplan sweep")->required();
  command->add_option("--out", flags->out, "The database to write; it must not exist yet")->required();
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
