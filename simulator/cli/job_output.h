// `kvplan sweep --sbatch FILE`, `--kubernetes FILE`: not a run, but a file with which a cluster runs the same sweep
// (sweep/job.h).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/base/result.h"

namespace CLI {
class App;  // <CLI/CLI.hpp>, for the .cpp files
}

namespace kvplan::cli {

struct JobInput {
  std::string sbatch, kubernetes;  ///< files; empty: not asked for
  std::int64_t shards{0};
  std::string image, claim;
  [[nodiscard]] bool any() const { return !sbatch.empty() || !kubernetes.empty(); }
};

/// --shards, --sbatch, --kubernetes, --image and --claim. The place must live as long as the command.
void add_job_options(CLI::App& command, JobInput& input);

/// Writes what is asked for. `command`: kvplan sweep, whose options were read; the tasks get all of them but those that
/// say which part of the sweep is run, and where to. Errors: a file cannot be written, a name that no line can hold.
Status write_jobs(const CLI::App& command, const JobInput& input, const std::string& out,
                  std::int64_t threads);

}  // namespace kvplan::cli
