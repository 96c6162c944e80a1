// Which layer of a config is of which kind.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

enum class LayerKind : std::uint8_t {
  kFull,
  kSliding,
  kChunked,
  kState,    ///< a state instead of keys and values of each token
  kBoth,     ///< full attention and a state beside it
  kExperts,  ///< experts alone
  kDense,    ///< a dense feed-forward block alone
};

struct LayerKinds {
  std::vector<LayerKind> of;
  const char* key{""};  ///< that said so; empty: by default
  bool apart{false};    ///< feed-forward blocks are layers of their own
};

/// Errors: a list of another length, a word that is not known, with the key as field.
Result<LayerKinds> read_kinds(const Config& config, std::int64_t layers);

}  // namespace kvplan::model
