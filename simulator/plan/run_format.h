// In what a run stores keys and values: `format` of a scenario. It names a member of the family "format", or a codec
// (simulator/formats) whose bytes follow from lengths. A codec that stores each token at once, all alike, is a width of
// tokens like any other: everything else of a run works with it, but what needs layers of one width where its layers
// have widths of their own. Of any other the bytes depend on what else is stored, and requests follow courses
// (core/encoded_course.h).
//
// Life cycle: `run_format` when a scenario is resolved, without its model and any file; `format_on_model` when a run is
// made, with what a side file says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/encoded_course.h"
#include "simulator/formats/formats.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"

namespace kvplan::plan {

struct RunFormat {
  model::KvFormat of_token;  ///< of a token's place: exact where tokens are encoded later
  std::optional<formats::FormatChoice> encoded{};  ///< how they are
};

/// What `format` can name: the family "format", and codecs that have other names.
Catalogue run_formats();
/// One of these with its parameters. Where a codec has the same name as a member of the family "format", and that does
/// not take the parameters, the codec is meant: `fp8` is a byte an element, `fp8:scale=amax` the codec.
Result<Choice> parse_run_format(std::string_view text);
/// REQUIRES: a choice of parse_run_format.
RunFormat run_format(Choice choice);

/// Reads a side file by its path; called from any thread.
using SideOpener = std::function<Result<std::shared_ptr<const formats::SideData>>(const std::string& path)>;

/// The same on a model: the parameters of each layer, and those that a side file says. `open` may be empty where no
/// file is named. Errors (the field begins with the format's name): a file that cannot be read; check_side_file.
Result<RunFormat> format_on_model(const RunFormat& format, const model::ModelShape& model,
                                  std::int64_t tensor_ranks, const SideOpener& open);

/// That the side file of a format, if it names one, holds the layers of the model and no others, each with its heads
/// and channels, and that none of `tensor_ranks` ranks has a part of heads that share numbers of it. REQUIRES: the file
/// was read. Errors: the file, the format's parameter, the layer.
Status check_side_file(const formats::FormatChoice& format, const model::ModelShape& model,
                       std::int64_t tensor_ranks);

/// True where heads share what is stored of a token, so that it goes when the last of them gives it up.
bool joins_heads(const model::KvFormat& format);

/// Why bytes are all that is known of a format, whatever it is told: a part of a sentence. Empty: they are not.
std::string_view bytes_alone(const model::KvFormat& format);

/// A layer's own heads, each with a query head of its own: bytes do not depend on queries. REQUIRES: it stores keys and
/// values by head.
formats::Shape shape_of(const model::LayerCache& cache);

/// That whatever stands among the layers [first, first + layers) and is stored together with others has them there too,
/// with heads and windows alike. Errors (field: the format's name).
Status check_layers_together(const formats::FormatChoice& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers);
/// The same of a width of tokens, on the model (format_on_model).
Status check_layers_together(const model::KvFormat& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers);

/// Neighbouring layers of a rank that encode alike.
struct EncodedLayers {
  formats::FormatChoice format;
  formats::Shape shape;
  std::int64_t element_bytes{2};  ///< of the model's own elements: what tokens take until they are encoded
  std::int64_t layers{1};
};

/// The layers [first, first + layers) of a model on one of `tensor_ranks` ranks. Errors (field: format): a model with a
/// latent vector; parameters that do not suit its heads; check_layers_together; bytes that do not follow from lengths
/// with these parameters.
Result<std::vector<EncodedLayers>> encoded_layers(const formats::FormatChoice& format,
                                                  const model::ModelShape& model, std::int64_t tensor_ranks,
                                                  std::int64_t first, std::int64_t layers);

/// What a request of such lengths stores after its prompt and after each later step. While that would take more than
/// the same tokens do exactly, they stay exact. `kept`: how many tokens a policy keeps, by layer of the rank or one for
/// all; empty: all of them. REQUIRES: the bytes follow from these lengths; the policy cuts the prompt alone, or the
/// formats' bytes follow from the number of tokens (LengthRule::by_count).
core::EncodedTokens encoded_tokens(std::span<const EncodedLayers> layers, std::int64_t prompt,
                                   std::int64_t final_tokens, std::span<const core::KeptCount> kept = {});

}  // namespace kvplan::plan
