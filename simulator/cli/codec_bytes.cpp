#include "simulator/cli/codec_bytes.h"

#include <algorithm>

#include "simulator/base/units.h"
#include "simulator/formats/region_names.h"
#include "simulator/plan/run_format.h"

namespace kvplan::cli {
namespace {

using formats::Lengths;
using formats::Shape;

/// What is stored of the sequence: first what the policy keeps, then what the layer's window shows of it.
Lengths lengths_of(const CodecRequest& request, const model::LayerCache& cache, std::int64_t number) {
  Lengths out{.prompt = request.prompt, .generated = request.generated};
  const auto keep_newest = [&](std::int64_t most) {
    out.prompt = std::min(out.prompt, most);
    out.dropped = std::max<std::int64_t>(out.appended() - most, 0);
  };
  const auto& counts = request.kept.counts;
  if (!counts.empty()) {
    const core::KeptCount& count = counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(number)];
    if (count.once) {
      out.prompt = std::min(out.prompt, count.budget);
    } else {
      keep_newest(count.budget);
    }
  }
  if (cache.window > 0 && out.stored() > cache.window) keep_newest(cache.window);
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
  if (traits.keeps_everything() || choice.name() == "full") return kept;
  const bool reads = traits.prompt_rows > 0 || traits.decode_rows || traits.keys || traits.values;
  const bool by_position = traits.interval || (kind.count_at != nullptr && !reads);
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
  } else if (kind.count_at != nullptr) {
    kept.counts = {of.prompt < 1 ? core::KeptCount{} : kind.count_at(choice, of.prompt, of.tokens)};
  } else {
    const std::string name = "\"" + std::string(choice.name()) + "\"";
    return bad_input(
               "expected a policy that keeps as many tokens in each head of a layer, by lengths and "
               "parameters; " +
               (traits.head_tables
                    ? name + " keeps everything in some heads and first and newest tokens in "
                             "others: `kvplan run` counts its bytes"
                    : "what " + name + " keeps is counted token by token: `kvplan evict` does it"))
        .at_field("--policy");
  }
  return kept;
}

std::int64_t CodecLayer::metadata_bytes() const {
  return beside_bytes + bytes.metadata();
}

Result<CodecLayer> codec_layer(const CodecRequest& request, const model::LayerCache& cache,
                               std::int64_t number) {
  const std::string name(request.format.choice.name());
  if (cache.kind == model::CacheKind::kLatent)
    return bad_input(
               "expected a model that stores keys and values by head; this one stores a latent vector, whose "
               "formats are those of `kvplan list format`")
        .at_field(name);
  const Lengths lengths = lengths_of(request, cache, number);
  if (!request.kept.alike_in_layers && request.format.kind->other_layers != nullptr)
    return bad_input("keeps other tokens in other layers, which " + name + " stores together")
        .at_field("--policy");
  const auto joins = request.format.kind->joins_heads;
  if (!request.kept.alike_in_heads && joins != nullptr && joins(request.format.choice))
    return bad_input("keeps other tokens in other heads, which share what " + name + " stores of a token")
        .at_field("--policy");
  if (lengths.prompt < 1)
    return bad_input("expected a policy that keeps at least one token for a format of the family codec")
        .at_field("--policy");
  constexpr Wide kMostElements = Wide{1} << 56;
  if (Wide{cache.elements()} * lengths.appended() > kMostElements)
    return bad_input("expected a sequence of at most 2^56 elements a layer").at_field("--tokens");
  const Shape shape = plan::shape_of(cache);
  const formats::FormatChoice format = formats::of_layer(request.format, number, request.layers);
  KVPLAN_TRY_DO(formats::check_params(format, shape, lengths.prompt));
  auto bytes = formats::bytes_from_lengths(format, shape, lengths);
  if (!bytes.ok() && lengths.dropped > 0 && cache.window > 0 && request.kept.counts.empty())
    return bad_input("the model's window of " + std::to_string(cache.window) +
                     " tokens drops older ones, and " + bytes.error().message)
        .at_field(name);
  KVPLAN_TRY(const formats::LayerBytes stored, std::move(bytes));
  if (!request.kept.alike_in_heads && lengths.dropped > 0 && request.format.kind->lengths.heads_share)
    return bad_input("drops other tokens in other heads while it decodes, which share what " + name +
                     " stores of a token")
        .at_field("--policy");
  const attention::CellMetadata& beside = request.kept.beside;
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
