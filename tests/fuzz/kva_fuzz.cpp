// Attention recordings (.kva): opened, and every layer replayed. Checksums are not looked at, so that
// mutations reach what lies behind them.
#include <cstdlib>

#include "simulator/attention/evaluation.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_writer.h"
#include "tests/fuzz/fuzz.h"

namespace {

using kvplan::Done;
using kvplan::Status;
namespace attention = kvplan::attention;
namespace io = kvplan::io;

constexpr std::int64_t kMostLayerBytes = std::int64_t{16} << 20;
/// Longer ones take too long for a fuzzer to be worth it.
constexpr std::int64_t kMostTokens = 512;

void replay(const attention::Recording& recording, std::int32_t layer) {
  const auto policy = attention::parse_policy("h2o:hh=2,recent=2");
  if (!policy.ok()) std::abort();
  const attention::EvaluationRequest request{
      .policy = policy.value(), .prompt = 1, .sequence = 0, .layer = layer};
  const auto done = attention::evaluate(recording, request, [](const auto& state) -> Status {
    for (const double mass : state.attended_mass())
      if (!(mass >= 0 && mass <= 1.02)) std::abort();
    return Done{};
  });
  static_cast<void>(done.ok());
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
    if (info.sequences[0].tokens > kMostTokens) continue;
    for (std::int32_t layer = 0; layer < info.layers && layer < 4; ++layer) replay(*recording.value(), layer);
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
          tensors_file(Element::kF32, io::Codec::kZstd)};
}
