#include "simulator/retention/keep_encoded.h"

#include "simulator/attention/cell_metadata.h"
#include "simulator/courses/encoded_course.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {
namespace {

/// The tokens of a request that the policy keeps, by layer of the rank or one entry for all layers.
std::vector<KeptTokens> kept_encoded(const PlacedPolicy& p, std::int64_t prompt,
                                     const attention::Grants& grants) {
  const attention::PolicyTraits traits = p.traits();
  const std::int64_t sinks = traits.interval ? traits.interval->sink : -1;
  if (!p.keeps_by_layer()) return {{.count = *traits.count, .sinks = sinks}};
  std::vector<KeptTokens> out;
  for (const auto& layer : counts_of_rank(p, prompt, grants))
    out.push_back({.count = layer.front(), .sinks = sinks});
  return out;
}

}  // namespace

Result<CoursePtr> KeepEncoded::course(const CourseAsked& asked, CourseInputs& /*inputs*/) const {
  const core::CourseShape& shape = asked.shape;
  std::vector<KeptTokens> kept;
  if (const PlacedPolicy* const p = policy(); p != nullptr) {
    // Blocks are filled with bytes, so the blocks of one rank do not tell those of another rank with other numbers.
    if (p->keeps_by_layer()) KVPLAN_TRY_DO(check_alike_ranks(*p, shape.prompt, asked.grants));
    kept = kept_encoded(*p, shape.prompt, asked.grants);
  }
  return core::make_encoded_course(shape, encoded_tokens(layers_, shape.prompt, shape.final_tokens, kept));
}

Result<EncodedRank> encode_rank(const Scenario& s, const model::ModelShape& model, const ModelOnRanks& placed,
                                const PlacedPolicy* policy, RunParts& parts,
                                std::vector<std::string>& assumptions) {
  constexpr std::int64_t kExample = 4096;  // tokens
  const RankBytes& rank = placed.bytes;
  parts.add(Part::kNumbersByHead, policy != nullptr && policy->keeps_by_head());
  KVPLAN_TRY_DO(check_combinations(parts, s, Known::kModel));
  if (rank.stages > 1) {  // all stages have the same block table
    KVPLAN_TRY(const auto all,
               encoded_layers(placed.layer_formats(), model, rank.tensor_ranks, 0, model.layers));
    parts.add(Part::kEncodedLayers, all.size() > 1);
    KVPLAN_TRY_DO(check_combinations(parts, s, Known::kModel));
  }
  EncodedRank out;
  KVPLAN_TRY(out.layers,
             encoded_layers(placed.layer_formats(), model, rank.tensor_ranks, rank.first_layer, rank.layers));
  if (policy != nullptr) {
    const attention::CellMetadata beside = attention::cell_metadata(policy->policy, policy->traits());
    for (EncodedLayers& layers : out.layers)
      if (layers.window == 0) layers.beside_bytes = beside.of_token(layers.shape.kv_heads);
  }
  const core::EncodedTokens example = encoded_tokens(out.layers, kExample, kExample + 1);
  out.token_bytes = example.token_bytes;
  const RunFormat& format = *placed.format;
  const formats::FormatChoice* const codec = format.encoded ? &*format.encoded : nullptr;
  const bool told = codec != nullptr && codec->side != nullptr && out.layers.size() == 1;  // all layers alike
  const Choice& stored = told               ? out.layers.front().codec->choice
                         : codec != nullptr ? codec->choice
                                            : format.of_token.choice;
  std::string of_windows;
  if (const auto& window = placed.window_format)
    of_windows = ", and tokens of sliding-window layers as " +
                 (window->encoded ? window->encoded->choice : window->of_token.choice).to_string();
  assumptions.push_back("Tokens are exact until their prompt is computed, and are then stored as " +
                        stored.to_string() + of_windows + ": a prompt of 4096 tokens takes " +
                        std::to_string(example.stored.front().total()) + " bytes on a rank instead of " +
                        std::to_string(kExample * example.token_bytes) +
                        ". Encoding takes no extra time; steps read the stored bytes.");
  for (const RunFormat* each : {&format, placed.layer_formats().of_windows})
    if (each != nullptr && each->encoded)
      if (const std::string_view assumed = formats::assumed(*each->encoded); !assumed.empty())
        assumptions.emplace_back(assumed);
  return out;
}

}  // namespace kvplan::runs
