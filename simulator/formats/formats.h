// The family of formats as codecs: a member is one file in members/ with a `FormatKind`, and one line in formats.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/formats/codec.h"
#include "simulator/formats/lengths.h"
#include "simulator/formats/side_data.h"

namespace kvplan::formats {

inline constexpr std::string_view kFamily = "codec";

/// How the results of two implementations compare.
enum class Exactness : std::uint8_t {
  kExact,      ///< codes and stored numbers are equal bit by bit
  kTolerance,  ///< the last digits of stored numbers depend on the order of operations
};

struct FormatKind {
  Descriptor descriptor;
  std::string_view golden_name{};  ///< name in reports and golden files; empty for an alias
  Exactness exactness{Exactness::kExact};
  /// Checks combinations of parameters for such a layer and a prompt of `prompt` tokens; may be null. The error's
  /// field is "NAME:parameter".
  Status (*check)(const Choice&, const Shape&, std::int64_t prompt) = nullptr;
  /// REQUIRES: `check` reports no error. Null for an alias.
  std::unique_ptr<Codec> (*make)(const Choice&, const Shape&) = nullptr;
  LengthRule lengths{};
  /// If parameters name the layer: the choice for layer `layer` of `layers`, with parameters that were not given filled
  /// in. Null if all layers are equal.
  Choice (*of_layer)(const Choice&, std::int64_t layer, std::int64_t layers) = nullptr;
  /// For a format that stores several layers together: the other layers, ascending, the tokens of which the codec of
  /// this layer (`of_layer`) gets after its own. Null if layers are stored one by one.
  std::vector<std::int64_t> (*other_layers)(const Choice&) = nullptr;
  /// The codec gets the whole prompt, and then the tokens of the prompt that a policy drops, because it merges dropped
  /// tokens, or because heads share stored parts of a token.
  bool whole_prompt{false};
  /// True if heads share stored parts of a token, which are freed with the last head that keeps it. Bytes from lengths
  /// are then correct only for heads that drop the same tokens. Null: never.
  bool (*joins_heads)(const Choice&) = nullptr;
  /// If no codec can be made (at least without a side file) and so no error can be computed: the reason, as part of a
  /// sentence. Empty if a codec can be made.
  std::string_view bytes_alone{};
  /// For a format that can use a side file (side_data.h), named by the parameter kSideParam; null members: it cannot.
  struct Side {
    /// Checks that the file fits the layer; the error says what was expected.
    Status (*check)(const Choice&, const SideLayer&, const Shape&) = nullptr;
    /// The choice with the parameters of the file.
    Choice (*with_side)(const Choice&, const SideLayer&) = nullptr;
    std::unique_ptr<Codec> (*make)(const Choice&, const Shape&, const SideLayer&) = nullptr;
    /// Number of KV heads of a layer that share numbers of the file, and so cannot be divided among ranks. Null:
    /// none.
    std::int32_t (*heads_together)(const Choice&, const Shape&) = nullptr;
  } side{};
  /// For an alias: the format that it stands for, as a user would write it.
  std::string (*stands_for)(const Choice&) = nullptr;
};

namespace full {
extern const FormatKind kMember;
}
/// The format that stores the elements of a recording as they are.
inline constexpr const FormatKind& kFullFormat = full::kMember;
/// All members, aliases included.
std::span<const FormatKind* const> formats();
Catalogue format_descriptors();

struct FormatChoice {
  const FormatKind* kind{nullptr};
  Choice choice;
  std::shared_ptr<const SideData> side{};  ///< content of its side file, once it was read
  const SideLayer* side_layer{nullptr};    ///< the part of the side file for the layer (of_layer)

  /// True: keys are stored before position encoding rotates them.
  [[nodiscard]] bool before_rotation() const { return side_layer != nullptr; }
};
/// Parses `NAME[:key=value,...]`; an alias is replaced by the format that it stands for. Errors as parse_component.
Result<FormatChoice> parse_format(std::string_view text);
/// Path of the side file that the parameters name; empty: none.
std::string side_file_of(const FormatChoice& format);
/// Makes a codec of the layer. REQUIRES: check_format reports no error, and the format has a codec (bytes_alone).
std::unique_ptr<Codec> make_codec(const FormatChoice& format, const Shape& shape);
/// The format in one layer of a model.
FormatChoice of_layer(const FormatChoice& format, std::int64_t layer, std::int64_t layers);
/// The layers that are stored together with the layer of this choice; empty if none.
std::vector<std::int64_t> other_layers(const FormatChoice& format);
/// Calls `check` of the format, if it has one: checks its parameters alone.
Status check_params(const FormatChoice& format, const Shape& shape, std::int64_t prompt);
/// Errors: the side file, if one is named, was not read or does not fit the layer with all heads of its model.
Status check_side(const FormatChoice& format, const Shape& shape);
/// check_params and check_side.
Status check_format(const FormatChoice& format, const Shape& shape, std::int64_t prompt);
/// The contents of cache pages in this format.
Paging paging_of(const FormatChoice& format);
/// "PG0" or "PG5".
std::string_view paging_name(Paging paging);
/// paging_name of a member with its defaults, and the parameters that change it, as a sentence. Empty for an alias.
std::string paging_text(const FormatKind& kind);
/// True: its bytes follow from lengths, at least while no token is dropped.
bool follows_from_lengths(const FormatChoice& format);
/// True: the bytes also follow from the number of kept tokens, whichever were dropped (LengthRule::by_count).
bool follows_from_count(const FormatChoice& format);
/// True: the bytes also follow if positions decide which tokens are kept (Lengths::sinks).
bool follows_from_positions(const FormatChoice& format, std::int64_t sinks);
/// The assumption of the byte count about the numbers (LengthRule::assumes), with these parameters. Empty: none.
std::string_view assumed(const FormatChoice& format);
/// Bytes of a layer after the last step, from lengths alone. REQUIRES: check_format reports no error. Errors (field:
/// the format's name): the bytes depend on the numbers, or on which tokens were dropped.
Result<LayerBytes> bytes_from_lengths(const FormatChoice& format, const Shape& shape, const Lengths& lengths);
/// Number of tokens that a head stores after the last step.
std::int64_t stored_tokens(const FormatChoice& format, const Lengths& lengths);

// Functions that members share:

inline constexpr std::string_view kNoSideFile = "none";
inline constexpr Param kSideParam{.name = "file",
                                  .help = "Side file, computed from the model's weights or by calibration",
                                  .kind = ParamKind::kText,
                                  .fallback = kNoSideFile,
                                  .names_file = true,
                                  .default_unsaid = true};
/// "expected WHAT, found N" at "NAME:parameter".
Error wrong_param(const Choice& choice, std::string_view param, const std::string& what);
/// Checks groups of channels: 0 means the whole vector; other sizes must divide keys and values.
Status check_group(const Choice& choice, std::string_view param, const Shape& shape);
/// Channels in a group: `group`, or the whole vector for 0.
constexpr std::int32_t group_of(std::int64_t group, std::int32_t size) {
  return group == 0 ? size : static_cast<std::int32_t>(group);
}
/// The choice with another text for this parameter; the parameter counts as given if it did before.
Choice with_text(const Choice& choice, std::string_view param, const std::string& text);
/// The choice with the parameters `layer` and `layers` set to this layer, unless one of them was given.
Choice placed(const Choice& choice, std::int64_t layer, std::int64_t layers);
/// Checks that `layer` is below `layers`.
Status check_placed(const Choice& choice);
inline constexpr double kMostLayers = 4096;
// Their defaults stay unset, so that a choice that is written and read again still means the number of each layer.
inline constexpr Param kLayerParam{.name = "layer",
                                   .help = "Index of the layer, from 0",
                                   .fallback = "0",
                                   .low = 0,
                                   .high = kMostLayers - 1,
                                   .default_unsaid = true};
inline constexpr Param kLayersParam{.name = "layers",
                                    .help = "Number of layers of the model",
                                    .fallback = "32",
                                    .low = 1,
                                    .high = kMostLayers,
                                    .default_unsaid = true};
inline constexpr double kMostChannels = 65536;
inline constexpr double kMostTokens = 1 << 30;

constexpr Param bits_param(std::string_view help, std::string_view fallback) {
  return {.name = "bits", .help = help, .fallback = fallback, .low = 2, .high = 8};
}
inline constexpr Param kGroupParam{
    .name = "group",
    .help = "Channels of a token that share a scale; 0: all channels of the head",
    .fallback = "0",
    .low = 0,
    .high = kMostChannels};

}  // namespace kvplan::formats
