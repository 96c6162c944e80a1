#include "simulator/cli/job_output.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/sweep/job.h"

namespace kvplan::cli {
namespace {

/// Options that each task sets for itself, and options about the job.
constexpr std::array<std::string_view, 9> kOwn{"--out",        "--shard",  "--threads",
                                               "--resume",     "--shards", "--sbatch",
                                               "--kubernetes", "--image",  "--claim"};

/// The options that were given, in a form that can be given again.
std::vector<std::string> arguments_of(const Command& command) {
  std::vector<std::string> positionals, options;
  for (const Option* option : command.options()) {
    if (!option->given()) continue;
    const std::string name = option->name();
    if (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) continue;
    for (const std::string& value : option->values()) {
      if (option->positional()) {
        positionals.push_back(value);
        continue;
      }
      options.push_back(name);
      if (option->takes_value()) options.push_back(value);
    }
  }
  positionals.insert(positionals.end(), options.begin(), options.end());
  return positionals;
}

/// A path of this program that does not depend on the working directory.
std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "kvplan" : path.string();
}

}  // namespace

void add_job_options(Command& command, JobInput& input) {
  Option* const shards = add_whole_number(command, "--shards", {1, 100'000},
                                          "Number of tasks of the job that --sbatch or --kubernetes writes; "
                                          "each task runs one shard of the cases",
                                          "", [&input](std::int64_t value) { input.shards = value; });
  Option* const sbatch = command.add_option(
      "--sbatch", input.sbatch,
      "Run nothing, and write a script for Slurm's sbatch: an array job with one task per shard");
  sbatch->needs(shards);
  Option* const kubernetes = command.add_option(
      "--kubernetes", input.kubernetes,
      "Run nothing, and write a manifest of a Kubernetes indexed Job with one index per shard");
  kubernetes->needs(shards);
  Option* const image = command.add_option(
      "--image", input.image, "Container image of the --kubernetes Job; it must contain kvplan and a shell");
  Option* const claim = command.add_option(
      "--claim", input.claim, "PersistentVolumeClaim of the --kubernetes Job, for input files and databases");
  image->needs(kubernetes);
  claim->needs(kubernetes);
  kubernetes->needs(image)->needs(claim);
}

Status write_jobs(const Command& command, const JobInput& input, const std::string& out,
                  std::int64_t threads) {
  sweep::Job job{own_path(), arguments_of(command), out, input.shards, threads};
  for (const std::string* name : {&out, &input.image, &input.claim})
    if (std::any_of(name->begin(), name->end(), [](char c) { return static_cast<unsigned char>(c) < 32; }))
      return bad_input("expected a name without control characters");
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(input.sbatch, sweep::slurm_script(job)));
  if (!input.kubernetes.empty()) {
    job.program = "kvplan";
    KVPLAN_TRY_DO(outputs.add(input.kubernetes, sweep::kubernetes_manifest(job, {input.image, input.claim})));
  }
  return outputs.commit();
}

}  // namespace kvplan::cli
