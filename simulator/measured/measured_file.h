// What was measured on a real server, as figures with the names that reports have.
//
// Kinds of files:
//   JSON     results of `vllm bench serve --save-result` (vllm-project/vllm, vllm/benchmarks/serve.py, 0.19.0) and of
//            sglang.bench_serving (sgl-project/sglang, python/sglang/bench_serving.py, 0.5.5; one line for each run)
//   CSV      a heading and one row: names of figures (`latency_s.ttft.p99`), or the names below with _ms or _s
//   a start-up log of vLLM or SGLang (simulator/startup): the pool
//
// Names in results: mean_, median_ or pNN_ before ttft, tpot, e2el or e2e_latency, and _ms behind it; also duration,
// request_throughput, output_throughput, completed, total_input_tokens and total_output_tokens. `ttft_ms` and `tpot_ms`
// alone are means, with or without `silicon_` in front (silicon_sample.csv of NVIDIA AIConfigurator). Other keys have
// no figure and are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::measured {

/// The tokens of the pool as the engine reports them: not a figure of reports, since a report has bytes.
inline constexpr std::string_view kPoolTokens = "pool.tokens";

struct Measured {
  std::string name;  ///< of a figure (results/figures.h), or kPoolTokens
  double value{0};
};

/// The figures of one file, in its order. Errors (file, line, field): not one of these kinds; several runs in one file;
/// a figure twice; a value that is no finite number of at least 0; no figure at all.
Result<std::vector<Measured>> read_measured(std::string_view bytes, const std::string& path);

/// The name of the figure for a key of a result file, and what its value is divided by; nothing for a key without one.
struct NamedFigure {
  std::string name;
  double divisor{1};
};
std::optional<NamedFigure> figure_of_key(std::string_view key);

}  // namespace kvplan::measured
