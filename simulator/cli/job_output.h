// `kvplan sweep --sbatch FILE`, `--kubernetes FILE`: instead of running the sweep, write a file with which a cluster
// runs it (sweep/job.h).
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

/// Adds --shards, --sbatch, --kubernetes, --image and --claim. `input` must live as long as the command.
void add_job_options(Command& command, JobInput& input);

/// Writes the requested files. `command`: kvplan sweep with parsed options; the tasks get all of them except those
/// that select a part of the sweep and its output. Errors: a file cannot be written, a name that cannot be written on
/// a line.
Status write_jobs(const Command& command, const JobInput& input, const std::string& out,
                  std::int64_t threads);

}  // namespace kvplan::cli
