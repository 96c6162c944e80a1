// The family "format": the number of bytes in which a layer stores the keys and values of one token.
//
// All figures are whole bytes. If elements take a part of a byte, the elements of one token in one layer of one rank
// are packed, and the last byte is rounded up. Scales and zero points belong to groups of elements along the vector
// of one head (or along the latent vector); a group does not cross from one vector into the next, and the last group
// of a vector may be shorter.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Bytes of one token in one layer.
struct TokenBytes {
  std::int64_t elements{0};
  std::int64_t metadata{0};  ///< scales and zero points

  [[nodiscard]] std::int64_t total() const { return elements + metadata; }
  friend bool operator==(const TokenBytes&, const TokenBytes&) = default;
};

/// Formats sorted by name. Errors of a choice among them: simulator/base/component.h.
Catalogue format_descriptors();
/// The format that keeps the elements of the model as they are.
Choice native_format();
/// REQUIRES: as token_bytes.
bool is_native(const Choice& format);
/// Bytes of a token. `element_bytes`: bytes of the model's own elements, for "native". Errors: the format does not fit
/// such layers. REQUIRES: a choice of family "format".
Result<TokenBytes> token_bytes(const Choice& format, const LayerCache& cache, std::int64_t element_bytes = 2);

/// A format in which every token of a layer takes the same bytes: of family "format", or one with its own rule.
struct KvFormat {
  Choice choice;
  /// Like token_bytes. With keys of size 0 it returns the bytes of the values alone, with values of size 0 those of the
  /// keys, for a layer that was checked as a whole.
  Result<TokenBytes> (*rule)(const Choice&, const LayerCache&, std::int64_t element_bytes);
  /// If layers store tokens differently: the choice for each layer of the model. Empty: `choice` holds for all.
  std::vector<Choice> by_layer{};

  // NOLINTNEXTLINE(google-explicit-constructor): a choice of family "format" is a format.
  KvFormat(Choice of, decltype(rule) by = token_bytes) : choice(std::move(of)), rule(by) {}
  /// Bytes for a layer of the model, or for a rank's share of it.
  [[nodiscard]] Result<TokenBytes> bytes(const LayerCache& cache, std::int64_t element_bytes,
                                         std::int64_t layer) const {
    return rule(by_layer.empty() ? choice : by_layer[static_cast<std::size_t>(layer)], cache, element_bytes);
  }
};

}  // namespace kvplan::model
