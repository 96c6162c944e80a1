// Attention rows as JSON: parsed, and replayed if they are accepted.
#include <cstdlib>

#include "simulator/attention/evaluation.h"
#include "simulator/io/attention_json.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kvplan::Done;
  using kvplan::Status;
  namespace attention = kvplan::attention;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recording = kvplan::io::parse_attention_json(text, "fuzz");
  if (!recording.ok()) {
    if (recording.error().to_string().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const auto policy = attention::parse_policy("tova:budget=2");
  if (!policy.ok()) std::abort();
  const attention::EvaluationRequest request{
      .policy = policy.value(), .prompt = 1, .sequence = 0, .layer = 0};
  const auto done = attention::evaluate(*recording.value(), request, [](const auto& replay) -> Status {
    if (replay.kept(0).size() > 2) std::abort();
    for (const double mass : replay.attended_mass())
      if (!(mass >= 0 && mass <= 1.02)) std::abort();
    return Done{};
  });
  if (!done.ok()) std::abort();  // accepted rows can be replayed
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  return {
      R"({"query_heads": 1, "kv_heads": 1, "T": 3, "rows": [[[1.0], [0.5, 0.5], [0.25, 0.25, 0.5]]]})",
      R"({"query_heads":2,"kv_heads":1,"T":2,"rows":[[[1],[0.25,0.75]],[[1],[1e-3,0.999]]],"note":{"a":[null,"x"]}})"};
}
