// Files that run a sweep on many machines: an array job of Slurm, an indexed job of Kubernetes. Each shard is one task;
// both kinds of job run the same shell script, which is in job.cpp. Its guarantees, for shard K of N and OUT:
//
// - The database is written on the machine's own disk and copied to OUT.shard-K-of-N when it is complete: a file of
//   that name has all rows. A task ends at once if its file exists.
// - A task that is asked to stop (SIGTERM) stores its rows as OUT.shard-K-of-N.part and ends with 3. Run again, on any
//   machine, it continues from there. After a kill -9 it continues from that machine's disk or from the .part,
//   whichever has more rows.
// - `kvplan merge OUT.shard-*-of-N --out OUT` joins them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvplan::sweep {

struct Job {
  std::string program;  ///< path of kvplan in a task; the environment variable KVPLAN overrides it
  /// Arguments of `kvplan sweep`, without --out, --shard, --threads and --resume
  std::vector<std::string> arguments;
  std::string out;  ///< the database that all shards together make
  std::int64_t shards{1};
  std::int64_t threads{1};  ///< processors of a task
};

/// A script for sbatch. Task numbers are SLURM_ARRAY_TASK_ID, from 1.
std::string slurm_script(const Job& job);

struct Cluster {
  std::string image;  ///< container image with kvplan and a shell
  /// PersistentVolumeClaim with the sweep's input files; the databases are written there too
  std::string claim;
};
/// A manifest for kubectl: a Job with completionMode Indexed. Task numbers are JOB_COMPLETION_INDEX, from 0. Paths of
/// the sweep are relative to the root of the claim.
std::string kubernetes_manifest(const Job& job, const Cluster& cluster);

}  // namespace kvplan::sweep
