#include "simulator/sweep/job.h"

#include <algorithm>
#include <string_view>

#include "simulator/report/number_text.h"

namespace kvplan::sweep {
namespace {

/// The commands of each task, in POSIX shell. settings_text() comes before them.
constexpr std::string_view kTask = R"sh(
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  shard=$SLURM_ARRAY_TASK_ID
else
  shard=$((${JOB_COMPLETION_INDEX:?neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set} + 1))
fi
whole=$out.shard-$shard-of-$shards
part=$whole.part
if [ -e "$whole" ]; then
  echo "shard $shard of $shards is done: $whole"
  exit 0
fi

# On this machine: the same folder when the task comes back to it.
folder=${KVPLAN_LOCAL:-${TMPDIR:-/tmp}}/kvplan-$(id -u)-${SLURM_ARRAY_JOB_ID:-job}-$shard
mkdir -p -m 700 "$folder" && [ -O "$folder" ] || exit 2
database=$folder/shard.db

rows() { # of a database; mends one that a kill left
  if [ -s "$1" ]; then "$kvplan" report "$1" --csv - 2>/dev/null | wc -l; else echo 0; fi
}
keep() { # the database under this name, all of it or nothing
  copy=$1.$(uname -n).$$.tmp
  cp "$database" "$copy" && mv -f "$copy" "$1"
}

# Goes on from what was kept where that is more than what is here.
if [ -e "$part" ] && [ "$(rows "$part")" -gt "$(rows "$database")" ]; then
  rm -f "$database" "$database-journal"
  cp "$part" "$database" || exit 2
fi
before=$(rows "$database") # with the header
[ "$before" -le 1 ] || echo "shard $shard of $shards goes on after $((before - 1)) cases"

task=
trap '[ -z "$task" ] || kill -TERM "$task" 2>/dev/null' TERM INT HUP
sweep --shard "$shard/$shards" --threads "$threads" --out "$database" --resume &
task=$!
# A signal ends a wait before its task.
while :; do
  wait "$task"
  code=$?
  [ "$code" -gt 128 ] || break
  kill -0 "$task" 2>/dev/null && continue
  wait "$task" 2>/dev/null
  last=$?
  [ "$last" = 127 ] || code=$last
  break
done

if [ "$code" = 0 ]; then
  keep "$whole" || exit 2
  rm -rf "$part" "$folder"
  echo "shard $shard of $shards is complete: $whole"
  exit 0
fi
if [ "$(rows "$database")" -gt 1 ]; then
  keep "$part" && rm -rf "$folder"
  echo "shard $shard of $shards is not complete; its finished cases are in $part" >&2
fi
exit "$code"
)sh";

/// The settings before the task's commands: with `exec`, the background process becomes the program itself, so that
/// signals reach it.
std::string settings_text(const Job& job) {
  std::string text = "kvplan=${KVPLAN:-" + report::shell_quoted(job.program) + "}\n";
  text += "out=" + report::shell_quoted(job.out) + "\n";
  text += "shards=" + std::to_string(job.shards) + "\n";
  text += "threads=" + std::to_string(job.threads) + "\n";
  text += "sweep() {\n  exec \"$kvplan\" sweep";
  for (const std::string& argument : job.arguments) text += " " + report::shell_quoted(argument);
  return text + " \"$@\"\n}\n";
}

std::string merge_text(const Job& job) {
  return "kvplan merge " + report::shell_quoted(job.out) + ".shard-*-of-" + std::to_string(job.shards) +
         " --out " + report::shell_quoted(job.out);
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + "'";
}

/// Indents each line by `spaces` spaces; empty lines stay empty.
std::string indented(std::string_view text, std::size_t spaces) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (end > 1) out.append(spaces, ' ');
    out.append(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string slurm_script(const Job& job) {
  const std::string count = std::to_string(job.shards);
  return "#!/bin/sh\n"
         "#SBATCH --job-name=kvplan-sweep\n"
         "#SBATCH --array=1-" +
         count +
         "\n"
         "#SBATCH --ntasks=1\n"
         "#SBATCH --cpus-per-task=" +
         std::to_string(job.threads) +
         "\n"
         "#SBATCH --requeue\n"
         "#SBATCH --open-mode=append\n"
         "#SBATCH --signal=B:TERM@120\n"
         "# Submit it from where the sweep was written; time, memory and partition are options of sbatch. A "
         "task that\n"
         "# was stopped goes on when it is requeued, or when this file is submitted again. When all "
         "shards are complete:\n"
         "#   " +
         merge_text(job) +
         "\n"
         "# KVPLAN_LOCAL: a folder on the disk of the machine (default: TMPDIR, or /tmp).\n\n" +
         settings_text(job) + std::string(kTask);
}

std::string kubernetes_manifest(const Job& job, const Cluster& cluster) {
  const std::string count = std::to_string(job.shards);
  return "# kubectl apply -f THIS; Kubernetes 1.29 or later. When all shards are complete, where the claim "
         "is:\n"
         "#   " +
         merge_text(job) +
         "\n"
         "apiVersion: batch/v1\n"
         "kind: Job\n"
         "metadata:\n"
         "  name: kvplan-sweep\n"
         "spec:\n"
         "  completionMode: Indexed\n"
         "  completions: " +
         count +
         "\n"
         "  parallelism: " +
         count +
         "\n"
         "  backoffLimitPerIndex: 4\n"
         "  podFailurePolicy:\n"
         "    rules:\n"
         "      - action: Ignore\n"
         "        onPodConditions:\n"
         "          - type: DisruptionTarget\n"
         "            status: \"True\"\n"
         "  template:\n"
         "    spec:\n"
         "      restartPolicy: Never\n"
         "      terminationGracePeriodSeconds: 120\n"
         "      containers:\n"
         "        - name: kvplan\n"
         "          image: " +
         yaml_quoted(cluster.image) +
         "\n"
         "          workingDir: /sweep\n"
         "          env:\n"
         "            - name: KVPLAN_LOCAL\n"
         "              value: /local\n"
         "          resources:\n"
         "            requests:\n"
         "              cpu: \"" +
         std::to_string(job.threads) +
         "\"\n"
         "          volumeMounts:\n"
         "            - name: sweep\n"
         "              mountPath: /sweep\n"
         "            - name: local\n"
         "              mountPath: /local\n"
         "          command: [\"/bin/sh\", \"-c\"]\n"
         "          args:\n"
         "            - |\n" +
         indented(settings_text(job) + std::string(kTask), 14) +
         "      volumes:\n"
         "        - name: sweep\n"
         "          persistentVolumeClaim:\n"
         "            claimName: " +
         yaml_quoted(cluster.claim) +
         "\n"
         "        - name: local\n"
         "          emptyDir: {}\n";
}

}  // namespace kvplan::sweep
