#include "simulator/formats/formats.h"

#include <algorithm>

#include "simulator/base/family.h"

// One line per member; the order is that of `kvplan list codec`.
#define KVPLAN_FORMATS(MEMBER) \
  MEMBER(full)                 \
  MEMBER(bf16)                 \
  MEMBER(int_tensor)           \
  MEMBER(int_token)            \
  MEMBER(int_channel)          \
  MEMBER(fp8)                  \
  MEMBER(nvfp4)                \
  MEMBER(mxfp4)                \
  MEMBER(kivi)                 \
  MEMBER(kvquant)              \
  MEMBER(gear)                 \
  MEMBER(mixed)                \
  MEMBER(sparse)               \
  MEMBER(pyramid_int8)         \
  MEMBER(svd)                  \
  MEMBER(layered)              \
  MEMBER(eigen)                \
  MEMBER(kmeans)               \
  MEMBER(minicache)            \
  MEMBER(cla)                  \
  MEMBER(smaller_model)        \
  MEMBER(cam)                  \
  MEMBER(merge)                \
  MEMBER(palu)                 \
  MEMBER(lorc)                 \
  MEMBER(short_int8)           \
  MEMBER(short_int4)           \
  MEMBER(short_fp4)

namespace kvplan::formats {

KVPLAN_FAMILY(FormatKind, KVPLAN_FORMATS)

std::span<const FormatKind* const> formats() {
  return family().members();
}

Catalogue format_descriptors() {
  return family().descriptors();
}

Result<FormatChoice> parse_format(std::string_view text) {
  KVPLAN_TRY(Choice choice, parse_component(text, kFamily, format_descriptors()));
  const FormatKind& kind = family().member(choice);
  if (kind.stands_for != nullptr) return parse_format(kind.stands_for(choice));
  return FormatChoice{&kind, std::move(choice)};
}

std::string side_file_of(const FormatChoice& format) {
  if (format.kind->side.make == nullptr) return {};
  const std::string& file = format.choice.text(kSideParam.name);
  return file == kNoSideFile ? std::string() : file;
}

std::unique_ptr<Codec> make_codec(const FormatChoice& format, const Shape& shape) {
  if (format.side_layer != nullptr) return format.kind->side.make(format.choice, shape, *format.side_layer);
  return format.kind->make(format.choice, shape);
}

FormatChoice of_layer(const FormatChoice& format, std::int64_t layer, std::int64_t layers) {
  FormatChoice out = format;
  if (format.kind->of_layer != nullptr) out.choice = format.kind->of_layer(format.choice, layer, layers);
  if (format.side == nullptr) return out;
  const auto found = format.side->layers.find(layer);
  out.side_layer = found == format.side->layers.end() ? nullptr : &found->second;
  if (out.side_layer != nullptr) out.choice = format.kind->side.with_side(out.choice, *out.side_layer);
  return out;
}

std::vector<std::int64_t> other_layers(const FormatChoice& format) {
  return format.kind->other_layers == nullptr ? std::vector<std::int64_t>{}
                                              : format.kind->other_layers(format.choice);
}

Choice with_text(const Choice& choice, std::string_view param, const std::string& text) {
  auto values = choice.values();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (choice.descriptor().params[i].name == param) values[i].text = text;
  return Choice(&choice.descriptor(), std::move(values));
}

Choice placed(const Choice& choice, std::int64_t layer, std::int64_t layers) {
  if (choice.given("layer") || choice.given("layers")) return choice;
  return with_text(with_text(choice, kLayerParam.name, std::to_string(layer)), kLayersParam.name,
                   std::to_string(layers));
}

Status check_placed(const Choice& choice) {
  if (choice.integer("layer") >= choice.integer("layers"))
    return wrong_param(choice, "layer", "less than layers = " + std::to_string(choice.integer("layers")));
  return Done{};
}

Status check_params(const FormatChoice& format, const Shape& shape, std::int64_t prompt) {
  return format.kind->check == nullptr ? Status(Done{}) : format.kind->check(format.choice, shape, prompt);
}

Status check_side(const FormatChoice& format, const Shape& shape) {
  const std::string file = side_file_of(format);
  if (file.empty()) return Done{};
  const std::string field = std::string(format.choice.name()) + ":" + std::string(kSideParam.name);
  if (format.side == nullptr)
    return bad_input("this command does not read side files: expected parameters only, found " + file)
        .at_field(field);
  if (format.side_layer == nullptr)
    return bad_input("does not hold this layer").at_file(file).at_field(field);
  const Status suits = format.kind->side.check(format.choice, *format.side_layer, shape);
  if (suits.ok()) return Done{};
  const std::string& own = suits.error().field;
  return Error(suits.error()).at_file(file).at_field(own.empty() ? field : own);
}

Status check_format(const FormatChoice& format, const Shape& shape, std::int64_t prompt) {
  KVPLAN_TRY_DO(check_side(format, shape));
  return check_params(format, shape, prompt);
}

Paging paging_of(const FormatChoice& format) {
  const auto paging = format.kind->lengths.paging;
  return paging == nullptr ? Paging::kOwn : paging(format.choice);
}

std::string_view paging_name(Paging paging) {
  return paging == Paging::kTokens ? "PG0" : "PG5";
}

std::string paging_text(const FormatKind& kind) {
  if (kind.stands_for != nullptr) return {};
  const auto meaning = [](Paging paging) {
    return std::string(paging_name(paging)) + (paging == Paging::kTokens
                                                   ? ", one page holds this many tokens"
                                                   : ", pages with a geometry of their own");
  };
  std::vector<Choice::Value> values;
  for (const Param& param : kind.descriptor.params) {
    const std::string least =
        std::to_string(static_cast<std::int64_t>(param.low));  // where it has to be given
    values.push_back({.text = param.fallback.empty() ? least : std::string(param.fallback)});
  }
  const FormatChoice plain{.kind = &kind, .choice = Choice(&kind.descriptor, std::move(values))};
  std::string out = "Paging class " + meaning(paging_of(plain));
  for (const Param& param : kind.descriptor.params)
    for (const std::string_view value : param.choices) {
      FormatChoice other = plain;
      other.choice = with_text(plain.choice, param.name, std::string(value));
      if (paging_of(other) != paging_of(plain))
        out +=
            "; with " + std::string(param.name) + "=" + std::string(value) + " " + meaning(paging_of(other));
    }
  return out + ".";
}

bool follows_from_lengths(const FormatChoice& format) {
  const LengthRule& rule = format.kind->lengths;
  return rule.undecided == nullptr || !rule.undecided(format.choice);
}

bool follows_from_count(const FormatChoice& format) {
  const LengthRule& rule = format.kind->lengths;
  return follows_from_lengths(format) && rule.by_count != nullptr && rule.by_count(format.choice);
}

bool follows_from_positions(const FormatChoice& format, std::int64_t sinks) {
  const LengthRule& rule = format.kind->lengths;
  return follows_from_count(format) || (follows_from_lengths(format) && rule.by_position != nullptr &&
                                        rule.by_position(format.choice, sinks));
}

std::string_view assumed(const FormatChoice& format) {
  return follows_from_count(format) ? std::string_view() : format.kind->lengths.assumes;
}

Result<LayerBytes> bytes_from_lengths(const FormatChoice& format, const Shape& shape,
                                      const Lengths& lengths) {
  const LengthRule& rule = format.kind->lengths;
  const auto refused = [&](const std::string& why) { return bad_input(why).at_field(format.choice.name()); };
  if (!follows_from_lengths(format))
    return refused("its bytes cannot be computed from lengths: " + std::string(rule.numbers_decide) +
                   "; `kvplan format` counts them on a recording");
  const bool told =
      follows_from_count(format) || (lengths.sinks >= 0 && follows_from_positions(format, lengths.sinks));
  if (lengths.dropped > 0 && !told)
    return refused(
        "its bytes depend on which tokens were evicted while decoding, and lengths give only their number; "
        "`kvplan format --evict` counts the bytes on a recording");
  const auto of = [&](Side side) { return rule.regions(format.choice, shape, lengths, side); };
  return LayerBytes{.keys = of(Side::kKeys), .values = of(Side::kValues)};
}

std::int64_t stored_tokens(const FormatChoice& format, const Lengths& lengths) {
  const auto keeps = format.kind->lengths.keeps;
  return keeps == nullptr ? lengths.stored() : std::min(lengths.stored(), keeps(format.choice));
}

Error wrong_param(const Choice& choice, std::string_view param, const std::string& what) {
  for (std::size_t i = 0; i < choice.values().size(); ++i)
    if (choice.descriptor().params[i].name == param)
      return bad_input("expected " + what + ", found " + choice.values()[i].text)
          .at_field(std::string(choice.name()) + ":" + std::string(param));
  check_failed("this format has the parameter", __FILE__, __LINE__);
}

Status check_group(const Choice& choice, std::string_view param, const Shape& shape) {
  const std::int64_t group = choice.integer(param);
  if (group == 0) return Done{};
  for (const Side side : kSides)
    if (shape.size(side) % group != 0)
      return wrong_param(choice, param,
                         "a divisor of the " + std::to_string(shape.size(side)) + " channels of a " +
                             (side == Side::kKeys ? "key" : "value"));
  return Done{};
}

}  // namespace kvplan::formats
