#include "simulator/survey/maps.h"

#include <algorithm>
#include <functional>
#include <span>

#include "simulator/report/number_text.h"

namespace kvplan::survey {
namespace {

constexpr std::string_view kOverlap =
    "Share of the heavy tokens of one layer that are heavy in the other, averaged over sequences";

bool any_value(const std::vector<std::vector<Pooled>>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const Pooled& value) { return value.has_value(); });
  });
}

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::to_string(i));
  return out;
}

std::vector<std::string> layer_labels(const Survey& survey) {
  std::vector<std::string> out;
  for (const LayerSurvey& layer : survey.layers) out.push_back(std::to_string(layer.layer));
  return out;
}

Map map_of(const Survey& survey, const FigureKind& kind) {
  Map out{.key = std::string(kind.key),
          .title = std::string(kind.title),
          .unit = kind.scale == Scale::kShare ? "%" : std::string(kind.unit),
          .scale = kind.scale,
          .down = "layer",
          .across = kind.of_kv_head ? "KV head" : "query head",
          .rows = layer_labels(survey),
          .columns = {},
          .cells = {},
          .definition = std::string(kind.definition)};
  std::size_t widest = 0;
  for (const LayerSurvey& layer : survey.layers) {
    out.cells.push_back(layer.figures[index(kind.figure)]);
    widest = std::max(widest, out.cells.back().size());
  }
  out.columns = numbered(widest);
  return out;
}

/// Name of a point of a curve: a number of tokens, or an angle in degrees.
std::string point_text(Curve curve, std::int64_t point) {
  if (curve == Curve::kTopMass) return std::to_string(point);
  return std::to_string(point - kStepDegrees) + "-" + std::to_string(point);
}

std::vector<std::string> point_labels(const Survey& survey, Curve curve) {
  std::vector<std::string> out;
  for (const std::int64_t point : survey.points[index(curve)]) out.push_back(point_text(curve, point));
  return out;
}

Map curve_map(const Survey& survey, const CurveKind& kind) {
  Map out{.key = std::string(kind.key),
          .title = std::string(kind.title),
          .unit = "%",
          .scale = Scale::kShare,
          .down = "layer",
          .across = std::string(kind.along),
          .rows = layer_labels(survey),
          .columns = point_labels(survey, kind.curve),
          .cells = {},
          .definition = std::string(kind.definition) + " Mean over heads."};
  for (const LayerSurvey& layer : survey.layers)
    out.cells.push_back(layer.mean(kind.curve, out.columns.size()));
  return out;
}

std::string chance_text(const Survey& survey) {
  if (!survey.overlap_by_chance) return ".";
  return "; " + field_text(Scale::kShare, *survey.overlap_by_chance) + " % by chance.";
}

/// The share that each one has in common with itself is left out: it is always 1, and would set the scale's upper end.
Map overlap_map(const Survey& survey, std::string key, std::string title, const std::string& what,
                const std::vector<std::string>& names, PooledSquare cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i][i].reset();
  return {.key = std::move(key),
          .title = std::move(title),
          .unit = "%",
          .scale = Scale::kShare,
          .down = what,
          .across = what,
          .rows = names,
          .columns = names,
          .cells = std::move(cells),
          .definition = std::string(kOverlap) + chance_text(survey)};
}

struct TableKind {
  std::string_view title, heads;
  struct Column {
    Figure figure;
    std::string_view heading;
  };
  std::vector<Column> columns;
};

const std::vector<TableKind>& table_kinds() {
  using enum Figure;
  static const std::vector<TableKind> kTables{
      {"Where attention goes",
       "query heads",
       {{kSparsityFull, "full"},
        {kSparsityCausal, "sparse"},
        {kEntropy, "entropy"},
        {kRelativeEntropy, "relative"},
        {kEffectiveTokens, "tokens"},
        {kFirstMass, "first"},
        {kSinkMass, "sinks"},
        {kNearMass, "near"},
        {kNearEven, "even"},
        {kHalfShare, "half"},
        {kMostShare, "most"}}},
      {"Heavy tokens",
       "query heads",
       {{kHeavyShare, "heavy"},
        {kHeadsOverlap, "shared"},
        {kPersistence, "persist"},
        {kPivotalShare, "by chance"},
        {kMeanPersistence, "of means"},
        {kMeanPivotalShare, "by chance"},
        {kKeyNormCorrelation, "key norm"}}},
      {"Attention as a matrix",
       "query heads",
       {{kMapRank, "rank"},
        {kMapValueRank, "by values"},
        {kMapStableRank, "stable"},
        {kMapTailEighth, "tail T/8"},
        {kMapTailQuarter, "tail T/4"},
        {kMapTailHalf, "tail T/2"}}},
      {"Keys",
       "KV heads",
       {{kKeyRank, "rank"},
        {kKeyValueRank, "by values"},
        {kKeyStableRank, "stable"},
        {kKeyTailEighth, "tail d/8"},
        {kKeyTailQuarter, "tail d/4"},
        {kKeyTailHalf, "tail d/2"},
        {kKeyCosine, "cos next"}}},
      {"Values",
       "KV heads",
       {{kValueRank, "rank"},
        {kValueValueRank, "by values"},
        {kValueStableRank, "stable"},
        {kValueTailEighth, "tail d/8"},
        {kValueTailQuarter, "tail d/4"},
        {kValueTailHalf, "tail d/2"},
        {kValueCosine, "cos next"}}},
  };
  return kTables;
}

std::string with_unit(Scale scale, const Pooled& value) {
  if (!value) return "-";
  return field_text(scale, *value) + (scale == Scale::kShare ? " %" : "");
}

report::Table empty_table(const TableKind& kind, std::string title) {
  report::Table out{.title = std::move(title), .columns = {}, .rows = {}};
  for (const auto& column : kind.columns) out.columns.emplace_back(column.heading);
  return out;
}

/// `any` becomes true if there is a value.
report::Row row_of(std::string label, const TableKind& kind, bool& any,
                   const std::function<Pooled(Figure)>& value_of) {
  report::Row out{.label = std::move(label), .cells = {}};
  for (const auto& column : kind.columns) {
    const Pooled value = value_of(column.figure);
    any = any || value.has_value();
    out.cells.push_back(with_unit(kind_of(column.figure).scale, value));
  }
  return out;
}

}  // namespace

std::string field_text(Scale scale, double value) {
  if (scale == Scale::kShare) return report::fixed(100 * value, 1);
  return report::fixed(value, value < 10 && value > -10 ? 2 : 1);
}

namespace {

/// Adds a curve as a table; adds nothing if the curve has no value.
void add_curve_table(const std::string& title, const std::vector<std::string>& points,
                     const std::vector<std::pair<std::string, std::vector<Pooled>>>& curves,
                     std::vector<report::Table>& to) {
  report::Table table{.title = title, .columns = points, .rows = {}};
  bool any = false;
  for (const auto& [label, curve] : curves) {
    report::Row row{.label = label, .cells = {}};
    for (const Pooled& value : curve) {
      any = any || value.has_value();
      row.cells.push_back(with_unit(Scale::kShare, value));
    }
    table.rows.push_back(std::move(row));
  }
  if (any) to.push_back(std::move(table));
}

std::string curve_title(const CurveKind& kind) {
  return std::string(kind.title) + " (" + std::string(kind.along) + ")";
}

}  // namespace

std::vector<Map> maps_of(const Survey& survey, std::int32_t overlap_layer) {
  std::vector<Map> out;
  for (const FigureKind& kind : figure_kinds()) {
    if (!kind.drawn) continue;
    Map map = map_of(survey, kind);
    if (any_value(map.cells)) out.push_back(std::move(map));
  }
  for (const CurveKind& kind : curve_kinds()) {
    Map map = curve_map(survey, kind);
    if (any_value(map.cells)) out.push_back(std::move(map));
  }
  if (survey.layers.size() > 1 && any_value(survey.layer_overlap))
    out.push_back(overlap_map(survey, "layer_overlap", "Heavy tokens shared by layers", "layer",
                              layer_labels(survey), survey.layer_overlap));
  for (const LayerSurvey& layer : survey.layers)
    if (layer.layer == overlap_layer && layer.head_overlap.size() > 1 && any_value(layer.head_overlap))
      out.push_back(overlap_map(survey, "head_overlap",
                                "Heavy tokens shared by heads of layer " + std::to_string(overlap_layer),
                                "query head", numbered(layer.head_overlap.size()), layer.head_overlap));
  return out;
}

std::vector<report::Table> head_tables(const Survey& survey, const LayerSurvey& layer) {
  std::vector<report::Table> out;
  for (const TableKind& kind : table_kinds()) {
    report::Table table =
        empty_table(kind, std::string(kind.title) + ", heads of layer " + std::to_string(layer.layer));
    bool any = false;
    for (std::size_t h = 0; h < layer.figures[index(kind.columns.front().figure)].size(); ++h)
      table.rows.push_back(row_of("head " + std::to_string(h), kind, any,
                                  [&](Figure figure) { return layer.figures[index(figure)][h]; }));
    if (any) out.push_back(std::move(table));
  }
  for (const CurveKind& kind : curve_kinds()) {
    std::vector<std::pair<std::string, std::vector<Pooled>>> curves;
    for (const auto& head : layer.curves[index(kind.curve)])
      curves.emplace_back("head " + std::to_string(curves.size()), head);
    add_curve_table(curve_title(kind) + ", heads of layer " + std::to_string(layer.layer),
                    point_labels(survey, kind.curve), curves, out);
  }
  return out;
}

std::vector<report::Table> tables(const Survey& survey) {
  std::vector<report::Table> out;
  for (const TableKind& kind : table_kinds()) {
    report::Table table =
        empty_table(kind, std::string(kind.title) + ", mean over " + std::string(kind.heads));
    bool any = false;
    for (const LayerSurvey& layer : survey.layers)
      table.rows.push_back(row_of("layer " + std::to_string(layer.layer), kind, any,
                                  [&](Figure figure) { return layer.mean(figure); }));
    if (any) out.push_back(std::move(table));
  }
  for (const CurveKind& kind : curve_kinds()) {
    const std::vector<std::string> points = point_labels(survey, kind.curve);
    std::vector<std::pair<std::string, std::vector<Pooled>>> curves;
    for (const LayerSurvey& layer : survey.layers)
      curves.emplace_back("layer " + std::to_string(layer.layer), layer.mean(kind.curve, points.size()));
    add_curve_table(curve_title(kind) + ", mean over " + (kind.of_kv_head ? "KV heads" : "query heads"),
                    points, curves, out);
  }
  if (survey.layers.size() < 2 || !any_value(survey.layer_overlap)) return out;
  report::Table overlap{
      .title = "Heavy tokens shared by layers", .columns = layer_labels(survey), .rows = {}};
  for (std::size_t l = 0; l < survey.layers.size(); ++l) {
    report::Row row{.label = "layer " + overlap.columns[l], .cells = {}};
    for (const Pooled& value : survey.layer_overlap[l]) row.cells.push_back(with_unit(Scale::kShare, value));
    overlap.rows.push_back(std::move(row));
  }
  out.push_back(std::move(overlap));
  return out;
}

std::vector<std::string> explanations(const Survey& survey) {
  const auto count = static_cast<std::int64_t>(survey.sequences.size());
  std::vector<std::string> out{"Each figure is for one head in one sequence; the table shows the mean over " +
                               report::grouped(count) +
                               (count == 1 ? " sequence" : " sequences with equal weight") + " (" +
                               report::grouped(survey.tokens) + " tokens)."};
  for (const TableKind& table : table_kinds())
    for (const auto& column : table.columns) {
      const FigureKind& kind = kind_of(column.figure);
      const bool any = std::any_of(survey.layers.begin(), survey.layers.end(), [&](const LayerSurvey& layer) {
        return layer.mean(column.figure).has_value();
      });
      if (any)
        out.push_back(std::string(kind.title) + " (" + std::string(column.heading) +
                      "): " + std::string(kind.definition));
    }
  for (const CurveKind& kind : curve_kinds())
    if (any_value(curve_map(survey, kind).cells))
      out.push_back(curve_title(kind) + ": " + std::string(kind.definition));
  if (survey.overlap_by_chance)
    out.push_back("Heavy tokens shared by layers: " + std::string(kOverlap) + chance_text(survey));
  out.insert(out.end(), survey.notes.begin(), survey.notes.end());
  return out;
}

}  // namespace kvplan::survey
