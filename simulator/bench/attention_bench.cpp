// Token-level replay from recorded rows, against only reading the rows (the machine's limit) and against the
// obvious implementation; rows computed from queries and keys, against the obvious loop. Prints ratios, CPU time per
// (step, head), and digests that must not change.
//   attention_bench [--small]     --small: a second of work, run by the tests
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "simulator/attention/memory_recording.h"
#include "simulator/attention/replay.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"

namespace kvplan::attention {
namespace {

struct Size {
  std::int32_t heads;
  std::int64_t tokens;
  std::vector<std::int64_t> budgets;
  int repetitions;
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  return (digest ^ value) * 0x100000001B3ULL;
}

/// Rows with some heavy tokens per head; each sums to about one.
std::shared_ptr<const Recording> make_rows(const Size& size) {
  RecordingInfo info;
  info.query_heads = info.kv_heads = size.heads;
  info.key_size = info.value_size = 128;
  info.cache_element_bytes = 2;
  info.sequences.push_back({"", size.tokens, 0});
  std::vector<HeadRows> heads(static_cast<std::size_t>(size.heads));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Random random(h, "bench");
    std::vector<float> weight;
    for (std::int64_t i = 0; i < size.tokens; ++i) weight.push_back(random.chance(1, 16) ? 16.0F : 1.0F);
    std::uint32_t state = 1 + static_cast<std::uint32_t>(h);
    for (std::int64_t t = 0; t < size.tokens; ++t) {
      const float scale = 1.0F / static_cast<float>(2 * (t + 1));
      for (std::int64_t i = 0; i <= t; ++i) {
        state = state * 1664525U + 1013904223U;
        heads[h].f32.push_back(scale * weight[static_cast<std::size_t>(i)] * static_cast<float>(state >> 8) *
                               0x1p-24F);
      }
    }
  }
  return std::make_shared<MemoryRecording>(std::move(info), std::move(heads));
}

/// Touches every weight once, wide and without waiting for the sum.
std::uint64_t read_rows(const Recording& recording, const Size& size) {
  using Wide4 = std::uint64_t __attribute__((vector_size(16)));
  auto rows = recording.open(0, 0);
  Wide4 sum[4]{};
  for (std::int64_t t = 0; t < size.tokens; ++t) {
    static_cast<void>(rows.value()->seek(t));
    for (std::int32_t h = 0; h < size.heads; ++h) {
      const char* at = reinterpret_cast<const char*>(rows.value()->row(h).f32);
      const auto bytes = static_cast<std::size_t>(t + 1) * sizeof(float);
      for (std::size_t i = 0; i + 64 <= bytes; i += 64) {
        Wide4 part[4];
        std::memcpy(part, at + i, 64);
        for (std::size_t k = 0; k < 4; ++k) sum[k] += part[k];
      }
    }
  }
  const Wide4 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return all[0] ^ all[1];
}

std::uint64_t replay_rows(const Recording& recording, const Size& size, std::int64_t budget,
                          std::int32_t heads) {
  const auto policy =
      parse_policy("h2o:hh=" + std::to_string(budget / 2) + ",recent=" + std::to_string(budget - budget / 2));
  auto rows = recording.open(0, 0);
  LayerReplay replay(policy.value(), {.query_heads = heads}, true);
  std::uint64_t digest = 14695981039346656037ULL;
  for (std::int64_t t = 0; t < size.tokens; ++t) {
    static_cast<void>(rows.value()->seek(t));
    replay.step(rows.value().get());
    for (std::int32_t h = 0; h < heads; ++h)
      for (const std::int32_t p : replay.dropped(h)) digest = mix(digest, static_cast<std::uint64_t>(p));
  }
  return digest;
}

/// H2O as one would first write it: restrict, divide, add, sort everything.
std::uint64_t replay_naively(const Recording& recording, const Size& size, std::int64_t budget) {
  auto rows = recording.open(0, 0);
  std::vector<std::pair<std::int32_t, double>> kept;  // position, score
  std::uint64_t digest = 14695981039346656037ULL;
  for (std::int64_t t = 0; t < size.tokens; ++t) {
    static_cast<void>(rows.value()->seek(t));
    const float* row = rows.value()->row(0).f32;
    kept.emplace_back(static_cast<std::int32_t>(t), 0.0);
    double sum = 0;
    for (const auto& [p, score] : kept) sum += static_cast<double>(row[p]);
    for (auto& [p, score] : kept) score += static_cast<double>(row[p]) / sum;
    if (static_cast<std::int64_t>(kept.size()) <= budget) continue;
    auto order = kept;
    order.resize(static_cast<std::size_t>(budget / 2 + 1));  // what is not recent
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
    const std::int32_t gone = order.front().first;
    digest = mix(digest, static_cast<std::uint64_t>(gone));
    kept.erase(std::find_if(kept.begin(), kept.end(), [&](const auto& it) { return it.first == gone; }));
  }
  return digest;
}

struct Spread {
  double median;
  double low;
  double high;
};
Spread spread_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back()};
}

constexpr std::int32_t kKeySize = 128;

LayerTensors make_tensors(const Size& size) {
  LayerTensors out{.tokens = size.tokens,
                   .query_heads = size.heads,
                   .kv_heads = std::max(1, size.heads / 4),
                   .key_size = kKeySize,
                   .scale = 0.125,
                   .queries = {},
                   .keys = {},
                   .values = {}};
  Random random(1, "scores");
  const auto fill = [&](std::vector<std::vector<float>>& to, std::int32_t heads) {
    to.resize(static_cast<std::size_t>(heads));
    for (std::vector<float>& one : to)
      for (std::int64_t i = 0; i < size.tokens * kKeySize; ++i)
        one.push_back(static_cast<float>(4 * random.unit() - 2));
  };
  fill(out.queries, out.query_heads);
  fill(out.keys, out.kv_heads);
  return out;
}

/// The logits of head 0 as one would first write them.
std::uint64_t score_obviously(const LayerTensors& in) {
  std::uint64_t digest = 14695981039346656037ULL;
  for (std::int64_t t = 0; t < in.tokens; ++t)
    for (std::int64_t i = 0; i <= t; ++i) {
      double sum = 0;
      for (std::int64_t c = 0; c < kKeySize; ++c)
        sum += static_cast<double>(in.queries[0][static_cast<std::size_t>(t * kKeySize + c)]) *
               static_cast<double>(in.keys[0][static_cast<std::size_t>(i * kKeySize + c)]);
      digest = mix(digest, bits_of(sum * in.scale));
    }
  return digest;
}

std::uint64_t logits_of(const LayerTensors& in) {
  const auto rows = rows_from_tensors(in);
  std::uint64_t digest = 14695981039346656037ULL;
  for (std::int64_t t = 0; t < in.tokens; ++t) {
    static_cast<void>(rows->seek(t));
    for (std::int64_t i = 0; i <= t; ++i) digest = mix(digest, bits_of(rows->row(0).logits[i]));
  }
  return digest;
}

/// Rows of all heads, softmax and all.
int score(const Size& size) {
  const LayerTensors tensors = make_tensors(size);
  const double begin = cpu_seconds();
  const std::uint64_t digest = score_obviously(tensors);
  const double obvious = (cpu_seconds() - begin) * size.heads;
  if (logits_of(tensors) != digest) {
    std::puts("rows from queries and keys: logits differ from those of the simple loop");
    return 1;
  }
  std::vector<double> times;
  for (int i = 0; i < size.repetitions; ++i) {
    const auto rows = rows_from_tensors(tensors);
    const double before = cpu_seconds();
    for (std::int64_t t = 0; t < size.tokens; ++t) static_cast<void>(rows->seek(t));
    times.push_back(cpu_seconds() - before);
  }
  const Spread s = spread_of(times);
  const double work = 2e-9 * kKeySize * static_cast<double>(triangle(size.tokens)) * size.heads;
  std::printf("rows from queries and keys, %d heads x %" PRId64 " steps of %d elements  digest %016" PRIx64
              "\n              %.2f s (%.2f-%.2f), %.1f GFLOP/s   obvious / rows %.1f\n",
              size.heads, size.tokens, kKeySize, digest, s.median, s.low, s.high, work / s.median,
              obvious / s.median);
  return 0;
}

int run(const Size& size) {
  const auto recording = make_rows(size);
  const double steps = static_cast<double>(size.tokens) * size.heads;
  const double gigabytes = 4e-9 * static_cast<double>(triangle(size.tokens)) * size.heads;
  std::printf("h2o (renorm, fp32 rows), %d heads x %" PRId64
              " steps, %.2f GB of rows, %d repetitions, "
              "compiler %s\n",
              size.heads, size.tokens, gigabytes, size.repetitions, __VERSION__);
  std::uint64_t all = 0;
  for (const std::int64_t budget : size.budgets) {
    std::vector<double> reading;
    std::vector<double> replaying;
    std::vector<double> naive;
    if (replay_naively(*recording, size, budget) != replay_rows(*recording, size, budget, 1)) {
      std::printf("budget %" PRId64 ": the replay evicts other tokens than the naive replay\n", budget);
      return 1;
    }
    std::uint64_t digest = 0;
    for (int i = 0; i <= size.repetitions; ++i) {  // the first is warm-up
      const double begin = cpu_seconds();
      all ^= read_rows(*recording, size);
      const double read = cpu_seconds();
      digest = replay_rows(*recording, size, budget, size.heads);
      const double replayed = cpu_seconds();
      all ^= replay_naively(*recording, size, budget);
      const double end = cpu_seconds();
      if (i == 0) continue;
      reading.push_back((read - begin) / steps);
      replaying.push_back((replayed - read) / steps);
      naive.push_back((end - replayed) / static_cast<double>(size.tokens));
    }
    const Spread r = spread_of(reading);
    const Spread p = spread_of(replaying);
    const Spread n = spread_of(naive);
    std::printf("budget %5" PRId64 "  digest %016" PRIx64
                "  per (step, head): replay %.0f ns (%.0f-%.0f), "
                "reading %.0f ns (%.1f GB/s), naive %.0f ns\n"
                "              replay / reading %.2f   naive / replay %.1f\n",
                budget, digest, 1e9 * p.median, 1e9 * p.low, 1e9 * p.high, 1e9 * r.median,
                gigabytes / (r.median * steps), 1e9 * n.median, p.median / r.median, n.median / p.median);
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("peak memory %.2f GB, of it rows %.2f GB\n", 1.024e-6 * static_cast<double>(used.ru_maxrss),
              gigabytes);
  return all == 1 ? 3 : 0;  // keeps the reading from being optimised away
}

}  // namespace
}  // namespace kvplan::attention

int main(int argc, char** argv) {
  const bool small = argc > 1 && std::strcmp(argv[1], "--small") == 0;
  const kvplan::attention::Size size =
      small ? kvplan::attention::Size{.heads = 2, .tokens = 600, .budgets = {64}, .repetitions = 1}
            : kvplan::attention::Size{.heads = 32, .tokens = 4096, .budgets = {512, 1024}, .repetitions = 5};
  const int replayed = kvplan::attention::run(size);
  return replayed == 0 ? kvplan::attention::score(size) : replayed;
}
