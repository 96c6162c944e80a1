// What `kvplan attention plot` prints: its JSON, its CSV, and tables for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/survey/maps.h"

namespace kvplan::cli {

/// What was asked, as JSON tells it.
struct PlotInput {
  std::string name;
  const attention::RecordingInfo& info;
};

std::string plot_json(const PlotInput& input, const survey::Plots& plots);
/// figure,layer,head,other_layer,other_head,query,token,value: a line for every number of the JSON, as it stands there.
std::string plot_csv(const survey::Plots& plots);
/// Tables of means; of the layer with this number those of its heads, too.
std::string plot_text(const survey::Plots& plots, std::optional<std::int32_t> layer);

}  // namespace kvplan::cli
