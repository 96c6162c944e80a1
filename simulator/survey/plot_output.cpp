#include "simulator/survey/plot_output.h"

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/report/text.h"

namespace kvplan::survey {
namespace {

void write_row(JsonWriter& json, const std::vector<Pooled>& row) {
  json.begin_array();
  for (const Pooled& value : row) json.value(value);
  json.end_array();
}

void write_square(JsonWriter& json, const PooledSquare& square) {
  if (square.empty()) {
    json.null();
    return;
  }
  json.begin_array();
  for (const auto& row : square) write_row(json, row);
  json.end_array();
}

void write_figures(JsonWriter& json, const LayerSurvey& layer, bool of_kv_heads) {
  json.begin_object();
  for (const FigureKind& kind : survey::figure_kinds()) {
    if (kind.of_kv_head != of_kv_heads) continue;
    json.key(kind.key);
    const auto& values = layer.figures[survey::index(kind.figure)];
    values.empty() ? static_cast<void>(json.null()) : write_row(json, values);
  }
  json.end_object();
}

void write_curves(JsonWriter& json, const LayerSurvey& layer, bool of_kv_heads) {
  json.begin_object();
  for (const survey::CurveKind& kind : survey::curve_kinds())
    if (kind.of_kv_head == of_kv_heads) {
      json.key(kind.key);
      write_square(json, layer.curves[survey::index(kind.curve)]);
    }
  json.end_object();
}

void write_layers(JsonWriter& json, const PlotInput& input, const survey::Survey& found) {
  json.key("layers").begin_array();
  for (const LayerSurvey& layer : found.layers) {
    const attention::LayerInfo info = input.info.layer(layer.layer);
    json.begin_object().member("layer", layer.layer).member("window", info.window);
    json.member("query_heads", info.query_heads).member("kv_heads", info.kv_heads);
    json.member("sequences", layer.sequences).key("query_head_figures");
    write_figures(json, layer, false);
    json.key("kv_head_figures");
    write_figures(json, layer, true);
    json.key("query_head_curves");
    write_curves(json, layer, false);
    json.key("kv_head_curves");
    write_curves(json, layer, true);
    json.key("head_overlap");
    write_square(json, layer.head_overlap);
    json.end_object();
  }
  json.end_array();
}

void write_attention(JsonWriter& json, const std::optional<survey::AttentionMap>& map) {
  json.key("attention_map");
  if (!map) {
    json.null();
    return;
  }
  json.begin_object().member("sequence", map->at.sequence).member("layer", map->at.layer);
  json.member("head", map->head).member("tokens", map->tokens);
  json.member("tokens_per_cell", map->tokens_per_cell).key("cells").begin_array();
  for (const auto& row : map->cells) {
    json.begin_array();
    for (const double value : row) json.value(value);
    json.end_array();
  }
  json.end_array().end_object();
}

/// One line of CSV. Numbers below 0 are left empty.
struct Cell {
  std::string_view figure;
  std::int64_t layer{-1}, head{-1}, other_layer{-1}, other_head{-1}, query{-1}, token{-1}, point{-1};
};

void write_line(std::string& out, const Cell& cell, const Pooled& value) {
  out += cell.figure;
  for (const std::int64_t number :
       {cell.layer, cell.head, cell.other_layer, cell.other_head, cell.query, cell.token, cell.point})
    out += "," + (number < 0 ? "" : std::to_string(number));
  out += "," + (value ? shortest(*value) : "") + "\n";
}

/// Points have the same values as in the JSON: numbers of tokens, or the upper end of a step in degrees.
void write_curve_lines(std::string& out, const survey::Survey& found, const LayerSurvey& layer) {
  for (const survey::CurveKind& kind : survey::curve_kinds()) {
    const auto& points = found.points[survey::index(kind.curve)];
    const auto& heads = layer.curves[survey::index(kind.curve)];
    for (std::size_t h = 0; h < heads.size(); ++h)
      for (std::size_t p = 0; p < points.size(); ++p)
        write_line(out,
                   {.figure = kind.key,
                    .layer = layer.layer,
                    .head = static_cast<std::int64_t>(h),
                    .point = points[p]},
                   heads[h][p]);
  }
}

}  // namespace

std::string plot_json(const PlotInput& input, const survey::Plots& plots) {
  const survey::Survey& found = plots.survey;
  JsonWriter json(0);
  json.begin_object().member("input", input.name).key("params").begin_object();
  json.member("threshold", survey::kThreshold).member("energy", survey::kEnergy);
  json.member("rank_tokens", found.rank_tokens);
  json.member("late_row", survey::kLateRow).member("near_tokens", survey::kNear);
  json.member("sink_tokens", survey::kSinks).member("heavy_one_of", survey::kHeavyOf).end_object();
  json.key("sequences").begin_array();
  for (const std::int32_t sequence : found.sequences) json.value(sequence);
  json.end_array().member("tokens", found.tokens);
  write_layers(json, input, found);
  json.key("layer_overlap");
  write_square(json, found.layer_overlap);
  json.member("overlap_by_chance", found.overlap_by_chance);
  write_attention(json, plots.attention);
  json.key("figures").begin_array();
  for (const FigureKind& kind : survey::figure_kinds()) {
    json.begin_object().member("key", kind.key).member("title", kind.title).member("unit", kind.unit);
    json.member("per", kind.of_kv_head ? "kv_head" : "query_head");
    json.member("definition", kind.definition).end_object();
  }
  json.end_array().key("curves").begin_array();
  for (const survey::CurveKind& kind : survey::curve_kinds()) {
    json.begin_object().member("key", kind.key).member("title", kind.title).member("unit", "share");
    json.member("along", kind.along).member("per", kind.of_kv_head ? "kv_head" : "query_head");
    json.member("definition", kind.definition).key("points").begin_array();
    for (const std::int64_t point : found.points[survey::index(kind.curve)]) json.value(point);
    json.end_array().end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const std::string& note : found.notes) json.value(note);
  json.end_array().member("version", kVersion).end_object();
  return json.take();
}

std::string plot_csv(const survey::Plots& plots) {
  std::string out = "figure,layer,head,other_layer,other_head,query,token,point,value\n";
  for (const LayerSurvey& layer : plots.survey.layers) {
    for (const FigureKind& kind : survey::figure_kinds()) {
      const auto& values = layer.figures[survey::index(kind.figure)];
      for (std::size_t h = 0; h < values.size(); ++h)
        write_line(out, {.figure = kind.key, .layer = layer.layer, .head = static_cast<std::int64_t>(h)},
                   values[h]);
    }
    write_curve_lines(out, plots.survey, layer);
    for (std::size_t a = 0; a < layer.head_overlap.size(); ++a)
      for (std::size_t b = 0; b < layer.head_overlap[a].size(); ++b)
        write_line(out,
                   {.figure = "head_overlap",
                    .layer = layer.layer,
                    .head = static_cast<std::int64_t>(a),
                    .other_layer = layer.layer,
                    .other_head = static_cast<std::int64_t>(b)},
                   layer.head_overlap[a][b]);
  }
  const auto& layers = plots.survey.layers;
  for (std::size_t a = 0; a < layers.size(); ++a)
    for (std::size_t b = 0; b < layers.size(); ++b)
      write_line(out, {.figure = "layer_overlap", .layer = layers[a].layer, .other_layer = layers[b].layer},
                 plots.survey.layer_overlap[a][b]);
  write_line(out, {.figure = "overlap_by_chance"}, plots.survey.overlap_by_chance);
  if (!plots.attention) return out;
  const survey::AttentionMap& map = *plots.attention;
  for (std::size_t r = 0; r < map.cells.size(); ++r)
    for (std::size_t c = 0; c < map.cells[r].size(); ++c)
      write_line(out,
                 {.figure = "attention_map",
                  .layer = map.at.layer,
                  .head = map.head,
                  .query = static_cast<std::int64_t>(r) * map.tokens_per_cell,
                  .token = static_cast<std::int64_t>(c) * map.tokens_per_cell},
                 map.cells[r][c]);
  return out;
}

std::string plot_text(const survey::Plots& plots, std::optional<std::int32_t> layer) {
  constexpr std::size_t kWidth = 120;
  std::string out;
  std::vector<report::Table> tables = survey::tables(plots.survey);
  for (const LayerSurvey& each : plots.survey.layers)
    if (each.layer == layer)
      for (report::Table& table : survey::head_tables(plots.survey, each)) tables.push_back(std::move(table));
  for (const report::Table& table : tables)
    out += (out.empty() ? "" : "\n") + report::table_text(table, kWidth);
  out += "\n";
  for (const std::string& sentence : survey::explanations(plots.survey))
    out += report::wrapped(sentence, kWidth, "  ") + "\n";
  return out;
}

}  // namespace kvplan::survey
