// Families of models, by `model_type`, in which not all layers keep keys and values of every token.
//
// The config of such a model usually says which layers do, in keys that attention_keys.h knows. But keys with default
// values can be left out of a file. Then only the family shows that layers differ; read key by key, the file would look
// like a model with full attention in each layer. So the config of such a family must have one of the keys that say
// which layers keep which tokens.
#pragma once

#include <span>
#include <string_view>

namespace kvplan::model {

struct LayerFamily {
  std::string_view model_type;  ///< without the ending "_text" of language models inside larger ones
  std::string_view what;        ///< the mechanism that some layers have in place of full attention
  /// Keys that say which layers these are; one of them has to be set. None: no layer has keys and values of each token.
  std::span<const char* const> keys;
};

/// The family of this `model_type`; null: its layers are alike, or the type is unknown.
const LayerFamily* find_layer_family(std::string_view model_type);

}  // namespace kvplan::model
