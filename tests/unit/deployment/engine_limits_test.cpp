// What engines make of a model's own length, and of stages that do not divide its layers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulator/deployment/deployment.h"
#include "simulator/model/ranks.h"
#include "simulator/modelfile/config.h"

namespace kvplan::runs {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;
using Layers = std::vector<std::int64_t>;

Result<Scenario> resolved(const Texts& texts) {
  std::vector<Setting> settings;
  for (const auto& [path, text] : texts) settings.push_back({path, text, {}, 0});
  return resolve(settings);
}

std::string error_of(const Texts& texts) {
  const auto scenario = resolved(texts);
  return scenario.ok() ? "no error" : scenario.error().to_string();
}

Texts with(Texts texts, const Texts& more) {
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

const Texts kMistral{{"model", "mistral-7b"}, {"deployment.device", "h100-sxm"}};

TEST(ModelLength, VllmRefusesALongerOne) {
  EXPECT_EQ(error_of(with(kMistral, {{"engine.max_model_len", "32768"}})), "no error");
  EXPECT_EQ(
      error_of(with(kMistral, {{"engine.max_model_len", "32769"}})),
      "engine.max_model_len: expected at most 32768, the longest request that mistral-7b was made for, found "
      "32769: the server starts so only with VLLM_ALLOW_LONG_MAX_MODEL_LEN=1, which "
      "engine.allow_long_max_model_len=true stands for");
  const auto allowed = resolved(
      with(kMistral, {{"engine.max_model_len", "65536"}, {"engine.allow_long_max_model_len", "true"}}));
  ASSERT_TRUE(allowed.ok()) << allowed.error().to_string();
  EXPECT_EQ(allowed.value().engine_traits().request_tokens.value, 65536);
  // A server without a length takes the model's own, whatever it is allowed.
  const auto own = resolved(with(kMistral, {{"engine.allow_long_max_model_len", "true"}}));
  EXPECT_EQ(own.value().engine_traits().request_tokens.value, 32768);
  EXPECT_EQ(own.value().engine.to_string().find("reads"), std::string::npos);
  // Without a device no server starts, and the run is as it is defined.
  EXPECT_EQ(error_of({{"model", "mistral-7b"}, {"engine.max_model_len", "262144"}}), "no error");
  EXPECT_EQ(resolved(kMistral).value().engine.to_string().find("allow_long"), std::string::npos)
      << "what is not said is not written";
}

TEST(ModelLength, SglangRefusesALongerOne) {
  const Texts sglang = with(kMistral, {{"engine", "sglang"}});
  EXPECT_EQ(error_of(with(sglang, {{"engine.context_length", "32768"}})), "no error");
  EXPECT_EQ(error_of(with(sglang, {{"engine.context_length", "40000"}})),
            "engine.context_length: expected at most 32768, the longest request that mistral-7b was made "
            "for, found "
            "40000: the server starts so only with SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1, which "
            "engine.allow_longer_context_len=true stands for");
  EXPECT_EQ(error_of(with(sglang,
                          {{"engine.context_length", "40000"}, {"engine.allow_longer_context_len", "true"}})),
            "no error");
}

/// Lengths as SGLang and as vLLM derive them from a config with this text in it.
std::pair<std::int64_t, std::int64_t> lengths(const std::string& more, const std::string& type = "llama") {
  const auto shape = model::parse_config(
      R"({"model_type":")" + type +
          R"(","num_hidden_layers":4,"hidden_size":64,"num_attention_heads":4,"intermediate_size":8,)"
          R"("vocab_size":16)" +
          (more.empty() ? "" : ",") + more + "}",
      "config.json");
  if (!shape.ok()) {
    ADD_FAILURE() << shape.error().to_string();
    return {};
  }
  const std::int64_t own = shape.value().max_positions.value_or(-1);
  return {own, shape.value().scaled_positions.value_or(own)};
}

/// vllm-project/vllm v0.19.0, vllm/config/model.py, _get_and_verify_max_len; sgl-project/sglang v0.5.5,
/// srt/hf_transformers_utils.py, get_context_length; worked out by hand.
TEST(ModelLength, ScalingsOfRotaryPositions) {
  using Both = std::pair<std::int64_t, std::int64_t>;
  const auto scaled = [](const std::string& rope, const std::string& type = "llama") {
    return lengths(R"("max_position_embeddings":4096,"rope_scaling":)" + rope, type);
  };
  EXPECT_EQ(lengths(R"("max_position_embeddings":4096)"), Both(4096, 4096));
  EXPECT_EQ(scaled("null"), Both(4096, 4096));
  EXPECT_EQ(scaled(R"({"type":"linear","factor":4.0})"), Both(16384, 16384));
  EXPECT_EQ(scaled(R"({"rope_type":"dynamic","factor":2})"), Both(8192, 8192));
  EXPECT_EQ(scaled(R"({"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":3000})"),
            Both(4096, 12000));
  EXPECT_EQ(scaled(R"({"rope_type":"llama3","factor":8.0,"original_max_position_embeddings":512})"),
            Both(4096, 4096));
  EXPECT_EQ(scaled(R"({"type":"longrope","factor":8.0})"), Both(4096, 4096));
  EXPECT_EQ(scaled(R"({"rope_type":"default","mrope_section":[1,2]})"), Both(4096, 4096));
  EXPECT_EQ(scaled(R"({"rope_type":"linear","factor":8.0})", "gemma3_text").second, 4096)
      << "its length has the factor in it";
  EXPECT_EQ(lengths(R"("max_position_embeddings":4096,"rope_parameters":{"rope_type":"yarn","factor":2,)"
                    R"("original_max_position_embeddings":4096})"),
            Both(4096, 8192));
  EXPECT_EQ(
      lengths(
          R"("max_position_embeddings":4096,"rope_parameters":{"full_attention":{"rope_type":"default"}})"),
      Both(4096, 4096));
}

TEST(ModelLength, TheSmallestKeyCountsAndModelMaxLengthBeforeAll) {
  using Both = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(lengths(R"("max_position_embeddings":4096,"seq_length":2048,"max_seq_len":9000)"),
            Both(2048, 2048));
  EXPECT_EQ(lengths(R"("max_position_embeddings":4096,"model_max_length":8192)"), Both(8192, 8192));
  EXPECT_EQ(lengths(R"("seq_length":2048)"), Both(2048, 2048));
  EXPECT_EQ(lengths(""), Both(-1, -1));
}

Layers stages_of(const Texts& texts) {
  const auto scenario = resolved(texts);
  if (!scenario.ok()) {
    ADD_FAILURE() << scenario.error().to_string();
    return {};
  }
  std::vector<std::string> warnings, assumptions;
  const Scenario& s = scenario.value();
  const auto placed = place_model(s, *s.model, {}, warnings, assumptions);
  if (!placed.ok()) {
    ADD_FAILURE() << placed.error().to_string();
    return {};
  }
  Layers out;
  for (const model::StagePool& stage : placed.value().pool.value().stages) out.push_back(stage.layers);
  return out;
}

/// vllm-project/vllm, vllm/distributed/utils.py, and sgl-project/sglang, srt/distributed/utils.py, get_pp_indices.
TEST(StageLayers, AsEachEngineDividesThem) {
  const Texts base{{"model", "mistral-7b"}, {"deployment.device", "h100-sxm"}, {"deployment.pp", "3"}};
  EXPECT_EQ(stages_of(base), (Layers{11, 11, 10})) << "32 layers: none of the rest for the last stage";
  EXPECT_EQ(stages_of(with(base, {{"engine", "sglang"}})), (Layers{10, 11, 11}));
  EXPECT_EQ(model::layers_of_stages(10, 4), (Layers{2, 3, 3, 2}));
  EXPECT_EQ(model::last_stages_longer(10, 4), (Layers{2, 2, 3, 3}));
  EXPECT_EQ(model::last_stages_longer(12, 4), (Layers{3, 3, 3, 3}));
}

TEST(StageLayers, AsTheScenarioSays) {
  const Texts base{{"model", "mistral-7b"}, {"deployment.device", "h100-sxm"}, {"deployment.pp", "3"}};
  const auto said = [&](const std::string& layers) { return with(base, {{"deployment.pp_layers", layers}}); };
  EXPECT_EQ(stages_of(said("20,4,8")), (Layers{20, 4, 8}));
  EXPECT_EQ(stages_of(with(said("20,4,8"), {{"engine", "sglang"}})), (Layers{20, 4, 8}));
  EXPECT_EQ(error_of(said("20,12")),
            "deployment.pp_layers: expected the layers of each of 3 stages (deployment.pp), found \"20,12\"");
  for (const char* wrong : {"20,4,", "20,0,12", "a", "20,,12", "20;4;8"})
    EXPECT_EQ(error_of(said(wrong))
                  .find("deployment.pp_layers: expected layers of each stage, such as 24,40, found"),
              0U)
        << wrong << ": " << error_of(said(wrong));
  // The sum is known with the model.
  std::vector<std::string> warnings, assumptions;
  const Scenario s = resolved(said("20,4,9")).value();
  const auto placed = place_model(s, *s.model, {}, warnings, assumptions);
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(
      placed.error().to_string(),
      "deployment.pp_layers: expected numbers with the sum 32, the layers of the model, found the sum 33");
}

/// The pool is that of the stage with the fewest tokens: its layers' share of weights and cache.
TEST(StageLayers, TheFullestStageDecidesThePool) {
  const Texts base{{"model", "mistral-7b"}, {"deployment.device", "h100-sxm"}, {"deployment.pp", "2"}};
  const auto tokens = [&](const std::string& layers) {
    std::vector<std::string> warnings, assumptions;
    const Scenario s = resolved(with(base, {{"deployment.pp_layers", layers}})).value();
    const auto placed = place_model(s, *s.model, {}, warnings, assumptions).value();
    EXPECT_EQ(placed.pool->rank().layers, placed.bytes.layers);
    EXPECT_EQ(placed.bytes.token_bytes, placed.bytes.layers * 2 * 8 * 128 * 2);
    return std::pair(placed.pool->deciding,
                     placed.pool->rank().pool_bytes / placed.pool->rank().bytes_per_token);
  };
  const auto [first, few] = tokens("24,8");
  const auto [last, as_few] = tokens("8,24");
  EXPECT_EQ(first, 0U);
  EXPECT_EQ(last, 1U);
  const auto even = tokens("16,16").second;
  EXPECT_LT(few, even);
  EXPECT_LT(as_few, even);
  EXPECT_NEAR(static_cast<double>(few) / static_cast<double>(even), 16.0 / 24, 0.08);
}

}  // namespace
}  // namespace kvplan::runs
