// Families of models with layers that do not all keep keys and values of every token, by `model_type`.
//
// Such a config usually says which layers do, in keys that attention_keys.h knows. Keys with default values can be
// left out of a file, and then only the family says that layers differ: read key by key, the file would look like one
// with full attention in each layer. So a config of such a family has to have one of the keys that say which layers
// keep what.
#pragma once

#include <span>
#include <string_view>

namespace kvplan::model {

struct LayerFamily {
  std::string_view model_type;  ///< without the ending "_text" of language models inside larger ones
  std::string_view what;        ///< what some layers have in place of full attention
  /// Keys that say which layers; one of them has to be set. None: no layer has keys and values of each token.
  std::span<const char* const> keys;
};

/// The family of this `model_type`; null: its layers are alike, or the type is unknown.
const LayerFamily* find_layer_family(std::string_view model_type);

}  // namespace kvplan::model
