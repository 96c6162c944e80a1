#include "simulator/report/read_output.h"

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/report/choice_output.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::report {
namespace {

using readers::Evaluation;
using readers::Lane;
using readers::LaneResult;
using readers::Request;
using readers::Tally;

std::optional<double> per_step(std::int64_t bytes, std::int64_t steps) {
  if (steps == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(steps);
}

void write_tally(JsonWriter& json, const Tally& tally, std::int64_t steps) {
  json.member("mass_mean", tally.mean(tally.mass)).member("mass_min", tally.least_mass());
  json.member("oracle_mass_mean", tally.mean(tally.oracle_mass));
  json.member("overlap_mean", tally.mean(tally.overlap));
  json.member("output_error_mean", tally.mean_error()).member("output_error_max", tally.greatest_error());
  json.member("tokens_read_mean", tally.mean_tokens());
  json.member("tokens_read_by_stored_head_mean", tally.mean_head_tokens());
  json.member("bytes_read_per_step", per_step(tally.read.total(), steps));
  json.member("metadata_bytes_read_per_step", per_step(tally.read.metadata, steps));
  json.member("bytes_read_by_query_heads_per_step", per_step(tally.read_apart.total(), steps));
  json.member("metadata_bytes_read_by_query_heads_per_step", per_step(tally.read_apart.metadata, steps));
  json.member("full_bytes_per_step", per_step(tally.full_bytes, steps));
  json.member("read_fraction", tally.read_fraction());
}

void write_lane(JsonWriter& json, const Lane& lane, const LaneResult& result, const Evaluation& found) {
  json.begin_object().member("reader", lane.reader.choice.name());
  write_params(json, lane.reader.choice);
  json.member("budget", lane.budget).key("summary").begin_object();
  write_tally(json, result.total, found.steps);
  json.member("kept_bytes_per_token", per_step(result.kept_bytes + result.kept_metadata_bytes, found.tokens));
  json.member("kept_metadata_bytes_per_token", per_step(result.kept_metadata_bytes, found.tokens));
  json.end_object().key("layers").begin_array();
  auto head = result.heads.begin();
  for (const readers::LayerResult& layer : result.layers) {
    json.begin_object().member("layer", layer.layer).member("dense", layer.dense);
    write_tally(json, layer.tally, layer.steps);
    json.key("heads").begin_array();
    for (; head != result.heads.end() && head->layer == layer.layer; ++head) {
      json.begin_object().member("head", head->head);
      write_tally(json, head->tally, layer.steps);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("steps").begin_array();
  for (const readers::StepResult& step : result.steps) {
    json.begin_object().member("sequence", step.sequence).member("t", step.t);
    write_tally(json, step.tally, 1);
    json.end_object();
  }
  json.end_array().end_object();
}

std::string csv_number(const std::optional<double>& value) {
  return value ? shortest(*value) : "";
}

std::string or_none(const std::optional<double>& value, int decimals) {
  return value ? fixed(*value, decimals) : "-";
}

/// The parameters as a user writes them.
std::string params_text(const Choice& choice) {
  const std::string whole = choice.to_string();
  const std::size_t colon = whole.find(':');
  return colon == std::string::npos ? "" : whole.substr(colon + 1);
}

/// The name and the parameters that were given.
std::string label_of(const Lane& lane) {
  const Choice& choice = lane.reader.choice;
  std::string out(choice.name());
  bool first = true;
  for (const Param& param : choice.descriptor().params) {
    if (!choice.given(param.name) || (lane.budget && param.name == lane.reader.kind->budget)) continue;
    const auto at = static_cast<std::size_t>(&param - choice.descriptor().params.data());
    out += (first ? ":" : ",") + std::string(param.name) + "=" + choice.values()[at].text;
    first = false;
  }
  return out;
}

}  // namespace

std::string read_json(const std::string& input, const Request& request, const Evaluation& found) {
  JsonWriter json;
  json.begin_object().member("input", input).key("readers").begin_array();
  for (std::size_t l = 0; l < found.lanes.size(); ++l)
    write_lane(json, request.lanes[l], found.lanes[l], found);
  json.end_array().member("sequences", found.sequences).member("tokens", found.tokens);
  json.member("steps", found.steps).key("assumptions").begin_array();
  for (const std::string& assumption : found.assumptions) json.value(assumption);
  json.end_array().member("version", kVersion).end_object();
  return json.take();
}

std::string read_csv(const Request& request, const Evaluation& found) {
  std::string out =
      "reader,params,budget,sequence,layer,head,t,mass,mass_min,oracle_mass,overlap,output_error,tokens_read,"
      "tokens_read_by_stored_head,bytes_read,metadata_bytes_read,bytes_read_by_query_heads,"
      "metadata_bytes_read_by_query_heads,full_bytes\n";
  for (std::size_t l = 0; l < found.lanes.size(); ++l) {
    const Lane& lane = request.lanes[l];
    const std::string begin = std::string(lane.reader.choice.name()) + "," +
                              csv_quoted(params_text(lane.reader.choice)) + "," +
                              (lane.budget ? std::to_string(*lane.budget) : "");
    for (const readers::Record& record : found.lanes[l].records) {
      const Tally& tally = record.tally;
      out += begin;
      for (const std::int64_t place :
           {std::int64_t{record.sequence}, std::int64_t{record.layer}, std::int64_t{record.head}, record.t})
        out += "," + std::to_string(place);
      for (const auto& value : {tally.mean(tally.mass), tally.least_mass(), tally.mean(tally.oracle_mass),
                                tally.mean(tally.overlap), tally.mean_error(), tally.mean_tokens()})
        out += "," + csv_number(value);
      for (const std::int64_t count : {tally.head_tokens, tally.read.total(), tally.read.metadata,
                                       tally.read_apart.total(), tally.read_apart.metadata, tally.full_bytes})
        out += "," + std::to_string(count);
      out += "\n";
    }
  }
  return out;
}

std::string read_text(const Request& request, const Evaluation& found, std::size_t width) {
  Table table{.title = "What sparse attention reads at a decode step",
              .columns = {"budget", "tokens", "of head", "KiB", "meta", "of full", "mass", "oracle",
                          "overlap", "error"},
              .rows = {}};
  const auto kib = [&](std::int64_t bytes) {
    return found.steps == 0 ? "-" : fixed(*per_step(bytes, found.steps) / 1024, 1);
  };
  for (std::size_t l = 0; l < found.lanes.size(); ++l) {
    const Lane& lane = request.lanes[l];
    const Tally& total = found.lanes[l].total;
    const auto fraction = total.read_fraction();
    table.rows.push_back(
        {.label = label_of(lane),
         .cells = {lane.budget ? grouped(*lane.budget) : "-", or_none(total.mean_tokens(), 1),
                   or_none(total.mean_head_tokens(), 1), kib(total.read.total()), kib(total.read.metadata),
                   fraction ? fixed(100 * *fraction, 1) + " %" : "-", or_none(total.mean(total.mass), 4),
                   or_none(total.mean(total.oracle_mass), 4), or_none(total.mean(total.overlap), 3),
                   or_none(total.mean_error(), 4)}});
  }
  std::vector<std::string> sentences{
      "Means over " + grouped(found.steps) + " decode steps of " + grouped(found.sequences) +
          (found.sequences == 1 ? " sequence" : " sequences") +
          ", over all layers and query heads. Tokens: what one query head reads. Of head: what all query "
          "heads of one KV head read, each token counted once.",
      "KiB: the keys and values that are read, and the metadata (meta) used to select them, per step over "
      "all layers. Nothing is evicted.",
      "Mass: attention mass of the tokens that are read. Oracle: the largest mass of any set of the same "
      "size. Overlap: the share that both sets have in common. Error: |o - o'| / |o| of the attention "
      "output."};
  sentences.insert(sentences.end(), found.assumptions.begin(), found.assumptions.end());
  std::string out = table_text(table, width);
  for (const std::string& sentence : sentences) out += "\n" + wrapped(sentence, width, "");
  return out + "\n";
}

}  // namespace kvplan::report
