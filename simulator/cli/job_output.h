// `kvplan sweep --sbatch FILE`, `--kubernetes FILE`: not a run, but a file with which a cluster runs the same sweep
// (sweep/job.h).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/base/result.h"
#include "simulator/cli/options.h"

namespace kvplan::cli {

struct JobInput {
  std::string sbatch, kubernetes;  ///< files; empty: not asked for
  std::int64_t shards{0};
  std::string image, claim;
  [[nodiscard]] bool any() const { return !sbatch.empty() || !kubernetes.empty(); }
};

/// --shards, --sbatch, --kubernetes, --image and --claim. The place must live as long as the command.
void add_job_options(Command& command, JobInput& input);

/// Writes what is asked for. `command`: kvplan sweep, whose options were read; the tasks get all of them but those that
/// say which part of the sweep is run, and where to. Errors: a file cannot be written, a name that no line can hold.
Status write_jobs(const Command& command, const JobInput& input, const std::string& out,
                  std::int64_t threads);

}  // namespace kvplan::cli
