// In what a run stores keys and values: `format` of a scenario, and `window_format`. It names a member of the family
// "format", or a codec (simulator/formats) whose bytes follow from lengths. A codec that stores each token at once, all
// alike, is a width of tokens like any other: everything else of a run works with it, but what needs layers of one
// width where its layers have widths of their own. Of any other the bytes depend on what else is stored, and requests
// follow courses (courses/encoded_course.h).
//
// `window_format` tells layers with a window apart from the others: they keep the newest tokens, as many as their
// window shows, in that format, whatever a token policy leaves of the others. All layers share a table, which is filled
// with bytes. Without it every layer stores what the others do.
//
// Order: a token policy, and a window, take tokens of the prompt away before what stays is encoded. Later tokens are
// encoded as their format does it in the step that wrote them, and then the oldest ones go (formats/lengths.h).
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

#include "simulator/courses/encoded_course.h"
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
/// What `window_format` can name: none, or what `format` can.
Catalogue window_formats();
inline constexpr std::string_view kWindowFormatFamily = "window-format";
/// False of `none`.
bool tells_windows_apart(const Choice& window_format);
/// A format with its parameters. Where a codec has the same name as a member of the family "format", and that does
/// not take the parameters, the codec is meant: `fp8` is a byte an element, `fp8:scale=amax` the codec.
Result<Choice> parse_run_format(std::string_view text);
/// The same of window_formats.
Result<Choice> parse_window_format(std::string_view text);
/// REQUIRES: a choice of parse_run_format.
RunFormat run_format(Choice choice);

/// The codec of that descriptor; null: it is of the family "format".
const formats::FormatKind* codec_kind(const Choice& choice);

/// Reads a side file by its path; called from any thread.
using SideOpener = std::function<Result<std::shared_ptr<const formats::SideData>>(const std::string& path)>;

/// The same on a model: the parameters of each layer, and those that a side file says. `open` may be empty where no
/// file is named. Errors (the field begins with the format's name): a file that cannot be read; check_side_file.
Result<RunFormat> format_on_model(const RunFormat& format, const model::ModelShape& model,
                                  std::int64_t tensor_ranks, const SideOpener& open);

/// The place of a token on a model whose layers with a window have a format of their own; both formats as they are on
/// the model. Errors (field: window_format): no layer has a window; it does not suit these layers.
Result<model::KvFormat> places_of(const RunFormat& format, const RunFormat& of_windows,
                                  const model::ModelShape& model);

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

/// Neighbouring layers of a rank that store alike.
struct EncodedLayers {
  std::optional<formats::FormatChoice> codec{};  ///< nothing: tokens stay in their places
  formats::Shape shape;
  model::TokenBytes place;       ///< of a token, until it is encoded
  std::int64_t beside_bytes{0};  ///< what a policy keeps beside each token, as metadata
  std::int64_t window{0};        ///< tokens that are kept, whatever a policy says; 0: it says it
  std::int64_t layers{1};
};

/// How a rank's layers store. `of_windows`: nothing where no `window_format` tells their layers apart.
struct LayerFormats {
  const RunFormat& format;
  const RunFormat* of_windows{nullptr};
  const model::KvFormat& places;  ///< of both
};

/// The layers [first, first + layers) of a model on one of `tensor_ranks` ranks. Errors (field: format, or
/// window_format): a model with a latent vector; parameters that do not suit its heads; check_layers_together; bytes
/// that do not follow from lengths with these parameters.
Result<std::vector<EncodedLayers>> encoded_layers(const LayerFormats& formats, const model::ModelShape& model,
                                                  std::int64_t tensor_ranks, std::int64_t first,
                                                  std::int64_t layers);

/// Which tokens of a layer stay.
struct KeptTokens {
  core::KeptCount count{.budget = INT64_MAX};
  /// Where positions decide which: so many first ones, and of the others the newest. -1: only the number is known.
  std::int64_t sinks{-1};
  friend bool operator==(const KeptTokens&, const KeptTokens&) = default;
};
/// What a format is given then: the prompt's part that stays, a token more in each step, and what goes after it.
formats::Lengths lengths_of(const KeptTokens& kept, std::int64_t prompt, std::int64_t generated);

/// What a request of such lengths stores after its prompt and after each later step. While that would take more than
/// the same tokens do in their places, they stay there. `kept`: what a policy keeps, by layer of the rank or one for
/// all; empty: everything. REQUIRES: the bytes follow from these lengths; the policy cuts the prompt alone, or the
/// formats' bytes follow from what it leaves (formats::follows_from_count, follows_from_positions).
core::EncodedTokens encoded_tokens(std::span<const EncodedLayers> layers, std::int64_t prompt,
                                   std::int64_t final_tokens, std::span<const KeptTokens> kept = {});

}  // namespace kvplan::plan
