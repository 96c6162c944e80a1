// Ready files that run a sweep on many machines: an array job of Slurm, an indexed job of Kubernetes. Each shard is one
// task; both run the same shell script, which is here in full (job.cpp). What it promises, for shard K of N and OUT:
//
// - The database is written on the machine's own disk and copied to OUT.shard-K-of-N when it is whole: that name
//   appears with all rows or not at all. A task whose file is there ends at once.
// - A task that is asked to stop (SIGTERM) keeps what is done as OUT.shard-K-of-N.part and ends with 3. Whoever runs it
//   again, on whatever machine, goes on from there. After a kill -9 it goes on from what is on that machine's disk, or
//   from the .part, whichever has more.
// - `kvplan merge OUT.shard-*-of-N --out OUT` joins them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvplan::sweep {

struct Job {
  std::string program;                 ///< kvplan, as a task calls it; its environment's KVPLAN replaces it
  std::vector<std::string> arguments;  ///< of `kvplan sweep`, without --out, --shard, --threads and --resume
  std::string out;                     ///< the database that the shards are of
  std::int64_t shards{1};
  std::int64_t threads{1};  ///< processors of a task
};

/// For sbatch. Numbers of tasks are SLURM_ARRAY_TASK_ID, from 1.
std::string slurm_script(const Job& job);

struct Cluster {
  std::string image;  ///< has kvplan and a shell
  std::string claim;  ///< PersistentVolumeClaim with what the sweep reads; the databases come there too
};
/// For kubectl: a Job with completionMode Indexed. Numbers are JOB_COMPLETION_INDEX, from 0. Paths of the sweep count
/// from the root of the claim.
std::string kubernetes_manifest(const Job& job, const Cluster& cluster);

}  // namespace kvplan::sweep
