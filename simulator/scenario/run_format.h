// The format in which a run stores keys and values: `format` of a scenario, and `window_format`. It names a member of
// the family "format", or a codec (simulator/formats) with bytes that follow from lengths. A codec that stores each
// token at once, in the same bytes, is like a plain number of bytes per token. Such a codec works with all other parts
// of a run, except those that need all layers to have the same bytes. With any other codec the bytes depend on the
// other stored tokens, and requests follow courses (courses/encoded_course.h).
//
// `window_format` applies to layers with a window. They store their newest tokens, as many as the window has, in that
// format, whatever a token policy keeps in other layers. All layers share a table, which is filled with bytes. Without
// `window_format` every layer has the same format.
//
// Order: a token policy, and a window, drop tokens of the prompt before the rest is encoded. Later tokens are encoded
// by their format in the step that wrote them, and then the oldest ones are dropped (formats/lengths.h).
//
// Life cycle: `run_format` is called when a scenario is resolved, without its model and any file; `format_on_model`
// when a run is made, with the content of a side file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/courses/encoded_course.h"
#include "simulator/formats/formats.h"
#include "simulator/model/kv_format.h"
#include "simulator/model/model_shape.h"

namespace kvplan::runs {

struct RunFormat {
  model::KvFormat of_token;  ///< format of a token's slot; exact if tokens are encoded later
  std::optional<formats::FormatChoice> encoded{};  ///< the later format of encoded tokens
};

/// The values of `format`: the family "format", and codecs with other names.
Catalogue run_formats();
/// The values of `window_format`: none, or those of `format`.
Catalogue window_formats();
inline constexpr std::string_view kWindowFormatFamily = "window-format";
/// False for `none`.
bool tells_windows_apart(const Choice& window_format);
/// Parses a format with its parameters. If a codec has the same name as a member of the family "format", and that
/// member does not take the parameters, the codec is meant: `fp8` is one byte per element, `fp8:scale=amax` the
/// codec.
Result<Choice> parse_run_format(std::string_view text);
/// Parses a value of window_formats in the same way.
Result<Choice> parse_window_format(std::string_view text);
/// REQUIRES: a choice of parse_run_format.
RunFormat run_format(Choice choice);

/// The codec that the choice names; null: the choice is of the family "format".
const formats::FormatKind* codec_kind(const Choice& choice);

/// Reads a side file; called from any thread.
using SideOpener = std::function<Result<std::shared_ptr<const formats::SideData>>(const std::string& path)>;

/// Applies the format to a model: the parameters of each layer, and those from a side file. `open` may be empty if no
/// file is named. Errors (the field begins with the format's name): a file that cannot be read; check_side_file.
Result<RunFormat> format_on_model(const RunFormat& format, const model::ModelShape& model,
                                  std::int64_t tensor_ranks, const SideOpener& open);

/// The format of a token's slot, for a model in which layers with a window have their own format; both formats are from
/// format_on_model. Errors (field: window_format): no layer has a window; the format does not fit these layers.
Result<model::KvFormat> places_of(const RunFormat& format, const RunFormat& of_windows,
                                  const model::ModelShape& model);

/// Checks that the side file of a format, if it names one, has exactly the layers of the model, each with its heads
/// and channels, and that no group of heads which share numbers of the file is divided among `tensor_ranks` ranks.
/// REQUIRES: the file was read. Errors: the file, the format's parameter, the layer.
Status check_side_file(const formats::FormatChoice& format, const model::ModelShape& model,
                       std::int64_t tensor_ranks);

/// True: heads share stored parts of a token, which are freed when the last of them drops it.
bool joins_heads(const model::KvFormat& format);

/// If only the bytes of a format are known, with any side file: the reason, as part of a sentence. Else empty.
std::string_view bytes_alone(const model::KvFormat& format);

/// The shape of a layer's heads, with one query head each: bytes do not depend on queries. REQUIRES: it stores keys
/// and values by head.
formats::Shape shape_of(const model::LayerCache& cache);

/// Checks layers that are stored together: all of them must be among [first, first + layers), with equal heads and
/// windows. Errors (field: the format's name).
Status check_layers_together(const formats::FormatChoice& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers);
/// The same check for a format with a number of bytes per token, made by format_on_model.
Status check_layers_together(const model::KvFormat& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers);

/// Neighbouring layers of a rank with the same storage.
struct EncodedLayers {
  std::optional<formats::FormatChoice> codec{};  ///< absent: tokens are not encoded
  formats::Shape shape;
  model::TokenBytes place;       ///< bytes of a token before it is encoded
  std::int64_t beside_bytes{0};  ///< metadata of a policy for each token
  /// Number of newest tokens that are kept, whatever a policy says; 0: the policy decides
  std::int64_t window{0};
  std::int64_t layers{1};
};

/// The storage of a rank's layers. `of_windows`: absent without `window_format`.
struct LayerFormats {
  const RunFormat& format;
  const RunFormat* of_windows{nullptr};
  const model::KvFormat& places;  ///< format of a token's slot in all layers
};

/// The storage of layers [first, first + layers) of a model on one of `tensor_ranks` ranks. Errors (field: format, or
/// window_format): a model with a latent vector; parameters that do not fit its heads; those of check_layers_together;
/// bytes that do not follow from lengths with these parameters.
Result<std::vector<EncodedLayers>> encoded_layers(const LayerFormats& formats, const model::ModelShape& model,
                                                  std::int64_t tensor_ranks, std::int64_t first,
                                                  std::int64_t layers);

/// The tokens that a layer keeps.
struct KeptTokens {
  core::KeptCount count{.budget = INT64_MAX};
  /// If positions decide: number of first tokens; the other kept tokens are the newest. -1: only the number is known.
  std::int64_t sinks{-1};
  friend bool operator==(const KeptTokens&, const KeptTokens&) = default;
};
/// The lengths that a format gets in that case: the kept part of the prompt, one more token in each step, later drops.
formats::Lengths lengths_of(const KeptTokens& kept, std::int64_t prompt, std::int64_t generated);

/// The bytes that a request with these lengths stores after its prompt and after each later step. As long as encoding
/// would take more bytes than exact tokens, tokens stay exact. `kept`: the tokens that a policy keeps, by layer of the
/// rank or one entry for all; empty: everything. REQUIRES: the bytes follow from these lengths; the policy cuts only
/// the prompt, or the formats' bytes follow from the kept tokens (formats::follows_from_count, follows_from_positions).
core::EncodedTokens encoded_tokens(std::span<const EncodedLayers> layers, std::int64_t prompt,
                                   std::int64_t final_tokens, std::span<const KeptTokens> kept = {});

}  // namespace kvplan::runs
