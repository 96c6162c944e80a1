// The family of formats as codecs: a member is one file in members/ with a `FormatKind` and one line in formats.cpp.
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

/// How results of two implementations compare.
enum class Exactness : std::uint8_t {
  kExact,      ///< codes and stored numbers are equal bit by bit
  kTolerance,  ///< stored numbers depend on the order of operations in their last digits
};

struct FormatKind {
  Descriptor descriptor;
  std::string_view golden_name{};  ///< what reports and golden files call it; empty of a short name
  Exactness exactness{Exactness::kExact};
  /// What ranges cannot say of parameters, for such a layer and a prompt of so many tokens; may be null. The error's
  /// field is "NAME:parameter".
  Status (*check)(const Choice&, const Shape&, std::int64_t prompt) = nullptr;
  /// REQUIRES: `check` found nothing. Null of a short name.
  std::unique_ptr<Codec> (*make)(const Choice&, const Shape&) = nullptr;
  LengthRule lengths{};
  /// Where parameters say which layer it is: the choice for layer `layer` of `layers`, as far as they were not given.
  /// Null where layers are alike.
  Choice (*of_layer)(const Choice&, std::int64_t layer, std::int64_t layers) = nullptr;
  /// Of a format that stores several layers together: the other layers whose tokens the codec of this one (`of_layer`)
  /// is given behind its own, ascending. Null where layers are stored one by one.
  std::vector<std::int64_t> (*other_layers)(const Choice&) = nullptr;
  /// The codec is given the whole prompt, and then what a policy drops of it: it merges tokens that go, or heads share
  /// what is stored of a token.
  bool whole_prompt{false};
  /// True where heads share what is stored of a token, which so goes with the last head that keeps it: what lengths say
  /// is of heads that drop the same tokens. Null: nowhere.
  bool (*joins_heads)(const Choice&) = nullptr;
  /// Why no codec can be made, at least without a side file, and no error be computed: a part of a sentence. Empty
  /// where one can.
  std::string_view bytes_alone{};
  /// Of a format that a side file (side_data.h) can tell more, in the parameter kSideParam; null members: none can.
  struct Side {
    /// Whether the file suits the layer; the error says what was expected.
    Status (*check)(const Choice&, const SideLayer&, const Shape&) = nullptr;
    /// Parameters as the file has them.
    Choice (*with_side)(const Choice&, const SideLayer&) = nullptr;
    std::unique_ptr<Codec> (*make)(const Choice&, const Shape&, const SideLayer&) = nullptr;
    /// KV heads of a layer that share numbers of the file, which ranks cannot divide among them. Null: none do.
    std::int32_t (*heads_together)(const Choice&, const Shape&) = nullptr;
  } side{};
  /// Of a short name: the format that it stands for, as a user would write it.
  std::string (*stands_for)(const Choice&) = nullptr;
};

/// Every member, short names included.
std::span<const FormatKind* const> formats();
Catalogue format_descriptors();

struct FormatChoice {
  const FormatKind* kind{nullptr};
  Choice choice;
  std::shared_ptr<const SideData> side{};  ///< what its file says, once it was read
  const SideLayer* side_layer{nullptr};    ///< of it the layer's (of_layer)

  /// Keys are stored as they are before position encoding turns them.
  [[nodiscard]] bool before_rotation() const { return side_layer != nullptr; }
};
/// Parses `NAME[:key=value,...]`; of a short name comes what it stands for. Errors as parse_component.
Result<FormatChoice> parse_format(std::string_view text);
/// The side file that its parameters name; empty: none.
std::string side_file_of(const FormatChoice& format);
/// A codec of the layer. REQUIRES: check_format found nothing, and the format's numbers can be had (bytes_alone).
std::unique_ptr<Codec> make_codec(const FormatChoice& format, const Shape& shape);
/// The format in one layer of a model.
FormatChoice of_layer(const FormatChoice& format, std::int64_t layer, std::int64_t layers);
/// The layers that the one of this choice is stored with; empty where it is stored for itself.
std::vector<std::int64_t> other_layers(const FormatChoice& format);
/// `check` of the format, where it has one: of its parameters alone.
Status check_params(const FormatChoice& format, const Shape& shape, std::int64_t prompt);
/// Whether the side file that is named, if one is, was read and suits the layer, of all heads of its model.
Status check_side(const FormatChoice& format, const Shape& shape);
/// Both.
Status check_format(const FormatChoice& format, const Shape& shape, std::int64_t prompt);
/// What pages hold of it.
Paging paging_of(const FormatChoice& format);
/// "PG0" or "PG5".
std::string_view paging_name(Paging paging);
/// The same of a member with its defaults, and which parameters make it another: a sentence. Empty of a short name,
/// whose parameters say what it stands for.
std::string paging_text(const FormatKind& kind);
/// Whether lengths say its bytes, at least while no token goes.
bool follows_from_lengths(const FormatChoice& format);
/// And from how many tokens stay, whichever went (LengthRule::by_count)?
bool follows_from_count(const FormatChoice& format);
/// And from which tokens stay, where positions decide (Lengths::sinks)?
bool follows_from_positions(const FormatChoice& format, std::int64_t sinks);
/// What that takes for granted of numbers (LengthRule::assumes), with these parameters. Empty: nothing.
std::string_view assumed(const FormatChoice& format);
/// What a layer takes after the last step, from lengths alone. REQUIRES: check_format found nothing. Errors (field:
/// the format's name): numbers decide, or which of the tokens went.
Result<LayerBytes> bytes_from_lengths(const FormatChoice& format, const Shape& shape, const Lengths& lengths);
/// Tokens of a head that it stores then.
std::int64_t stored_tokens(const FormatChoice& format, const Lengths& lengths);

// What members share.

inline constexpr std::string_view kNoSideFile = "none";
inline constexpr Param kSideParam{.name = "file",
                                  .help = "A side file of the model's weights or of calibration",
                                  .kind = ParamKind::kText,
                                  .fallback = kNoSideFile,
                                  .names_file = true,
                                  .default_unsaid = true};
/// "expected WHAT, found N" at "NAME:parameter".
Error wrong_param(const Choice& choice, std::string_view param, const std::string& what);
/// Groups of channels: 0 stands for the whole vector, others divide keys and values.
Status check_group(const Choice& choice, std::string_view param, const Shape& shape);
/// The group of a side: `group`, or the whole vector.
constexpr std::int32_t group_of(std::int64_t group, std::int32_t size) {
  return group == 0 ? size : static_cast<std::int32_t>(group);
}
/// A choice with another text of this parameter, which counts as given as before.
Choice with_text(const Choice& choice, std::string_view param, const std::string& text);
/// A choice with the parameters `layer` and `layers`: those of this layer, unless one of both was given.
Choice placed(const Choice& choice, std::int64_t layer, std::int64_t layers);
/// That `layer` is below `layers`.
Status check_placed(const Choice& choice);
inline constexpr double kMostLayers = 4096;
// Their defaults are unsaid: what is written of a choice and read again still means every layer's own place.
inline constexpr Param kLayerParam{.name = "layer",
                                   .help = "The layer, counted from 0",
                                   .fallback = "0",
                                   .low = 0,
                                   .high = kMostLayers - 1,
                                   .default_unsaid = true};
inline constexpr Param kLayersParam{.name = "layers",
                                    .help = "Layers of the model",
                                    .fallback = "32",
                                    .low = 1,
                                    .high = kMostLayers,
                                    .default_unsaid = true};
inline constexpr double kMostChannels = 65536;
inline constexpr double kMostTokens = 1 << 30;

constexpr Param bits_param(std::string_view help, std::string_view fallback) {
  return {.name = "bits", .help = help, .fallback = fallback, .low = 2, .high = 8};
}
inline constexpr Param kGroupParam{.name = "group",
                                   .help = "Channels of a token that share a scale; 0: all of its head",
                                   .fallback = "0",
                                   .low = 0,
                                   .high = kMostChannels};

}  // namespace kvplan::formats
