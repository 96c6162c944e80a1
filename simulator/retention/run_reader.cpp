#include "simulator/retention/run_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/scenario/combinations.h"

namespace kvplan::runs {
namespace {

using readers::CountedReads;

Error in_reader(const Error& error) {
  return bad_input(error.message).at_field("reader: " + error.field);
}

Status read_tables(readers::ReaderChoice& reader, const ScoresOpener& open) {
  for (const Param& param : reader.choice.descriptor().params) {
    if (!param.names_file) continue;
    if (!open) return bad_input("tables per head cannot be read here").at_field("reader");
    auto table = open(reader.choice.text(param.name));
    if (!table.ok())
      return bad_input(table.error().to_string())
          .at_field("reader: " + std::string(reader.choice.name()) + ":" + std::string(param.name));
    reader.tables.push_back(std::move(table).value());
  }
  return Done{};
}

/// The KV heads [begin, end) of a layer that a tensor-parallel rank has: neighbouring heads, or one head that several
/// ranks store (model/ranks.h).
std::pair<std::int64_t, std::int64_t> heads_of_rank(std::int64_t heads, std::int64_t ranks,
                                                    std::int64_t rank) {
  const std::int64_t begin = heads >= ranks ? rank * (heads / ranks) : rank * heads / ranks;
  return {begin, begin + std::max<std::int64_t>(heads / ranks, 1)};
}

/// One layer on the ranks of its stage.
struct LayerReads {
  double part{0};         ///< share of the heads that read a part, on the rank where it is smallest
  std::int64_t heads{0};  ///< number of heads that read a part
  /// Bytes of CountedReads::metadata_tokens tokens, on the rank that has the most.
  std::int64_t metadata_bytes{0};
};

/// Takes the rule of the first head that reads a part; all such heads of a reader have the same rule.
LayerReads layer_reads(const std::vector<CountedReads>& heads, std::int64_t ranks, RunReader& out) {
  LayerReads reads{.part = 1};
  for (const CountedReads& head : heads) {
    if (!head.rule.part()) continue;
    ++reads.heads;
    KVPLAN_CHECK(!out.rule.part() || out.rule == head.rule, head.rule.fetched, head.rule.ranked_beyond);
    out.rule = head.rule;
    out.at_most = out.at_most || head.at_most;
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto [begin, end] = heads_of_rank(std::ssize(heads), ranks, rank);
    std::int64_t in_part = 0, metadata = 0;
    for (std::int64_t h = begin; h < end; ++h) {
      const CountedReads& head = heads[static_cast<std::size_t>(h)];
      in_part += head.rule.part() ? 1 : 0;
      metadata += head.metadata_bytes;
    }
    reads.part = std::min(reads.part, static_cast<double>(in_part) / static_cast<double>(end - begin));
    reads.metadata_bytes = std::max(reads.metadata_bytes, metadata);
  }
  return reads;
}

/// Checks a table of heads: one with lists for more layers than the model has belongs to another model.
Status check_tables(const readers::ReaderChoice& reader, const model::ModelShape& model) {
  for (const attention::HeadTable& table : reader.tables)
    if (std::ssize(table) > model.layers)
      return bad_input("expected lists for the " + std::to_string(model.layers) + " layers of " + model.name +
                       ", found " + std::to_string(table.size()))
          .at_field("reader");
  return Done{};
}

/// "93.8 %"
std::string percent(double share) {
  const auto permille = std::llround(1000 * share);
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %";
}

}  // namespace

Result<RunReader> run_reader(const Scenario& scenario, const model::ModelShape& model, const RankBytes& rank,
                             const ScoresOpener& open) {
  const Choice& choice = *scenario.reader;
  RunReader out{.reader = readers::reader_of(choice), .rule = {}, .partly = {}};
  const readers::ReaderKind& kind = *out.reader.kind;
  KVPLAN_CHECK(kind.counted != nullptr, model.layers);
  KVPLAN_TRY_DO(read_tables(out.reader, open));
  KVPLAN_TRY_DO(check_tables(out.reader, model));
  const std::int64_t dense = kind.dense_layers ? choice.integer("dense_layers") : 0;
  std::int64_t ranked = 0, kept = 0, tokens = 1, in_part = 0, all = 0;
  std::int64_t layer = 0, first_metadata = -1;
  for (const model::LayerRun& run : model.runs) {
    KVPLAN_CHECK(run.cache.kind == model::CacheKind::kHeads, layer);
    // If several ranks store a head, it serves the query heads of its rank on each of them.
    const std::int64_t of_rank = ceil_div(ceil_div(model.query_heads, rank.tensor_ranks),
                                          std::max<std::int64_t>(run.cache.heads / rank.tensor_ranks, 1));
    for (std::int64_t end = layer + run.layers; layer < end; ++layer) {
      std::vector<CountedReads> heads(static_cast<std::size_t>(run.cache.heads));
      for (std::int64_t h = 0; h < run.cache.heads && layer >= dense; ++h) {
        auto reads = kind.counted({.choice = choice,
                                   .layer = static_cast<std::int32_t>(layer),
                                   .head = static_cast<std::int32_t>(h),
                                   .heads = static_cast<std::int32_t>(run.cache.heads),
                                   .query_heads = of_rank,
                                   .key_size = run.cache.key_size,
                                   .element_bytes = model.element_bytes,
                                   .tables = out.reader.tables});
        if (!reads.ok()) return in_reader(reads.error());
        heads[static_cast<std::size_t>(h)] = reads.value();
        tokens = std::max(tokens, reads.value().metadata_tokens);
      }
      const LayerReads of_layer = layer_reads(heads, rank.tensor_ranks, out);
      if (first_metadata < 0) first_metadata = of_layer.metadata_bytes;
      if (rank.stages > 1 && of_layer.metadata_bytes != first_metadata)
        return refused_together(Part::kReader, Part::kStages, scenario);
      out.partly.layers.push_back(of_layer.part);
      in_part += of_layer.heads;
      all += run.cache.heads;
      ranked += of_layer.metadata_bytes;
      if (layer >= rank.first_layer && layer < rank.first_layer + rank.layers)
        kept += of_layer.metadata_bytes;
    }
  }
  out.partly.ranked_token_bytes = ceil_div(ranked, tokens);
  out.metadata_bytes = ceil_div(kept, tokens);
  out.heads_in_part = static_cast<double>(in_part) / static_cast<double>(all);
  return out;
}

std::vector<std::string> RunReader::assumptions() const {
  const std::string name = "reader=" + reader.choice.to_string();
  if (!rule.part()) return {name + " reads the whole cache: no head of the model reads a part."};
  std::string text = "The whole cache stays, and decode steps read a part of it by " + name + ": " +
                     percent(heads_in_part) + " of the KV heads fetch " + (at_most ? "at most " : "") +
                     std::to_string(rule.fetched) + (rule.fetched == 1 ? " token" : " tokens") +
                     " of a request";
  if (metadata_bytes > 0)
    text += ", after reading " + std::to_string(partly.ranked_token_bytes) +
            " bytes of metadata for each token of the request" +
            (rule.ranked_beyond > 0 ? " if it has more than " + std::to_string(rule.ranked_beyond) : "") +
            ". On a rank, " + std::to_string(metadata_bytes) +
            " bytes of metadata, in the model's element size, are stored with every token";
  std::vector<std::string> out{text + "."};
  if (const double slowest = partly.of_layers(); slowest < heads_in_part)
    out.push_back(
        "A layer takes as long as its slowest rank, which is the rank with the heads that read most of the "
        "cache. Of these heads, " +
        percent(slowest) + " read a part, averaged over layers.");
  if (at_most)
    out.emplace_back(
        "How many tokens a head fetches depends on keys and queries. The run assumes the maximum, so step "
        "times are upper limits.");
  out.emplace_back(
      "The effect of unread tokens on answers is unknown in a run; use `kvplan attention read` on a "
      "recording of the model. Selecting tokens takes only the time to read metadata.");
  return out;
}

}  // namespace kvplan::runs
