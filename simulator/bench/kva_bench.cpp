// Codecs of .kva chunks on made-up recordings: bytes of the file over bytes of its numbers, and CPU time to read it
// back, for a file of keys and values and for a file of rows that are computed from them. Fails if any two codecs give
// other numbers.
//   kva_bench [--small]     --small: a second of work, run by the tests
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"
#include "simulator/base/real.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/kva_writer.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::LayerTensors;
using attention::Part;

constexpr std::int32_t kHeads = 4;
constexpr std::int32_t kSize = 64;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// About normal: a sum of twelve.
double normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

/// Normal numbers; of keys and queries some channels are larger than others, as in trained models.
LayerTensors make_tensors(std::int64_t tokens) {
  LayerTensors out{.tokens = tokens,
                   .query_heads = kHeads,
                   .kv_heads = kHeads,
                   .key_size = kSize,
                   .value_size = kSize,
                   .scale = 1.0 / 8,
                   .queries = {},
                   .keys = {},
                   .values = {}};
  Random random(1, "kva_bench");
  const auto fill = [&](std::vector<std::vector<float>>& heads, bool uneven) {
    for (std::int32_t h = 0; h < kHeads; ++h) {
      heads.emplace_back();
      std::vector<double> scale;
      for (std::int32_t c = 0; c < kSize; ++c)
        scale.push_back(uneven ? exponential(normal(random) / 2) : 0.1);
      for (std::int64_t i = 0; i < tokens * kSize; ++i)
        heads.back().push_back(
            static_cast<float>(scale[static_cast<std::size_t>(i % kSize)] * normal(random)));
    }
  };
  fill(out.queries, true);
  fill(out.keys, true);
  fill(out.values, false);
  return out;
}

attention::RecordingInfo info_of(std::vector<attention::StoredPart> stored) {
  attention::RecordingInfo info;
  info.version = 2;
  info.query_heads = info.kv_heads = kHeads;
  info.key_size = info.value_size = kSize;
  info.cache_element_bytes = 2;
  info.stored = std::move(stored);
  attention::LayerInfo layer = info.layer(0);
  layer.model_query_heads = layer.model_kv_heads = kHeads;
  layer.parts = {};
  for (const attention::StoredPart& part : info.stored) layer.parts.add(part.part);
  info.recorded_layers.push_back(layer);
  return info;
}

struct File {
  std::string bytes;
  std::int64_t raw_bytes{0};
  double write_seconds{0};
};

template <class Fill>
File write_file(const attention::RecordingInfo& info, Codec codec, std::int64_t tokens, const Fill& fill) {
  File out;
  const double begin = cpu_seconds();
  auto made = KvaWriter::make(info, codec, [&out](std::string_view part) -> Status {
    out.bytes += part;
    return Done{};
  });
  KVPLAN_CHECK(made.ok());
  KvaWriter& writer = *made.value();
  KVPLAN_CHECK(writer.begin_sequence("made up", tokens / 2).ok());
  fill(writer);
  KVPLAN_CHECK(writer.end_sequence(0, tokens).ok() && writer.finish().ok());
  out.write_seconds = cpu_seconds() - begin;
  return out;
}

std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  return (digest ^ value) * 0x100000001B3ULL;
}

std::uint64_t read_tensors(const std::string& bytes) {
  const auto recording = open_kva(random_access_of(bytes, "bench"));
  std::uint64_t digest = 1;
  for (const Part part : {Part::kKeys, Part::kValues})
    for (std::int32_t head = 0; head < kHeads; ++head) {
      const auto numbers = recording.value()->numbers(0, 0, part, head).value();
      for (const float number : numbers) {
        std::uint32_t word = 0;
        std::memcpy(&word, &number, sizeof(word));
        digest = mix(digest, word);
      }
    }
  return digest;
}

std::uint64_t read_rows(const std::string& bytes, std::int64_t tokens) {
  const auto recording = open_kva(random_access_of(bytes, "bench"));
  const auto rows = recording.value()->open(0, 0);
  std::uint64_t digest = 1;
  for (std::int64_t t = 0; t < tokens; ++t) {
    KVPLAN_CHECK(rows.value()->seek(t).ok());
    for (std::int32_t head = 0; head < kHeads; ++head) {
      std::uint32_t word = 0;
      std::memcpy(&word, rows.value()->row(head).f32 + t, sizeof(word));
      digest = mix(digest, word);
    }
  }
  return digest;
}

struct Named {
  Codec codec;
  const char* name;
};
constexpr std::array<Named, 5> kCodecs{{{Codec::kStored, "stored"},
                                        {Codec::kZstd, "zstd"},
                                        {Codec::kPlanesZstd, "planes, zstd"},
                                        {Codec::kZlib, "zlib"},
                                        {Codec::kPlanesZlib, "planes, zlib"}}};

template <class Fill, class Read>
bool compare(const char* what, const attention::RecordingInfo& info, std::int64_t tokens,
             std::int64_t raw_bytes, const Fill& fill, const Read& read) {
  std::uint64_t digest = 0;
  bool same = true;
  for (const Named& each : kCodecs) {
    const File file = write_file(info, each.codec, tokens, fill);
    std::vector<double> seconds;
    std::uint64_t found = 0;
    for (int round = 0; round < 3; ++round) {
      const double begin = cpu_seconds();
      found = read(file.bytes);
      seconds.push_back(cpu_seconds() - begin);
    }
    std::sort(seconds.begin(), seconds.end());
    same = same && (digest == 0 || digest == found);
    digest = found;
    const double mega = static_cast<double>(raw_bytes) / 1e6;
    std::printf("%-18s %-14s %6.3f of the raw bytes   written %7.0f MB/s   read %7.0f MB/s\n", what,
                each.name, static_cast<double>(file.bytes.size()) / static_cast<double>(raw_bytes),
                mega / file.write_seconds, mega / seconds[1]);
  }
  std::printf("%-18s digest %016" PRIx64 "\n", what, digest);
  return same;
}

bool run(std::int64_t tokens) {
  const LayerTensors tensors = make_tensors(tokens);
  bool same = true;
  struct Kind {
    const char* name;
    Element element;
    std::int64_t width;
  };
  for (const Kind kind :
       {Kind{"keys, values f32", Element::kF32, 4}, Kind{"keys, values f16", Element::kF16, 2},
        Kind{"keys, values bf16", Element::kBf16, 2}})
    same = compare(
               kind.name, info_of({{Part::kKeys, kind.element}, {Part::kValues, kind.element}}), tokens,
               std::int64_t{2} * kHeads * tokens * kSize * kind.width,
               [&](KvaWriter& writer) {
                 for (std::int32_t head = 0; head < kHeads; ++head) {
                   const auto at = static_cast<std::size_t>(head);
                   KVPLAN_CHECK(writer.numbers({.head = head}, Part::kKeys, 0, tensors.keys[at]).ok());
                   KVPLAN_CHECK(writer.numbers({.head = head}, Part::kValues, 0, tensors.values[at]).ok());
                 }
               },
               read_tensors) &&
           same;
  std::vector<std::vector<double>> rows(kHeads);
  const auto computed = attention::rows_from_tensors(tensors);
  for (std::int64_t t = 0; t < tokens; ++t) {
    KVPLAN_CHECK(computed->seek(t).ok());
    for (std::int32_t head = 0; head < kHeads; ++head) {
      const double* row = computed->row(head).f64;
      rows[static_cast<std::size_t>(head)].insert(rows[static_cast<std::size_t>(head)].end(), row,
                                                  row + t + 1);
    }
  }
  for (const Kind kind : {Kind{"rows f32", Element::kF32, 4}, Kind{"rows f16", Element::kF16, 2}})
    same =
        compare(
            kind.name, info_of({{Part::kRows, kind.element}}), tokens,
            kHeads * tokens * (tokens + 1) / 2 * kind.width,
            [&](KvaWriter& writer) {
              for (std::int32_t head = 0; head < kHeads; ++head)
                KVPLAN_CHECK(writer.dense_rows({.head = head}, 0, rows[static_cast<std::size_t>(head)]).ok());
            },
            [&](const std::string& bytes) { return read_rows(bytes, tokens); }) &&
        same;
  return same;
}

}  // namespace
}  // namespace kvplan::io

int main(int argc, char** argv) {
  const bool small = argc == 2 && std::strcmp(argv[1], "--small") == 0;
  if (kvplan::io::run(small ? 200 : 2000)) return 0;
  std::puts("codecs give different numbers");
  return 1;
}
