// What `kvplan attention plot` prints: its JSON, its CSV, and tables for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/survey/maps.h"

namespace kvplan::survey {

/// The user's input, as in the JSON.
struct PlotInput {
  std::string name;
  const attention::RecordingInfo& info;
};

std::string plot_json(const PlotInput& input, const survey::Plots& plots);
/// figure,layer,head,other_layer,other_head,query,token,value: one line for every number of the JSON, with the same
/// digits.
std::string plot_csv(const survey::Plots& plots);
/// Tables of means; for the layer with this number also tables of its heads.
std::string plot_text(const survey::Plots& plots, std::optional<std::int32_t> layer);

}  // namespace kvplan::survey
