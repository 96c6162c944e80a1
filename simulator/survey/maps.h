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

/// What can be plotted: the maps, and the attention of one head.
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

/// Every drawn figure and curve with a value, the overlap of layers, and of the heads of `overlap_layer` (its
/// number). Figures that no sequence has are left out.
std::vector<Map> maps_of(const Survey& survey, std::int32_t overlap_layer);

/// A number of a map as in its fields, without unit.
std::string field_text(Scale scale, double value);

/// Means over the heads of each layer, all figures, and the overlap of layers.
std::vector<report::Table> tables(const Survey& survey);
/// The same figures of each head of one of its layers.
std::vector<report::Table> head_tables(const Survey& survey, const LayerSurvey& layer);
/// What was pooled, and the meaning of each figure.
std::vector<std::string> explanations(const Survey& survey);

}  // namespace kvplan::survey
