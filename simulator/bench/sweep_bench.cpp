// Configurations by the thousand: one trace under many pools, batches and rates, with the full ledger of each, on one
// thread and on two in turn.
//   sweep_bench [--small] [AZURE_TRACE]
// Without a trace (or with --small, as the tests run it) a synthetic workload takes its place. Elapsed seconds, for
// threads are what is measured. The digest is over the results in the order of cases and must be the same on any number
// of threads. Peak memory stands after a tenth of the cases and after all of them: it must not grow with their number.
#include <sys/resource.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/bench/measure.h"
#include "simulator/study/cases.h"
#include "traces/import/open_trace.h"

namespace kvplan::bench {
namespace {

traces::Trace synthetic(std::int64_t requests) {
  traces::Trace trace;
  Random random(1, "sweep_bench");
  std::int64_t now = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    now += random.between(0, 360'000'000);
    trace.arrival_ns.push_back(now);
    trace.input_tokens.push_back(
        static_cast<std::int32_t>(random.between(20, random.chance(1, 5) ? 6000 : 1500)));
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(1, 420)));
  }
  return trace;
}

/// 25 pools, 8 limits of the batch, 5 rates: the first of them are a mixture, too.
Result<runs::Case> case_of(std::int64_t number, const runs::TracePtr& trace) {
  const std::int64_t pool = 20'000 + 16'000 * (number % 25);
  const std::int64_t seqs = std::int64_t{16} << (number / 25 % 8);
  const std::string rate = std::to_string(4 + number / 200) + "/6";
  std::vector<runs::Setting> settings;
  for (const std::string& text :
       {std::string("latency=affine:base_ns=12000000,token_ns=60000,context_ns=60"),
        std::string("engine.prefix_cache=false"), "workload.rate_scale=" + rate,
        "memory.pool_tokens=" + std::to_string(pool), "engine.max_seqs=" + std::to_string(seqs)}) {
    KVPLAN_TRY(runs::Setting setting, runs::parse_setting(text));
    settings.push_back(std::move(setting));
  }
  KVPLAN_TRY(runs::Scenario scenario, runs::resolve(settings));
  return runs::Case{std::move(scenario), trace};
}

struct Swept {
  double seconds{0};
  std::uint64_t digest{kDigestBegin};
  std::int64_t failed{0};
};

Swept sweep(const runs::TracePtr& trace, std::int64_t count, int threads) {
  std::vector<std::uint64_t> of_case(static_cast<std::size_t>(count));
  Swept out;
  std::int64_t next = 0;
  runs::Cases cases;
  cases.threads = threads;
  cases.next = [&]() -> Result<std::optional<std::int64_t>> {
    return next < count ? std::optional(next++) : std::nullopt;
  };
  cases.make = [&](std::int64_t number) { return case_of(number, trace); };
  cases.done = [&](runs::Outcome&& outcome) -> Status {
    if (!outcome.result) {
      ++out.failed;
      return Done{};
    }
    const runs::RunResult& r = *outcome.result;
    std::uint64_t digest = kDigestBegin;
    for (const std::int64_t value : {r.makespan.count, r.completed, r.preemptions, r.iterations})
      digest = mix(digest, static_cast<std::uint64_t>(value));
    if (r.memory)
      for (const double bytes : r.memory->mean_bytes) digest = mix(digest, static_cast<std::uint64_t>(bytes));
    of_case[static_cast<std::size_t>(outcome.number)] = digest;
    return Done{};
  };
  cases.idle = []() -> Status { return Done{}; };
  const auto begin = std::chrono::steady_clock::now();
  if (const Status status = runs::run_cases(cases); !status.ok()) {
    std::fprintf(stderr, "sweep_bench: %s\n", status.error().to_string().c_str());
    out.failed = count;
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const std::uint64_t digest : of_case) out.digest = mix(out.digest, digest);
  return out;
}

double peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(bool small, const std::string& path) {
  auto opened =
      path.empty() ? Result<traces::Trace>(synthetic(small ? 200 : 19'366)) : traces::open_trace(path);
  if (!opened.ok()) {
    std::fprintf(stderr, "sweep_bench: %s\n", opened.error().to_string().c_str());
    return 2;
  }
  opened.value().prefix = {};
  const auto trace = std::make_shared<const traces::Trace>(std::move(opened).value());
  const std::int64_t count = small ? 30 : 1'000;
  std::printf("%s: %" PRId64 " requests, %" PRId64 " cases\n", path.empty() ? "(synthetic)" : path.c_str(),
              trace->size(), count);
  Swept last = sweep(trace, count / 10, 2);  // a warm-up
  std::printf("peak memory after %" PRId64 " cases: %.1f MiB\n", count / 10, peak_mib());
  std::int64_t failed = last.failed;
  bool equal = true;
  const int rounds = small ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    const Swept one = sweep(trace, count, 1);
    const Swept two = sweep(trace, count, 2);
    std::printf("one thread %7.2f s, two %7.2f s, ratio %4.2f, digest %016" PRIx64 "\n", one.seconds,
                two.seconds, one.seconds / two.seconds, two.digest);
    std::fflush(stdout);
    equal = equal && one.digest == two.digest && (round == 0 || one.digest == last.digest);
    failed += one.failed + two.failed;
    last = one;
  }
  std::printf("peak memory after %" PRId64 " cases: %.1f MiB; compiler %s\n", count, peak_mib(), __VERSION__);
  std::printf("any number of threads %s; %" PRId64 " cases failed\n", equal ? "agrees" : "DIFFERS", failed);
  return equal && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kvplan::bench

int main(int argc, char** argv) {
  bool small = false;
  std::string trace;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      small = true;
    } else {
      trace = argv[i];
    }
  }
  return kvplan::bench::run(small, small ? "" : trace);
}
