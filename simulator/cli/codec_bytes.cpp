#include "simulator/cli/codec_bytes.h"

#include <algorithm>

#include "simulator/base/units.h"
#include "simulator/formats/region_names.h"
#include "simulator/model/kv_format.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::cli {
namespace {

using formats::LayerBytes;
using formats::Lengths;
using formats::Shape;

/// The tokens that the layer keeps: first what the policy keeps, then what the layer's window shows of it. The policy
/// does not apply to a window with its own format.
runs::KeptTokens kept_of(const CodecRequest& request, const model::LayerCache& cache, std::int64_t number) {
  runs::KeptTokens out{.sinks = request.kept.sinks};
  const bool apart = request.of_windows && cache.window > 0;
  const auto& counts = request.kept.counts;
  if (!counts.empty() && !apart)
    out.count = counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(number)];
  const std::int64_t tokens = request.prompt + request.generated;
  if (cache.window == 0 || out.count.of(tokens, request.prompt) <= cache.window) return out;
  // The window excludes the first tokens. If the newest do not fill it, lengths do not say which tokens remain.
  const bool newest =
      apart || counts.empty() || (out.sinks >= 0 && out.count.budget - out.sinks >= cache.window);
  return {.count = {.budget = cache.window}, .sinks = newest ? 0 : -1};
}

/// Bytes of tokens with a number of bits per element.
Result<LayerBytes> element_bytes(const Choice& format, const model::LayerCache& cache, std::int64_t tokens,
                                 std::int64_t model_element_bytes) {
  KVPLAN_TRY_DO(model::token_bytes(format, cache, model_element_bytes));
  LayerBytes out;
  for (const formats::Side side : formats::kSides) {
    model::LayerCache half = cache;
    (side == formats::Side::kKeys ? half.value_size : half.key_size) = 0;
    KVPLAN_TRY(const model::TokenBytes bytes, model::token_bytes(format, half, model_element_bytes));
    formats::Regions& to = side == formats::Side::kKeys ? out.keys : out.values;
    const bool whole = bytes.elements == half.elements() * model_element_bytes;
    (whole ? to.exact : to.codes) = bytes.elements * tokens;
    to.scales = bytes.metadata * tokens;
  }
  return out;
}

}  // namespace

Result<KeptTokens> kept_by(const std::string& policy, const KeptOf& of) {
  if (policy.empty() || policy == "none") return KeptTokens{};
  auto parsed = attention::parse_policy(policy);
  if (!parsed.ok()) return bad_input(parsed.error().to_string()).at_field("--policy");
  const attention::PolicyKind& kind = *parsed.value().kind;
  const Choice& choice = parsed.value().choice;
  const attention::PolicyTraits traits = kind.traits(choice);
  KeptTokens kept{.beside = attention::cell_metadata(parsed.value(), traits)};
  if (traits.keeps_everything() || &kind == &attention::kFull) return kept;
  if (traits.interval) kept.sinks = traits.interval->sink;
  const bool reads = traits.prompt_rows > 0 || traits.decode_rows || traits.keys || traits.values;
  const bool by_position = traits.interval || (traits.count_at != nullptr && !reads);
  kept.alike_in_layers = by_position;
  kept.alike_in_heads = by_position || traits.scope == attention::Scope::kLayer;
  if (kind.layer_counts != nullptr) {
    kept.counts = kind.layer_counts(choice, of.prompt, of.layers);
  } else if (traits.count) {
    kept.counts = {*traits.count};
  } else if (traits.interval) {
    kept.counts = {{.budget = traits.interval->sink + traits.interval->recent}};
  } else if (traits.budget) {
    kept.counts = {{.budget = *traits.budget}};
  } else if (traits.count_at != nullptr) {
    kept.counts = {of.prompt < 1 ? core::KeptCount{} : traits.count_at(choice, of.prompt, of.tokens)};
  } else {
    const std::string name = "\"" + std::string(choice.name()) + "\"";
    return bad_input(
               "expected a policy with the same number of kept tokens in each head of a layer, which must "
               "follow from lengths and parameters; " +
               (traits.head_tables
                    ? name + " keeps all tokens in some heads, and the first and newest ones in others: "
                             "`kvplan run` counts its bytes"
                    : "the tokens that " + name + " keeps are only known after a replay: use `kvplan evict`"))
        .at_field("--policy");
  }
  return kept;
}

std::int64_t CodecLayer::metadata_bytes() const {
  return beside_bytes + bytes.metadata();
}

Result<CodecLayer> codec_layer(const CodecRequest& request, const model::LayerCache& cache,
                               std::int64_t number) {
  const bool apart = request.of_windows && cache.window > 0;
  const LayerStorage& own = apart ? *request.of_windows : request.format;
  const std::string name(own.choice().name());
  if (cache.kind == model::CacheKind::kLatent)
    return bad_input(
               "expected a model that stores keys and values by head; this model stores a latent vector: use "
               "a format of `kvplan list format`")
        .at_field(name);
  const runs::KeptTokens stays = kept_of(request, cache, number);
  const Lengths lengths = runs::lengths_of(stays, request.prompt, request.generated);
  const attention::CellMetadata beside = apart ? attention::CellMetadata{} : request.kept.beside;
  if (own.elements) {
    KVPLAN_TRY(const LayerBytes bytes,
               element_bytes(*own.elements, cache, lengths.stored(), request.element_bytes));
    return CodecLayer{.tokens = lengths.stored(),
                      .bytes = bytes,
                      .beside_bytes = lengths.stored() * beside.of_token(cache.heads)};
  }
  const formats::FormatKind& kind = *own.codec->kind;
  if (!apart && !request.kept.alike_in_layers && kind.other_layers != nullptr)
    return bad_input("keeps different tokens in different layers, which " + name + " stores jointly")
        .at_field("--policy");
  const auto joins = kind.joins_heads;
  const bool heads_differ = !apart && !request.kept.alike_in_heads;
  if (heads_differ && joins != nullptr && joins(own.choice()))
    return bad_input("keeps different tokens in different heads, which " + name +
                     " stores as one vector per token")
        .at_field("--policy");
  if (lengths.prompt < 1)
    return bad_input("expected a policy that keeps at least one token, as formats of family codec need")
        .at_field("--policy");
  constexpr Wide kMostElements = Wide{1} << 56;
  if (Wide{cache.elements()} * lengths.appended() > kMostElements)
    return bad_input("expected a sequence of at most 2^56 elements per layer").at_field("--tokens");
  const Shape shape = runs::shape_of(cache);
  const formats::FormatChoice format = formats::of_layer(*own.codec, number, request.layers);
  KVPLAN_TRY_DO(formats::check_params(format, shape, lengths.prompt));
  auto bytes = formats::bytes_from_lengths(format, shape, lengths);
  if (!bytes.ok() && lengths.dropped > 0 && cache.window > 0 && (apart || request.kept.counts.empty()))
    return bad_input("the model's sliding window of " + std::to_string(cache.window) +
                     " tokens drops older tokens: " + bytes.error().message)
        .at_field(name);
  KVPLAN_TRY(const formats::LayerBytes stored, std::move(bytes));
  if (heads_differ && lengths.dropped > 0 && kind.lengths.heads_share)
    return bad_input("evicts different tokens in different heads while decoding, which " + name +
                     " stores as one vector per token")
        .at_field("--policy");
  const std::int64_t tokens = formats::stored_tokens(format, lengths);
  return CodecLayer{.tokens = tokens, .bytes = stored, .beside_bytes = tokens * beside.of_token(cache.heads)};
}

void add(CodecSum& sum, const CodecLayer& layer) {
  for (const formats::NamedRegion& region : formats::kRegions) {
    sum.bytes.keys.*region.bytes += layer.bytes.keys.*region.bytes;
    sum.bytes.values.*region.bytes += layer.bytes.values.*region.bytes;
  }
  sum.beside_bytes += layer.beside_bytes;
}

}  // namespace kvplan::cli
