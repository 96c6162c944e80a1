// Bytes of a model's layers if keys and values are stored in a format of the family "codec", or if layers with a
// window have another format, from lengths alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/cell_metadata.h"
#include "simulator/courses/counted_course.h"
#include "simulator/formats/formats.h"
#include "simulator/model/footprint.h"

namespace kvplan::cli {

/// What a policy keeps of a sequence, and its metadata.
struct KeptTokens {
  std::vector<core::KeptCount> counts{};  ///< for each layer, or one for all; none: everything is kept
  std::int64_t sinks{-1};                 ///< as runs::KeptTokens
  attention::CellMetadata beside{};
  bool alike_in_layers{true};  ///< every layer keeps the same tokens
  bool alike_in_heads{true};   ///< every head of a layer keeps the same tokens
};
/// The sequence, and the model, for kept_by.
struct KeptOf {
  std::int64_t prompt;
  std::int64_t tokens;  ///< with the prompt's
  std::int64_t layers;
};
/// Numbers of kept tokens, if lengths and parameters determine them. An empty text means no policy. Errors (field
/// "--policy"): they do not determine them.
Result<KeptTokens> kept_by(const std::string& policy, const KeptOf& of);

/// Bytes of one layer, or of a rank's share of it.
struct CodecLayer {
  std::int64_t tokens{0};  ///< stored
  formats::LayerBytes bytes;
  std::int64_t beside_bytes{0};  ///< what the policy keeps

  [[nodiscard]] std::int64_t metadata_bytes() const;
};

/// How a layer stores tokens: one of the two.
struct LayerStorage {
  std::optional<formats::FormatChoice> codec{};
  /// Of the family "format": its elements count as codes, or as exact if they have whole bytes
  std::optional<Choice> elements{};

  [[nodiscard]] const Choice& choice() const { return codec ? codec->choice : *elements; }
};

struct CodecRequest {
  LayerStorage format;
  /// For layers with a window, which then keep what it shows, whatever the policy keeps in others.
  std::optional<LayerStorage> of_windows{};
  KeptTokens kept;
  std::int64_t prompt{1};
  std::int64_t generated{0};
  std::int64_t layers{1};         ///< of the model
  std::int64_t element_bytes{2};  ///< of its own elements
};
/// Bytes of layer `number` of the model. Errors: latent vectors; a policy that keeps nothing, or different tokens in
/// layers that are stored together; parameters that do not fit its heads; bytes that do not follow from lengths; more
/// than 2^56 elements.
Result<CodecLayer> codec_layer(const CodecRequest& request, const model::LayerCache& cache,
                               std::int64_t number);

/// Sum over layers.
struct CodecSum {
  formats::LayerBytes bytes;
  std::int64_t beside_bytes{0};
};
void add(CodecSum& sum, const CodecLayer& layer);

}  // namespace kvplan::cli
