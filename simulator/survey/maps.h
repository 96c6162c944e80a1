// A survey as maps: a field for each layer and head, for each pair of layers or heads, or for each layer and point of
// a curve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/report/content.h"
#include "simulator/survey/attention_map.h"
#include "simulator/survey/survey.h"

namespace kvplan::survey {

/// The data that can be plotted: the maps, and the attention of one head.
struct Plots {
  const Survey& survey;
  const std::optional<AttentionMap>& attention;
};

struct Map {
  std::string key;  ///< key of the figure or curve; "layer_overlap" ...
  std::string title;
  std::string unit;  ///< unit of drawn numbers: "%", "tokens", ...
  Scale scale{Scale::kNumber};
  std::string down, across;  ///< the meaning of rows and columns
  std::vector<std::string> rows, columns;
  std::vector<std::vector<Pooled>> cells;  ///< [row][column]; a shorter row has no fields there
  std::string definition;
};

/// The maps: every drawn figure and curve with a value, the overlap of layers, and the overlap of the heads of layer
/// number `overlap_layer`. Figures that no sequence has are left out.
std::vector<Map> maps_of(const Survey& survey, std::int32_t overlap_layer);

/// A number of a map as it is written in the map's fields, without unit.
std::string field_text(Scale scale, double value);

/// Means over the heads of each layer, all figures, and the overlap of layers.
std::vector<report::Table> tables(const Survey& survey);
/// The same figures for each head of one layer.
std::vector<report::Table> head_tables(const Survey& survey, const LayerSurvey& layer);
/// Explanations: the pooled data, and the meaning of each figure.
std::vector<std::string> explanations(const Survey& survey);

}  // namespace kvplan::survey
