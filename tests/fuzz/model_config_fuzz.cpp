// Configs of models: a config that can be read has valid numbers of bytes and weights; errors are one line.
#include <cstdlib>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> out{
      R"({"num_hidden_layers":3,"hidden_size":64,"num_attention_heads":8,"sliding_window":9,)"
      R"("layer_types":["full_attention","sliding_attention","full_attention"]})",
      R"({"n_layer":2,"n_embd":64,"n_head":8,"multi_query":true,"vocab_size":9,"n_inner":7})"};
  for (const kvplan::model::EmbeddedConfig& config : kvplan::model::embedded_configs())
    out.emplace_back(config.text);
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvplan::model;
  const auto shape = parse_config({reinterpret_cast<const char*>(data), size}, "c.json");
  if (!shape.ok()) return shape.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
  std::int64_t layers = 0;
  for (const LayerRun& run : shape.value().runs) layers += run.layers;
  if (layers != shape.value().layers || shape.value().kv_token_bytes() <= 0) std::abort();
  const auto weights = shape.value().weights();
  if (weights.ok() && (weights.value().multiplied <= 0 || weights.value().read > weights.value().all))
    std::abort();
  return 0;
}
