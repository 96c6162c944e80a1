#include "validator/run/step_kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace kvplan::validator {
namespace {

/// Per mille of kept tokens; at least one where any are kept.
std::int32_t kept_of_1000(double kept, double tokens) {
  return static_cast<std::int32_t>(std::clamp(std::round(kept / tokens * 1000), 1.0, 1000.0));
}

Case attention_of(const LoggedStep& step, const KernelShape& shape, const AttentionLayers& layers) {
  Case of{.stored = shape.stored,
          .query_heads = layers.query_heads,
          .kv_heads = layers.kv_heads,
          .head_size = layers.head_size,
          .page_tokens = shape.page_tokens,
          .window = layers.window};
  for (const Reading& reading : step.decodes) of.lengths.push_back(reading.tokens);
  const double kept = step.kept();
  const auto tokens = static_cast<double>(step.tokens());
  if (kept >= tokens) return of;
  const bool interval = std::all_of(step.decodes.begin(), step.decodes.end(), [](const Reading& r) {
    return r.kept == std::floor(r.kept) && r.sinks >= 0;
  });
  if (shape.reuses) {
    for (std::size_t i = 0; i < of.lengths.size(); ++i)
      of.lengths[i] = std::max<std::int64_t>(1, std::llround(step.decodes[i].kept));
  } else if (!shape.compacts && interval && layers.window == 0) {
    // The first and the last tokens, of each request at most as many as of the one that keeps most.
    for (const Reading& reading : step.decodes) {
      of.sinks = std::max(of.sinks, reading.sinks);
      if (reading.kept < static_cast<double>(reading.tokens))
        of.window = std::max(of.window, static_cast<std::int64_t>(reading.kept) - reading.sinks);
    }
  } else {
    of.retained = shape.compacts ? Retained::kCompacted : Retained::kMask;
    of.kept_of_1000 = kept_of_1000(kept, tokens);
  }
  return of;
}

/// Of one layer.
Case append_of(const LoggedStep& step, const KernelShape& shape, const AttentionLayers& layers) {
  Case of{.kernel = "append",
          .stored = shape.stored,
          .query_heads = layers.query_heads,
          .kv_heads = layers.kv_heads,
          .head_size = layers.head_size,
          .page_tokens = shape.page_tokens};
  for (const Reading& reading : step.decodes) of.lengths.push_back(reading.tokens);
  of.budget = 1;
  return of;
}

/// `tokens`: rounded up to what all formats take.
Case quantise_of(const char* kernel, std::int64_t tokens, const KernelShape& shape,
                 const AttentionLayers& layers) {
  Case of{.kernel = kernel,
          .stored = shape.stored,
          .query_heads = layers.query_heads,
          .kv_heads = layers.kv_heads,
          .head_size = layers.head_size,
          .format = *shape.format};
  of.lengths = {(std::max<std::int64_t>(tokens, 1) + 31) / 32 * 32};
  return of;
}

/// Of its largest kernel.
std::int64_t bytes_of_step(std::int64_t tokens, const KernelShape& shape) {
  std::int64_t most = 0;
  for (const AttentionLayers& layers : shape.attention)
    most = std::max<std::int64_t>(most,
                                  2 * tokens * layers.kv_heads * layers.head_size * bytes_of(shape.stored));
  return most;
}

struct Candidate {
  std::int64_t index, tokens, requests;
  double ticks;
};

}  // namespace

std::vector<KernelOfStep> kernels_of(const LoggedStep& step, const KernelShape& shape) {
  std::vector<KernelOfStep> out;
  if (step.decodes.empty()) return out;
  for (const AttentionLayers& layers : shape.attention) {
    Case attention = attention_of(step, shape, layers);
    const auto read = static_cast<std::int64_t>(std::llround(step.kept()));
    out.push_back({std::move(attention), layers.layers});
    out.push_back({append_of(step, shape, layers), layers.layers});
    if (!shape.format) continue;
    const auto fresh = static_cast<std::int64_t>(step.decodes.size()) + step.prompt_tokens;
    out.push_back({quantise_of("quantise", fresh, shape, layers), layers.layers});
    out.push_back({quantise_of("dequantise", read, shape, layers), layers.layers});
  }
  return out;
}

Case stand_in(Case of) {
  if (of.retained == Retained::kMask) {
    of.kept_of_1000 = 500;
  } else if (of.retained == Retained::kCompacted && of.kernel == "decode-attention") {
    for (std::int64_t& length : of.lengths)
      length = std::max<std::int64_t>(1, length * of.kept_of_1000 / 1000);
    of.retained = Retained::kAll;
    of.kept_of_1000 = 1000;
  }
  return of;
}

Result<ChosenSteps> choose_steps(const std::string& log, const KernelShape& shape, std::int64_t most,
                                 std::int64_t most_bytes) {
  ChosenSteps out;
  std::vector<Candidate> fitting;
  double all = 0, fits = 0;
  KVPLAN_TRY_DO(each_step(log, [&](const LoggedStep& step) -> Status {
    ++out.logged;
    const auto ticks = static_cast<double>(step.ticks);
    all += ticks;
    if (step.decodes.empty()) return Done{};
    ++out.decoding;
    if (bytes_of_step(step.tokens(), shape) > most_bytes) return Done{};
    fits += ticks;
    fitting.push_back({step.index, step.tokens(), static_cast<std::int64_t>(step.decodes.size()), ticks});
    return Done{};
  }));
  out.time_share = all > 0 ? fits / all : 0;
  if (fitting.empty() || most < 1) return out;
  std::set<std::int64_t> chosen;
  const auto by = [&](auto figure) {
    return std::max_element(fitting.begin(), fitting.end(),
                            [&](const Candidate& a, const Candidate& b) { return figure(a) < figure(b); })
        ->index;
  };
  chosen.insert(by([](const Candidate& c) { return c.tokens; }));
  if (most > 1) chosen.insert(by([](const Candidate& c) { return c.requests; }));
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const Candidate& a, const Candidate& b) { return a.tokens < b.tokens; });
  const std::int64_t parts = most - static_cast<std::int64_t>(chosen.size());
  double passed = 0;
  std::int64_t part = 0;
  for (const Candidate& each : fitting) {
    passed += each.ticks;
    while (part < parts && passed >= fits * (static_cast<double>(part) + 0.5) / static_cast<double>(parts)) {
      chosen.insert(each.index);
      ++part;
    }
  }
  out.steps.assign(chosen.begin(), chosen.end());
  return out;
}

}  // namespace kvplan::validator
