// What layers of a model take where their keys and values are stored in a format of the family "codec", or layers with
// a window in another format than the others, from lengths alone.
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

/// What a policy leaves of a sequence, and keeps beside it.
struct KeptTokens {
  std::vector<core::KeptCount> counts{};  ///< of each layer, or one for all; none: everything stays
  std::int64_t sinks{-1};                 ///< as plan::KeptTokens
  attention::CellMetadata beside{};
  bool alike_in_layers{true};  ///< the same tokens in every layer
  bool alike_in_heads{true};   ///< the same tokens in every head of a layer
};
/// What of a sequence stays, and of how long a model.
struct KeptOf {
  std::int64_t prompt;
  std::int64_t tokens;  ///< with the prompt's
  std::int64_t layers;
};
/// How many tokens stay, where lengths and parameters say it. An empty text is no policy. Errors (field "--policy"):
/// they do not say it.
Result<KeptTokens> kept_by(const std::string& policy, const KeptOf& of);

/// Of one layer, or of a rank's share of it.
struct CodecLayer {
  std::int64_t tokens{0};  ///< stored
  formats::LayerBytes bytes;
  std::int64_t beside_bytes{0};  ///< what the policy keeps

  [[nodiscard]] std::int64_t metadata_bytes() const;
};

/// How a layer stores tokens: one of both.
struct LayerStorage {
  std::optional<formats::FormatChoice> codec{};
  std::optional<Choice>
      elements{};  ///< of the family "format": its elements count as codes, or exact if they are whole

  [[nodiscard]] const Choice& choice() const { return codec ? codec->choice : *elements; }
};

struct CodecRequest {
  LayerStorage format;
  /// Of layers with a window, which then keep what it shows, whatever the policy leaves of the others.
  std::optional<LayerStorage> of_windows{};
  KeptTokens kept;
  std::int64_t prompt{1};
  std::int64_t generated{0};
  std::int64_t layers{1};         ///< of the model
  std::int64_t element_bytes{2};  ///< of its own elements
};
/// Layer `number` of the model. Errors: latent vectors, a policy that keeps nothing, or other tokens in layers that are
/// stored together, parameters that do not fit its heads, bytes that do not follow from lengths, more than 2^56
/// elements.
Result<CodecLayer> codec_layer(const CodecRequest& request, const model::LayerCache& cache,
                               std::int64_t number);

/// Of so many layers.
struct CodecSum {
  formats::LayerBytes bytes;
  std::int64_t beside_bytes{0};
};
void add(CodecSum& sum, const CodecLayer& layer);

}  // namespace kvplan::cli
