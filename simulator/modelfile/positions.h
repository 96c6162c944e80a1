// Tokens of the longest request that a model was made for, as the engines derive them from its config.
#pragma once

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

/// Sets max_positions and scaled_positions. The smallest of the keys that name such a length counts, but
/// model_max_length before all of them (vllm-project/vllm, vllm/transformers_utils/model_arch_config_convertor.py,
/// derive_max_model_len_and_key), times the factor of a scaling of rotary positions (vllm/config/model.py,
/// _get_and_verify_max_len), except where the length contains it already: longrope, su, llama3, and all of gemma3.
/// YaRN multiplies the length before it instead, in vLLM alone: SGLang leaves out the factor where the config has that
/// length (sgl-project/sglang, srt/hf_transformers_utils.py, get_context_length). A tokenizer's own limit is not in the
/// config and does not count. Errors: a length that is no whole number from 8 to 2^30.
Status read_positions(const Config& config, ModelShape& shape);

}  // namespace kvplan::model
