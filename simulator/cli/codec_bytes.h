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

/// The tokens that a policy keeps of a sequence, and the policy's metadata.
struct KeptTokens {
  std::vector<core::KeptCount> counts{};  ///< for each layer, or one for all; none: every token is kept
  std::int64_t sinks{-1};                 ///< as runs::KeptTokens
  attention::CellMetadata beside{};
  bool alike_in_layers{true};  ///< every layer keeps the same tokens
  bool alike_in_heads{true};   ///< every head of a layer keeps the same tokens
};
/// The sequence and the model for which kept_by is computed.
struct KeptOf {
  std::int64_t prompt;
  std::int64_t tokens;  ///< tokens of the sequence, prompt included
  std::int64_t layers;
};
/// Numbers of kept tokens, if they follow from lengths and parameters. An empty text means no policy. Errors (field
/// "--policy"): they do not follow from these.
Result<KeptTokens> kept_by(const std::string& policy, const KeptOf& of);

/// Bytes of one layer, or of a rank's share of it.
struct CodecLayer {
  std::int64_t tokens{0};  ///< number of stored tokens
  formats::LayerBytes bytes;
  std::int64_t beside_bytes{0};  ///< metadata of the policy

  [[nodiscard]] std::int64_t metadata_bytes() const;
};

/// How a layer stores tokens: exactly one of the two members is set.
struct LayerStorage {
  std::optional<formats::FormatChoice> codec{};
  /// A format of the family "format": its elements count as codes, or as exact if they have whole bytes
  std::optional<Choice> elements{};

  [[nodiscard]] const Choice& choice() const { return codec ? codec->choice : *elements; }
};

struct CodecRequest {
  LayerStorage format;
  /// For layers with a window, which then keep the tokens in it, whatever the policy keeps in other layers.
  std::optional<LayerStorage> of_windows{};
  KeptTokens kept;
  std::int64_t prompt{1};
  std::int64_t generated{0};
  std::int64_t layers{1};         ///< layers of the model
  std::int64_t element_bytes{2};  ///< bytes of the model's own elements
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
