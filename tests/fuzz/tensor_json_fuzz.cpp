// The JSON that names raw tensors: parsed, and formats run on it if it is accepted. The input is the JSON, a zero byte
// and the bytes of all files: a file that is named by a number N has the first N of them.
#include <cstdlib>
#include <cstring>

#include "simulator/formats/evaluation.h"
#include "simulator/io/tensor_json.h"
#include "tests/fuzz/fuzz.h"

namespace {

using kvplan::Done;
using kvplan::Result;
using kvplan::Status;
namespace io = kvplan::io;
namespace formats = kvplan::formats;

/// Longer sequences take too long for a fuzzer.
constexpr std::int64_t kMostTokens = 64;

void run(const kvplan::attention::Recording& recording, const char* text) {
  auto format = formats::parse_format(text);
  if (!format.ok()) std::abort();
  formats::EvaluationRequest request;
  request.format = std::move(format).value();
  const auto found = formats::evaluate(recording, request, []() -> Status { return Done{}; });
  if (!found.ok()) {
    if (found.error().to_string().find('\n') != std::string::npos) std::abort();
    return;
  }
  for (const auto& step : found.value().steps) {
    if (step.bytes.total() < 0) std::abort();
    for (const double error : step.logit_error)
      if (!(error >= 0)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::string_view bytes = all.substr(std::min(end + 1, all.size()));
  const io::FileOpener open =
      [bytes](const std::string& path) -> Result<std::shared_ptr<const io::RandomAccess>> {
    const auto count = kvplan::parse_integer(path);
    if (!count || *count < 0 || *count > static_cast<std::int64_t>(bytes.size()))
      return kvplan::bad_input("no such file").at_file(path);
    return io::random_access_of(std::string(bytes.substr(0, static_cast<std::size_t>(*count))), path);
  };
  const auto recording = io::parse_tensor_json(all.substr(0, end), "fuzz", open);
  if (!recording.ok()) {
    if (recording.error().to_string().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (recording.value()->info().sequences.front().tokens > kMostTokens) return 0;
  for (const char* text :
       {"int-token:bits=4", "kivi:group=2,residual=2", "fp8:scale=amax", "svd:rank=1,update=2",
        "kmeans:recent=0,sinks=0,clusters=2", "int-tensor:scale=running"})
    run(*recording.value(), text);
  return 0;
}

std::vector<std::string> fuzz_seeds() {
  std::vector<std::string> out;
  for (const char* text :
       {R"({"query_heads":2,"kv_heads":1,"head_dim":2,"T":3,"files":{"Q":"48","K":"24","V":"24"}})",
        R"({"query_heads":1,"kv_heads":1,"head_dim":4,"T":2,"files":{"Q":"32","K":"32","V":"32"},)"
        R"("prefill_len":1,"note":[1,null]})"}) {
    std::string seed(text);
    seed.push_back('\0');
    for (int i = 0; i < 12; ++i) {
      const float number = static_cast<float>(i * i) / 4 - 9;
      char raw[4];
      std::memcpy(raw, &number, sizeof(raw));
      seed.append(raw, sizeof(raw));
    }
    out.push_back(seed);
  }
  return out;
}
