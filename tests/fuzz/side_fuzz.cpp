// Side files: parsed, and used by formats if they are accepted.
#include <cstdlib>
#include <cstring>

#include "simulator/io/side_file.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace formats = kvplan::formats;
namespace io = kvplan::io;

/// Encodes a few tokens of a small layer, if the file fits it.
void run(const std::shared_ptr<const formats::SideData>& side, const char* text) {
  auto parsed = formats::parse_format(text);
  if (!parsed.ok()) std::abort();
  formats::FormatChoice format = std::move(parsed).value();
  format.side = side;
  format = formats::of_layer(format, 0, 1);
  const formats::Shape shape{.query_heads = 2, .kv_heads = 2, .key_size = 2, .value_size = 2};
  const auto suits = formats::check_format(format, shape, 2);
  if (!suits.ok()) {
    if (suits.error().to_string().find('\n') != std::string::npos) std::abort();
    return;
  }
  const auto codec = formats::make_codec(format, shape);
  const std::vector<std::int64_t> positions{0, 1};
  const std::vector<double> numbers{1, -2, 0.5, 4};
  codec->append(std::vector<formats::HeadTokens>(2, {positions, numbers, numbers}));
  codec->end_prompt({});
  if (codec->total_bytes() < 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = io::random_access_of(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  auto side = io::parse_side_file(*file);
  if (!side.ok()) {
    if (side.error().to_string().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const auto shared = std::make_shared<const formats::SideData>(std::move(side).value());
  for (const char* text : {"palu:group=2,file=fuzz", "lorc:file=fuzz", "kvquant:file=fuzz"})
    run(shared, text);
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  const auto file = [](const std::string& header, const std::vector<float>& numbers) {
    std::string out(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(out.data(), &length, sizeof(length));
    out += header;
    for (const float number : numbers) out.append(reinterpret_cast<const char*>(&number), sizeof(number));
    return out;
  };
  return {file(R"({"__metadata__":{"format":"kvplan side 1","model_digest":"x"},)"
               R"("layers.0.keys.basis":{"dtype":"F32","shape":[1,1,4],"data_offsets":[0,16]},)"
               R"("layers.0.values.basis":{"dtype":"F32","shape":[1,2,4],"data_offsets":[16,48]}})",
               {0.5, 0.5, 0.5, 0.5, 1, 0, 0, 0, 0, 0, 1, 0}),
          file(R"({"__metadata__":{"format":"kvplan side 1"},)"
               R"("layers.0.keys.low":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
               R"("layers.0.keys.high":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},)"
               R"("layers.0.keys.table":{"dtype":"F32","shape":[4],"data_offsets":[32,48]},)"
               R"("layers.0.values.table":{"dtype":"F32","shape":[4],"data_offsets":[32,48]}})",
               {-1, -2, -1, -2, 1, 2, 1, 2, -1, -0.25, 0.25, 1})};
}
