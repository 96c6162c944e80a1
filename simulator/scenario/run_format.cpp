#include "simulator/scenario/run_format.h"

#include <algorithm>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/model/ranks.h"

namespace kvplan::runs {
namespace {

/// The codec with this descriptor, or null.
const formats::FormatKind* codec_of(const Descriptor& descriptor) {
  for (const formats::FormatKind* kind : formats::formats())
    if (&kind->descriptor == &descriptor) return kind;
  return nullptr;
}

constexpr std::string_view kField = "format";
constexpr std::string_view kWindowField = "window_format";

Error placed_at(std::string_view field, const Error& error) {
  return Error(error).at_field(std::string(field) + ": " + error.field);
}

const Descriptor kNoWindowFormat{
    .family = kWindowFormatFamily,
    .name = "none",
    .summary = "The default in a scenario: sliding-window layers use the format of the other layers",
    .source = "kvplan",
    .params = {}};

// Errors of these two have no "format: " before the field: the caller knows where the format was named.
Status check_by_head(const formats::FormatChoice& format, const model::LayerCache& cache) {
  if (cache.kind != model::CacheKind::kLatent) return Done{};
  return bad_input("expected a model that stores keys and values by head; this model stores a latent vector")
      .at_field(format.choice.name());
}

Status check_layer(const formats::FormatChoice& format, const model::LayerCache& cache) {
  if (cache.kind == model::CacheKind::kNone) return Done{};
  KVPLAN_TRY_DO(check_by_head(format, cache));
  const auto refused = [&](std::string_view why) {
    return bad_input(std::string(why)).at_field(format.choice.name());
  };
  if (!formats::follows_from_lengths(format))
    return refused("expected a format with bytes that follow from lengths: " +
                   std::string(format.kind->lengths.numbers_decide));
  return formats::check_params(format, shape_of(cache), static_cast<std::int64_t>(formats::kMostTokens) * 2);
}

/// The `rule` of codecs that store tokens at once.
Result<model::TokenBytes> bytes_at_once(const Choice& choice, const model::LayerCache& cache,
                                        std::int64_t /*element_bytes*/) {
  if (cache.kind == model::CacheKind::kNone) return model::TokenBytes{};
  const formats::FormatChoice format{.kind = codec_of(choice.descriptor()), .choice = choice};
  const bool whole = cache.kind == model::CacheKind::kLatent || (cache.key_size > 0 && cache.value_size > 0);
  if (whole) KVPLAN_TRY_DO(check_layer(format, cache));
  KVPLAN_TRY(formats::LayerBytes bytes, formats::bytes_from_lengths(format, shape_of(cache), {.prompt = 1}));
  if (cache.key_size == 0) bytes.keys = {};
  if (cache.value_size == 0) bytes.values = {};
  return model::TokenBytes{bytes.total() - bytes.metadata(), bytes.metadata()};
}

/// The `rule` where layers have formats of either family.
Result<model::TokenBytes> bytes_of_place(const Choice& choice, const model::LayerCache& cache,
                                         std::int64_t element_bytes) {
  return codec_of(choice.descriptor()) == nullptr ? model::token_bytes(choice, cache, element_bytes)
                                                  : bytes_at_once(choice, cache, element_bytes);
}

/// A format with a fixed number of bytes per token, with the parameters of each layer of a model. Values from a side
/// file become ordinary parameters, and no file is named any more.
model::KvFormat width_on_model(const formats::FormatChoice& format, std::int64_t layers) {
  std::vector<Choice> of_layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Choice choice = formats::of_layer(format, layer, layers).choice;
    if (format.side != nullptr)
      choice = formats::with_text(choice, formats::kSideParam.name, std::string(formats::kNoSideFile));
    of_layers.push_back(std::move(choice));
  }
  const bool alike = format.kind->of_layer == nullptr &&
                     std::all_of(of_layers.begin(), of_layers.end(), [&](const Choice& choice) {
                       return choice.to_string() == of_layers.front().to_string();
                     });
  model::KvFormat out(of_layers.front(), bytes_at_once);
  if (!alike) out.by_layer = std::move(of_layers);
  return out;
}

void add(core::StoredBytes& sum, const formats::LayerBytes& bytes, std::int64_t layers) {
  const std::int64_t exact = bytes.keys.exact + bytes.values.exact;
  sum.coded += layers * (bytes.total() - bytes.metadata() - exact);
  sum.metadata += layers * bytes.metadata();
  sum.exact += layers * exact;
}

}  // namespace

formats::Shape shape_of(const model::LayerCache& cache) {
  const auto heads = static_cast<std::int32_t>(cache.heads);
  return {.query_heads = heads,
          .kv_heads = heads,
          .key_size = static_cast<std::int32_t>(cache.key_size),
          .value_size = static_cast<std::int32_t>(cache.value_size)};
}

const formats::FormatKind* codec_kind(const Choice& choice) {
  return codec_of(choice.descriptor());
}

Catalogue run_formats() {
  static const std::vector<const Descriptor*> kAll = [] {
    const Catalogue elements = model::format_descriptors();
    std::vector<const Descriptor*> all(elements.begin(), elements.end());
    for (const formats::FormatKind* kind : formats::formats()) {
      const bool named = std::any_of(elements.begin(), elements.end(),
                                     [&](const Descriptor* d) { return d->name == kind->descriptor.name; });
      if (!named) all.push_back(&kind->descriptor);
    }
    return all;
  }();
  return kAll;
}

Catalogue window_formats() {
  static const std::vector<const Descriptor*> kAll = [] {
    std::vector<const Descriptor*> all{&kNoWindowFormat};
    const Catalogue formats = run_formats();
    all.insert(all.end(), formats.begin(), formats.end());
    return all;
  }();
  return kAll;
}

bool tells_windows_apart(const Choice& window_format) {
  return &window_format.descriptor() != &kNoWindowFormat;
}

Result<Choice> parse_window_format(std::string_view text) {
  if (text == kNoWindowFormat.name) return parse_component(text, kWindowFormatFamily, window_formats());
  return parse_run_format(text);
}

Result<Choice> parse_run_format(std::string_view text) {
  auto format = parse_component(text, "format", run_formats());
  if (format.ok()) return format;
  const std::string_view name = text.substr(0, text.find(':'));
  const Catalogue codecs = formats::format_descriptors();
  const bool codec =
      std::any_of(codecs.begin(), codecs.end(), [&](const Descriptor* d) { return d->name == name; });
  return codec ? parse_component(text, "format", codecs) : std::move(format);
}

RunFormat run_format(Choice choice) {
  const formats::FormatKind* const kind = codec_of(choice.descriptor());
  if (kind == nullptr) return {.of_token = std::move(choice)};
  if (formats::paging_of({.kind = kind, .choice = choice}) == formats::Paging::kTokens)
    return {.of_token = {std::move(choice), bytes_at_once}};
  Choice native = model::native_format();
  return {.of_token = std::move(native),
          .encoded = formats::FormatChoice{.kind = kind, .choice = std::move(choice)}};
}

Result<RunFormat> format_on_model(const RunFormat& format, const model::ModelShape& model,
                                  std::int64_t tensor_ranks, const SideOpener& open) {
  const Choice& named = format.encoded ? format.encoded->choice : format.of_token.choice;
  const formats::FormatKind* const kind = codec_of(named.descriptor());
  if (kind == nullptr) return format;
  formats::FormatChoice told{.kind = kind, .choice = named};
  if (const std::string file = formats::side_file_of(told); !file.empty()) {
    const std::string field = std::string(named.name()) + ":" + std::string(formats::kSideParam.name);
    if (!open) return bad_input("side files cannot be read here").at_field(field);
    auto side = open(file);
    if (!side.ok() && side.error().kind == ErrorKind::kInterrupted) return side.error();
    if (!side.ok()) return bad_input(side.error().to_string()).at_field(field);
    told.side = std::move(side).value();
    KVPLAN_TRY_DO(check_side_file(told, model, tensor_ranks));
  }
  RunFormat out = format;
  if (out.encoded) {
    out.encoded = std::move(told);
  } else if (told.side != nullptr || kind->of_layer != nullptr) {
    out.of_token = width_on_model(told, model.layers);
  }
  return out;
}

Result<model::KvFormat> places_of(const RunFormat& format, const RunFormat& of_windows,
                                  const model::ModelShape& model) {
  if (model.window_layers() == 0)
    return bad_input("expected a model with sliding-window layers; " + model.name + " has none")
        .at_field(kWindowField);
  model::KvFormat out(format.of_token.choice, bytes_of_place);
  for (const model::LayerRun& run : model.runs)
    for (std::int64_t i = 0; i < run.layers; ++i) {
      const model::KvFormat& own = run.cache.window > 0 ? of_windows.of_token : format.of_token;
      out.by_layer.push_back(own.by_layer.empty() ? own.choice : own.by_layer[out.by_layer.size()]);
      if (run.cache.window == 0) continue;  // places_of reports what is wrong in this case
      const auto fits = bytes_of_place(out.by_layer.back(), run.cache, model.element_bytes);
      if (!fits.ok()) return placed_at(kWindowField, fits.error());
    }
  return out;
}

Status check_side_file(const formats::FormatChoice& format, const model::ModelShape& model,
                       std::int64_t tensor_ranks) {
  if (format.side == nullptr) return Done{};
  const auto refused = [&](const std::string& why) {
    return bad_input(why)
        .at_file(formats::side_file_of(format))
        .at_field(std::string(format.choice.name()) + ":" + std::string(formats::kSideParam.name));
  };
  if (const auto beyond = format.side->layers.lower_bound(model.layers); beyond != format.side->layers.end())
    return refused("expected the " + std::to_string(model.layers) + " layers of " + model.name +
                   ", found layer " + std::to_string(beyond->first));
  const auto together = format.kind->side.heads_together;
  std::int64_t layer = 0;
  for (const model::LayerRun& run : model.runs) {
    KVPLAN_TRY_DO(check_by_head(format, run.cache));
    const formats::Shape whole = shape_of(run.cache);
    const formats::Shape share = shape_of(model::share_of(run.cache, tensor_ranks));
    for (std::int64_t i = 0; i < run.layers; ++i, ++layer) {
      const formats::FormatChoice of = formats::of_layer(format, layer, model.layers);
      if (const Status suits = formats::check_side(of, whole); !suits.ok())
        return refused("layer " + std::to_string(layer) + ": " + suits.error().message);
      if (together != nullptr && together(of.choice, whole) != together(of.choice, share))
        return refused(
            "layer " + std::to_string(layer) + ": expected every tensor-parallel rank to have all " +
            std::to_string(together(of.choice, whole)) + " KV heads of a group, which share a basis, found " +
            std::to_string(tensor_ranks) + " ranks with " + std::to_string(share.kv_heads) + " heads each");
    }
  }
  return Done{};
}

Status check_layers_together(const formats::FormatChoice& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers) {
  if (format.kind->other_layers == nullptr) return Done{};
  std::vector<const model::LayerCache*> caches;
  for (const model::LayerRun& run : model.runs)
    caches.insert(caches.end(), static_cast<std::size_t>(run.layers), &run.cache);
  for (std::int64_t layer = first; layer < first + layers; ++layer) {
    for (const std::int64_t other : formats::other_layers(formats::of_layer(format, layer, model.layers))) {
      const auto refused = [&](const char* why) {
        return bad_input("stores layers " + std::to_string(std::min(layer, other)) + " and " +
                         std::to_string(std::max(layer, other)) + " together, " + why)
            .at_field(format.choice.name());
      };
      if (other < first || other >= first + layers) return refused("which are on different pipeline stages");
      if (!(*caches[static_cast<std::size_t>(layer)] == *caches[static_cast<std::size_t>(other)]))
        return refused("which have different heads or windows");
    }
  }
  return Done{};
}

Status check_layers_together(const model::KvFormat& format, const model::ModelShape& model,
                             std::int64_t first, std::int64_t layers) {
  const formats::FormatKind* const kind = codec_of(format.choice.descriptor());
  if (kind == nullptr) return Done{};
  return check_layers_together(formats::FormatChoice{.kind = kind, .choice = format.choice}, model, first,
                               layers);
}

bool joins_heads(const model::KvFormat& format) {
  const formats::FormatKind* const kind = codec_of(format.choice.descriptor());
  return kind != nullptr && kind->joins_heads != nullptr && kind->joins_heads(format.choice);
}

std::string_view bytes_alone(const model::KvFormat& format) {
  const formats::FormatKind* const kind = codec_of(format.choice.descriptor());
  const bool has_codec = kind == nullptr || kind->make != nullptr || kind->side.make != nullptr;
  return has_codec ? std::string_view() : kind->bytes_alone;
}

Result<std::vector<EncodedLayers>> encoded_layers(const LayerFormats& formats, const model::ModelShape& model,
                                                  std::int64_t tensor_ranks, std::int64_t first,
                                                  std::int64_t layers) {
  if (formats.format.encoded) {
    const Status together = check_layers_together(*formats.format.encoded, model, first, layers);
    if (!together.ok()) return placed_at(kField, together.error());
  }
  const auto named = [](const EncodedLayers& of) {
    return of.codec ? of.codec->choice.to_string() : std::string();
  };
  std::vector<EncodedLayers> out;
  std::int64_t number = 0;
  for (const model::LayerRun& run : model.runs) {
    const model::LayerCache share = model::share_of(run.cache, tensor_ranks);
    const bool apart = formats.of_windows != nullptr && run.cache.window > 0;
    const RunFormat& own = apart ? *formats.of_windows : formats.format;
    const std::string_view field = apart ? kWindowField : kField;
    for (std::int64_t i = 0; i < run.layers; ++i, ++number) {
      if (number < first || number >= first + layers) continue;
      auto place = formats.places.bytes(share, model.element_bytes, number);
      if (!place.ok()) return placed_at(field, place.error());
      EncodedLayers layer{
          .shape = shape_of(share), .place = place.value(), .window = apart ? run.cache.window : 0};
      if (own.encoded) layer.codec = formats::of_layer(*own.encoded, number, model.layers);
      if (!out.empty() && out.back().shape == layer.shape && out.back().window == layer.window &&
          out.back().place == layer.place && named(out.back()) == named(layer)) {
        ++out.back().layers;
        continue;
      }
      if (layer.codec)
        if (const Status good = check_layer(*layer.codec, share); !good.ok())
          return placed_at(field, good.error());
      out.push_back(std::move(layer));
    }
  }
  return out;
}

formats::Lengths lengths_of(const KeptTokens& kept, std::int64_t prompt, std::int64_t generated) {
  formats::Lengths out{.prompt = kept.count.of(prompt, prompt), .generated = generated, .sinks = kept.sinks};
  out.dropped = out.appended() - kept.count.of(prompt + generated, prompt);
  return out;
}

core::EncodedTokens encoded_tokens(std::span<const EncodedLayers> layers, std::int64_t prompt,
                                   std::int64_t final_tokens, std::span<const KeptTokens> kept) {
  struct LayerPart {
    const EncodedLayers* of;
    std::int64_t layers;
    KeptTokens kept;
  };
  std::vector<LayerPart> parts;
  core::EncodedTokens out{.token_bytes = 0};
  std::size_t number = 0;
  for (const EncodedLayers& of : layers) {
    const std::int64_t metadata = of.place.metadata + of.beside_bytes;
    for (std::int64_t i = 0; i < of.layers; ++i, ++number) {
      KeptTokens stays = kept.empty() ? KeptTokens{} : kept[kept.size() == 1 ? 0 : number];
      if (of.window > 0) stays = {.count = {.budget = of.window}, .sinks = 0};
      if (parts.empty() || parts.back().of != &of || parts.back().kept != stays)
        parts.push_back({&of, 0, stays});
      ++parts.back().layers;
      out.token_bytes += of.place.elements + metadata;
      out.metadata_bytes += metadata;
    }
  }
  out.stored.resize(static_cast<std::size_t>(final_tokens - prompt));
  for (std::size_t i = 0; i < out.stored.size(); ++i) {
    core::StoredBytes& sum = out.stored[i];
    core::StoredBytes in_places;
    for (const LayerPart& part : parts) {
      const EncodedLayers& of = *part.of;
      const formats::Lengths lengths = lengths_of(part.kept, prompt, static_cast<std::int64_t>(i));
      const std::int64_t tokens = part.layers * lengths.stored();
      in_places.exact += of.place.elements * tokens;
      in_places.metadata += (of.place.metadata + of.beside_bytes) * tokens;
      if (of.codec) {
        add(sum, formats::bytes_from_lengths(*of.codec, of.shape, lengths).value(), part.layers);
        sum.metadata += of.beside_bytes * part.layers * formats::stored_tokens(*of.codec, lengths);
      } else {
        sum.exact += of.place.elements * tokens;
        sum.metadata += (of.place.metadata + of.beside_bytes) * tokens;
      }
    }
    if (sum.total() > in_places.total()) sum = in_places;
    sum.dropped_cells = (prompt + static_cast<std::int64_t>(i)) * out.token_bytes - in_places.total();
  }
  return out;
}

}  // namespace kvplan::runs
