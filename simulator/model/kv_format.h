// The family "format": in how many bytes a layer keeps the keys and values of one token.
//
// All figures are whole bytes. Where elements take a part of a byte, the elements of one token in one layer of one
// rank are packed, and what is left of their last byte is rounded up. Scales and zero points stand beside groups of
// elements along the vector of one head (of the latent vector, where there is one); a group does not cross from one
// vector into the next, and the last one of a vector may be shorter.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Of one token in one layer.
struct TokenBytes {
  std::int64_t elements{0};
  std::int64_t metadata{0};  ///< scales and zero points

  [[nodiscard]] std::int64_t total() const { return elements + metadata; }
  friend bool operator==(const TokenBytes&, const TokenBytes&) = default;
};

/// Sorted by name. Errors of a choice among them: simulator/base/component.h.
Catalogue format_descriptors();
/// `element_bytes` is what the model's own elements take, for "native". REQUIRES: a choice of family "format". Errors:
/// the format is not for such layers.
Result<TokenBytes> token_bytes(const Choice& format, const LayerCache& cache, std::int64_t element_bytes = 2);

/// A format of which every token of a layer takes as many bytes: of family "format", or one that brings its rule.
struct KvFormat {
  Choice choice;
  /// As token_bytes. Keys, or values, of no size ask about the others alone, of a layer that was asked about whole.
  Result<TokenBytes> (*rule)(const Choice&, const LayerCache&, std::int64_t element_bytes);
  /// Where layers do not all store tokens alike: the choice of each layer of the model. Empty: `choice` is of all.
  std::vector<Choice> by_layer{};

  // NOLINTNEXTLINE(google-explicit-constructor): a choice of family "format" is one.
  KvFormat(Choice of, decltype(rule) by = token_bytes) : choice(std::move(of)), rule(by) {}
  /// Of a layer of the model, or of a rank's share of it.
  [[nodiscard]] Result<TokenBytes> bytes(const LayerCache& cache, std::int64_t element_bytes,
                                         std::int64_t layer) const {
    return rule(by_layer.empty() ? choice : by_layer[static_cast<std::size_t>(layer)], cache, element_bytes);
  }
};

}  // namespace kvplan::model
