// Attention recordings (.kva): opened, and every layer replayed. Checksums are ignored, so that mutations reach what
// follows them.
#include <cstdlib>

#include "simulator/attention/evaluation.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_writer.h"
#include "tests/fuzz/fuzz.h"

namespace {

using kvplan::Done;
using kvplan::Status;
namespace attention = kvplan::attention;
namespace io = kvplan::io;

constexpr std::int64_t kMostLayerBytes = std::int64_t{16} << 20;
/// Longer sequences take too long for a fuzzer.
constexpr std::int64_t kMostTokens = 512;

void replay(const attention::Recording& recording, std::int32_t layer) {
  const auto policy = attention::parse_policy("h2o:hh=2,recent=2");
  if (!policy.ok()) std::abort();
  const attention::EvaluationRequest request{
      .policy = policy.value(), .prompt = 1, .sequence = 0, .layer = layer};
  const auto done = attention::evaluate(recording, request, [](const auto& state) -> Status {
    for (const double mass : state.attended_mass())
      if (!(mass >= 0 && mass <= 1.02)) std::abort();
    for (const double error : state.output_error())
      if (!(error >= 0)) std::abort();
    return Done{};
  });
  static_cast<void>(done.ok());
}

/// Reads the parts other than rows that version 2 may hold.
void read_parts(const attention::Recording& recording, std::int32_t layer) {
  static_cast<void>(recording.tensors(0, layer).ok());
  for (std::uint32_t part = 2; part <= attention::kLastPart; ++part)
    static_cast<void>(recording.numbers(0, layer, static_cast<attention::Part>(part), 0).ok());
  const auto classes = recording.token_classes(0);
  if (!classes.ok()) return;
  for (const std::uint8_t each : classes.value())
    if (each >= recording.info().token_classes.size()) std::abort();
}

io::ByteSink into(std::string& bytes) {
  return [&bytes](std::string_view part) -> Status {
    bytes += part;
    return Done{};
  };
}

std::string rows_file(attention::RecordedForm form, attention::Element element, io::Codec codec) {
  attention::RecordingInfo info;
  info.form = form;
  info.element = element;
  info.sequences.push_back({"s", 4, 2});
  std::string bytes;
  auto writer = io::KvaWriter::make(info, codec, into(bytes));
  const std::vector<double> triangle{1, .5, .5, .25, .25, .5, .25, .25, .25, .25};
  const std::vector<io::TopRow> top{
      {{0}, {1}, 0}, {{1}, {.5}, .5}, {{0, 2}, {.25, .5}, .25}, {{1, 3}, {.25, .25}, .5}};
  const Status put = form == attention::RecordedForm::kDenseRows ? writer.value()->dense_rows({}, 0, triangle)
                                                                 : writer.value()->top_rows({}, 0, top);
  if (!put.ok() || !writer.value()->finish().ok()) std::abort();
  return bytes;
}

std::string tensors_file(attention::Element element, io::Codec codec) {
  attention::RecordingInfo info;
  info.form = attention::RecordedForm::kTensors;
  info.element = element;
  info.query_heads = 2;
  info.key_size = info.value_size = 2;
  info.has_values = true;
  info.sequences.push_back({"s", 3, 1});
  std::string bytes;
  auto writer = io::KvaWriter::make(info, codec, into(bytes));
  const std::vector<float> numbers{1, 0, .5F, -1, 2, .25F};
  for (const std::int32_t head : {0, 1})
    if (!writer.value()->tensor({0, 0, head}, io::TensorPart::kQueries, numbers).ok()) std::abort();
  for (const auto part : {io::TensorPart::kKeys, io::TensorPart::kValues})
    if (!writer.value()->tensor({}, part, numbers).ok()) std::abort();
  if (!writer.value()->finish().ok()) std::abort();
  return bytes;
}

attention::RecordingInfo mixed_info() {
  using attention::Element;
  using attention::Part;
  attention::RecordingInfo info;
  info.version = 2;
  info.layers = 2;
  info.query_heads = 2;
  info.key_size = info.value_size = 2;
  info.hidden_size = 3;
  info.token_classes = {"user", "needle"};
  info.rotary = attention::Rotary{.dims = 2, .inverse_frequencies = {}};
  info.stored = {{Part::kRows, Element::kF32},          {Part::kQueries, Element::kF16},
                 {Part::kKeys, Element::kBf16},         {Part::kValues, Element::kF32},
                 {Part::kValueNorms, Element::kF32},    {Part::kLayerInputs, Element::kF32},
                 {Part::kOutputWeights, Element::kF32}, {Part::kTokenClasses, Element::kU8},
                 {Part::kPositions, Element::kU32}};
  attention::LayerInfo layer = info.layer(0);
  layer.layer = 1;
  layer.group = 2;
  layer.parts = {Part::kRows,       Part::kQueries,     Part::kKeys,         Part::kValues,
                 Part::kValueNorms, Part::kLayerInputs, Part::kOutputWeights};
  layer.window = 2;
  layer.soft_cap = 3;
  layer.sink_logits = {0, 1};
  layer.bias_slopes = {0.5, 0.25};
  info.recorded_layers.push_back(layer);
  return info;
}

/// A file of version 2 with every part, complete or cut off.
std::string mixed_file(io::Codec codec, bool finished) {
  using attention::Part;
  std::string bytes;
  auto made = io::KvaWriter::make(mixed_info(), codec, into(bytes));
  if (!made.ok()) std::abort();
  io::KvaWriter& out = *made.value();
  const std::vector<float> numbers{1, 0, .5F, -1, 2, .25F};
  bool good = out.begin_sequence("s", 1).ok();
  const std::vector<double> rows{.5, .25, .5, 0, .5, .25};
  for (const std::int32_t head : {0, 1}) {
    good = good && out.numbers({0, 1, head}, Part::kOutputWeights, 0, numbers).ok();
    good = good && out.dense_rows({0, 1, head}, 0, rows).ok();
    good = good && out.numbers({0, 1, head}, Part::kQueries, 0, numbers).ok();
  }
  for (const Part part : {Part::kKeys, Part::kValues})
    good = good && out.numbers({0, 1, 0}, part, 0, numbers).ok();
  good = good && out.numbers({0, 1, 0}, Part::kValueNorms, 0, std::vector<float>{1, 2, .5F}).ok();
  good = good && out.numbers({0, 1, 0}, Part::kLayerInputs, 0, std::vector<float>(9, 1)).ok();
  good = good && out.token_classes(0, 0, std::vector<std::uint8_t>{0, 1, 0}).ok();
  good = good && out.positions(0, 0, std::vector<std::uint32_t>{3, 4, 5}).ok();
  if (finished) good = good && out.end_sequence(0, 3).ok() && out.finish().ok();
  if (!good) std::abort();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  io::KvaOptions options;
  options.max_layer_bytes = kMostLayerBytes;
  for (const bool check_sums : {true, false}) {
    options.check_sums = check_sums;
    const auto recording = io::open_kva(io::random_access_of(bytes, "fuzz"), options);
    if (!recording.ok()) {
      if (recording.error().to_string().find('\n') != std::string::npos) std::abort();
      continue;
    }
    const attention::RecordingInfo& info = recording.value()->info();
    if (info.cut.find('\n') != std::string::npos) std::abort();
    if (info.sequences[0].tokens > kMostTokens) continue;
    for (std::int32_t layer = 0; layer < info.layers && layer < 4; ++layer) {
      replay(*recording.value(), layer);
      if (info.version > 1) read_parts(*recording.value(), layer);
    }
  }
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  using attention::Element;
  using attention::RecordedForm;
  return {rows_file(RecordedForm::kDenseRows, Element::kF64, io::Codec::kStored),
          rows_file(RecordedForm::kDenseRows, Element::kF16, io::Codec::kZstd),
          rows_file(RecordedForm::kTopEntries, Element::kF32, io::Codec::kStored),
          rows_file(RecordedForm::kTopEntries, Element::kF64, io::Codec::kZlib),
          tensors_file(Element::kBf16, io::Codec::kStored),
          tensors_file(Element::kF32, io::Codec::kZstd),
          mixed_file(io::Codec::kStored, true),
          mixed_file(io::Codec::kPlanesZstd, true),
          mixed_file(io::Codec::kStored, false)};
}
