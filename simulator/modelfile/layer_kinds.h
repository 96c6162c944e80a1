// The kind of each layer, as a config declares it.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/modelfile/config_object.h"

namespace kvplan::model {

enum class DeclaredKind : std::uint8_t {
  kFull,
  kSliding,
  kChunked,
  kState,    ///< a state instead of keys and values of each token
  kBoth,     ///< full attention and also a state
  kExperts,  ///< only experts
  kDense,    ///< only a dense feed-forward block
};

struct DeclaredKinds {
  std::vector<DeclaredKind> of;
  const char* key{""};  ///< the key that determined the kinds; empty: they are defaults
  bool apart{false};    ///< feed-forward blocks are layers of their own
};

/// Errors: a list of another length; an unknown word. The field is the key.
Result<DeclaredKinds> read_kinds(const Config& config, std::int64_t layers);

}  // namespace kvplan::model
