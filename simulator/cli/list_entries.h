// The texts of `kvplan list` and `kvplan explain` for one entry: as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"
#include "simulator/formats/formats.h"
#include "simulator/model/device.h"
#include "simulator/model/model_shape.h"
#include "simulator/scenario/scenario.h"
#include "traces/import/importer.h"

namespace kvplan::cli {

/// Families that are not in the scenario's catalogues.
inline constexpr std::string_view kScenario = "scenario";
inline constexpr std::string_view kTraceFormat = "trace-format";
inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kKvFormat = "format";
inline constexpr std::string_view kDevice = "device";
inline constexpr std::string_view kReplacement = "replacement";
inline constexpr std::string_view kCodec = formats::kFamily;
inline constexpr std::string_view kBudgetFamily = "budget";

/// "bandwidth = 3,350,000,000,000 bytes/s", the meaning of this figure, and its source.
struct FigureLines {
  std::string value, meaning, source;
};

/// "whole number, 1 to 8192 tokens", "true or false", "one of a, b".
std::string accepts(const Param& param);
std::string accepts(const runs::Field& field);
/// For a codec; empty for other components.
std::string paging_of(const Descriptor& d);
void write_descriptor(JsonWriter& json, const Descriptor& d);
void write_field(JsonWriter& json, const runs::Field& field);
void write_model(JsonWriter& json, const model::ModelShape& m);
void write_device(JsonWriter& json, const model::DeviceShape& d);
void write_importer(JsonWriter& json, const traces::Importer& importer);
std::string descriptor_text(const Descriptor& d);
std::string field_text(const runs::Field& field);
/// Shape, windows, parameters and bytes: a sentence, or part of one, for each.
std::vector<std::string> model_lines(const model::ModelShape& m);
/// "Also used for these Hugging Face models: A, B": repositories with the same model (modelfile/catalogue.h).
std::string other_names(const model::ModelShape& m);
std::string model_text(const model::ModelShape& m);
std::vector<FigureLines> figure_lines(const model::DeviceShape& d);
/// The name under which the device is sold, and its other names.
std::string device_summary(const model::DeviceShape& d);
std::string device_text(const model::DeviceShape& d);
std::string importer_text(const traces::Importer& importer);

}  // namespace kvplan::cli
