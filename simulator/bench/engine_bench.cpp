// The serving engine: runs with the full ledger and latencies, and the recorded scheduler driver, fast
// compared with naive.
//   engine_bench [--small] [--only TEXT] [--no-naive] [AZURE_TRACE MOONCAKE_TRACE]
// --only: rows with TEXT in their name; --no-naive: the fast side alone (both for a profiler).
// Without traces (or with --small, as the tests run it) it uses a synthetic workload. Each row is the median of several
// runs, fast and naive alternating in one process, in CPU seconds of this thread; the digest covers the results and
// must be equal on both sides.
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/run/run.h"
#include "simulator/scheduling/vllm/replay/sched.h"
#include "traces/import/open_trace.h"

namespace kvplan {
namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Measured {
  double seconds{0};
  std::uint64_t digest{0};
};

std::uint64_t mix(std::uint64_t digest, std::int64_t value) {
  return (digest ^ static_cast<std::uint64_t>(value)) * 0x100000001B3ULL;
}

Measured timed(const std::function<std::uint64_t()>& body) {
  const double begin = cpu_seconds();
  const std::uint64_t digest = body();
  return {cpu_seconds() - begin, digest};
}

bool all_equal = true;
std::string only;  // only rows with this in their name
bool beside_naive = true;

/// One line: requests, fast seconds (median and spread), naive seconds, ratio, digest.
void row(const char* name, std::int64_t requests, int repetitions,
         const std::function<std::uint64_t(bool naive)>& body, bool compare) {
  if (std::string_view(name).find(only) == std::string_view::npos) return;
  std::vector<double> fast, naive;
  std::uint64_t digest = 0;
  for (int i = 0; i < repetitions + 1; ++i) {  // the first is a warm-up
    const Measured a = timed([&] { return body(false); });
    digest = a.digest;
    if (i > 0) fast.push_back(a.seconds);
    if (!compare || !beside_naive || i > 3) continue;
    const Measured b = timed([&] { return body(true); });
    if (b.digest != a.digest) all_equal = false;
    if (i > 0) naive.push_back(b.seconds);
  }
  std::sort(fast.begin(), fast.end());
  std::sort(naive.begin(), naive.end());
  const double median = fast[fast.size() / 2];
  std::printf("%-44s %9" PRId64 " %9.2f ms (%.2f-%.2f) %9.1f ns/request", name, requests, median * 1e3,
              fast.front() * 1e3, fast.back() * 1e3, median * 1e9 / static_cast<double>(requests));
  if (!naive.empty())
    std::printf("  naive %9.2f ms  ratio %5.1f", naive[naive.size() / 2] * 1e3,
                naive[naive.size() / 2] / median);
  std::printf("  digest %016" PRIx64 "\n", digest);
  std::fflush(stdout);
}

std::uint64_t run_digest(const traces::Trace& trace, const std::vector<std::string>& sets, bool naive) {
  std::vector<runs::Setting> settings;
  settings.reserve(sets.size());
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(text).value());
  const runs::Scenario scenario = runs::resolve(settings).value();
  runs::RunOptions options;
  options.step_by_step = naive;
  const runs::RunResult result = runs::run_scenario(scenario, trace, options).value();
  std::uint64_t digest = 14695981039346656037ULL;
  for (const auto& r : result.records) digest = mix(mix(digest, r.finish.since_start.count), r.preemptions);
  digest = mix(mix(digest, result.iterations), result.preemptions);
  if (result.memory)
    for (const double bytes : result.memory->mean_bytes)
      digest = mix(digest, static_cast<std::int64_t>(bytes));
  return digest;
}

std::uint64_t sched_digest(const traces::Trace& trace, const replays::CacheOptions& base, bool naive) {
  replays::CacheOptions options = base;
  options.step_by_step = naive;
  std::uint64_t digest = 14695981039346656037ULL;
  const auto rows = replays::run_vllm_sched(trace, options, {}).value();
  for (const auto& r : rows) digest = mix(mix(mix(digest, r.finish_step), r.all_hit_tokens), r.preemptions);
  return digest;
}

/// Poisson-like arrivals, long-tailed lengths, prompts that continue earlier ones.
traces::Trace synthetic(std::int64_t requests) {
  traces::Trace trace;
  Random random(1, "engine_bench");
  trace.prefix.block_tokens = 512;
  trace.prefix.offsets.push_back(0);
  std::int64_t now = 0;
  std::uint32_t next = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    now += random.between(0, 360'000'000);
    trace.arrival_ns.push_back(now);
    trace.input_tokens.push_back(
        static_cast<std::int32_t>(random.between(20, random.chance(1, 5) ? 6000 : 1500)));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(1, 420)));
    const std::uint64_t begin = trace.prefix.ids.size();
    const std::int64_t ids = ceil_div(trace.input_tokens.back(), 512);
    for (std::int64_t k = 0; k < ids; ++k)
      trace.prefix.ids.push_back(k == 0 ? static_cast<std::uint32_t>(i % 40) : 40 + next++);
    trace.prefix.offsets.push_back(begin + static_cast<std::uint64_t>(ids));
  }
  trace.prefix.distinct = 40 + next;
  return trace;
}

traces::Trace repeated(const traces::Trace& trace, int times) {
  traces::Trace out;
  const std::int64_t span =
      *std::max_element(trace.arrival_ns.begin(), trace.arrival_ns.end()) - trace.arrival_ns.front();
  for (int k = 0; k < times; ++k)
    for (std::int64_t i = 0; i < trace.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      out.arrival_ns.push_back(trace.arrival_ns[at] - trace.arrival_ns.front() + k * (span + 180'000'000));
      out.input_tokens.push_back(trace.input_tokens[at]);
      out.output_tokens.push_back(trace.output_tokens[at]);
    }
  return out;
}

int run(bool small, const std::string& azure_path, const std::string& mooncake_path) {
  traces::Trace azure =
      azure_path.empty() ? synthetic(small ? 400 : 19366) : traces::open_trace(azure_path).value();
  azure.prefix = {};
  const traces::Trace mooncake =
      mooncake_path.empty() ? synthetic(small ? 300 : 12000) : traces::open_trace(mooncake_path).value();
  const int repetitions = small ? 1 : 7;
  // A latency under which the hour keeps about 30 requests running, and a pool that holds them easily or
  // barely.
  const std::string latency = "latency=affine:base_ns=12000000,token_ns=60000,context_ns=60";
  const std::vector<std::string> roomy{latency, "memory.pool_tokens=400000"};
  std::vector<std::string> light = roomy, tight = roomy, uncached = roomy, window = roomy, contiguous = roomy;
  light.emplace_back("workload.rate_scale=1/8");
  tight[1] = "memory.pool_tokens=60000";
  uncached.emplace_back("engine.prefix_cache=false");
  window.emplace_back("eviction=window:window=256");
  contiguous.emplace_back("memory.allocator=contiguous:reserve=oracle");

  std::printf("trace %s: %" PRId64 " requests; trace %s: %" PRId64 " requests\n",
              azure_path.empty() ? "(synthetic)" : "conversation hour", azure.size(),
              mooncake_path.empty() ? "(synthetic)" : "with prefix hashes", mooncake.size());
  const auto serve = [&](const char* name, const std::vector<std::string>& sets, const traces::Trace& trace) {
    row(
        name, trace.size(), repetitions, [&](bool naive) { return run_digest(trace, sets, naive); }, true);
  };
  serve("run, saturated, ledger and latencies", roomy, azure);
  serve("run, arrivals stretched 8x", light, azure);
  serve("run, memory tight (preempts)", tight, azure);
  serve("run, no prefix cache", uncached, azure);
  serve("run, window eviction", window, azure);
  // Contents are shared: blocks have ids here. The naive side would take most of the benchmark's time.
  row(
      "run, shared prefixes, 16-token blocks", mooncake.size(), repetitions,
      [&](bool naive) { return run_digest(mooncake, roomy, naive); }, small);
  if (small) contiguous[1] = "memory.pool_tokens=60000";
  if (!small) serve("run, contiguous oracle", contiguous, azure);
  const traces::Trace long_trace = repeated(azure, small ? 2 : 52);
  row(
      "run, the same trace 52 times", long_trace.size(), small ? 1 : 3,
      [&](bool naive) { return run_digest(long_trace, uncached, naive); }, false);

  replays::CacheOptions options;
  options.blocks = small ? 2000 : 32000;
  row(
      "sched, 16-token blocks, prefix cache", mooncake.size(), repetitions,
      [&](bool naive) { return sched_digest(mooncake, options, naive); }, true);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory %.1f MiB; compiler %s\n", static_cast<double>(usage.ru_maxrss) / 1024.0,
              __VERSION__);
  if (beside_naive) std::printf("fast and naive %s\n", all_equal ? "agree" : "DIFFER");
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace kvplan

int main(int argc, char** argv) {
  bool small = false;
  std::vector<std::string> traces;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      small = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      kvplan::only = argv[++i];
    } else if (std::strcmp(argv[i], "--no-naive") == 0) {
      kvplan::beside_naive = false;
    } else {
      traces.emplace_back(argv[i]);
    }
  }
  traces.resize(2);
  return kvplan::run(small, small ? "" : traces[0], small ? "" : traces[1]);
}
