#include "simulator/io/side_file.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "simulator/io/number_formats.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using formats::Matrix;
using formats::SideData;
using formats::SideLayer;

static_assert(std::endian::native == std::endian::little,
              "expected an uncompressed file: tensors are read in place");

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMostHeader = std::int64_t{16} << 20;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 28;  ///< of a tensor
constexpr std::int64_t kMostLayer = 4095;
constexpr double kOrthonormal = 1e-3;  ///< how far products of vectors may be from 0 and 1

enum class Dtype : std::uint8_t { kF64, kF32, kF16, kBf16 };
struct NamedDtype {
  std::string_view name;
  Dtype dtype;
  std::int64_t bytes;
};
constexpr std::array<NamedDtype, 4> kDtypes{
    {{"F64", Dtype::kF64, 8}, {"F32", Dtype::kF32, 4}, {"F16", Dtype::kF16, 2}, {"BF16", Dtype::kBf16, 2}}};

double number_at(const char* from, Dtype dtype) {
  const auto as = [&](auto number) {
    std::memcpy(&number, from, sizeof(number));
    return number;
  };
  switch (dtype) {
    case Dtype::kF64:
      return as(double{});
    case Dtype::kF32:
      return static_cast<double>(as(float{}));
    case Dtype::kF16:
      return static_cast<double>(float_from_f16(as(std::uint16_t{})));
    case Dtype::kBf16:
      return static_cast<double>(float_from_bf16(as(std::uint16_t{})));
  }
  return 0;
}

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;
  std::int64_t file_bytes{0};

  [[nodiscard]] Error wrong(const std::string& expected) const {
    return bad_input("expected " + expected).at_field(name);
  }
  [[nodiscard]] std::size_t size(std::size_t dimension) const {
    return static_cast<std::size_t>(shape[dimension]);
  }
};

Result<std::int64_t> whole(dom::element element, std::int64_t high) {
  std::int64_t number = 0;
  if (element.get_int64().get(number) != simdjson::SUCCESS || number < 0 || number > high)
    return bad_input("expected a whole number from 0 to " + std::to_string(high));
  return number;
}

/// `data`: where tensors begin.
Result<Tensor> tensor_of(const RandomAccess& file, std::int64_t data, std::string_view name,
                         dom::element said) {
  Tensor out{.name = std::string(name), .shape = {}, .numbers = {}};
  const auto part = [&](const char* key) { return std::string(name) + "." + key; };
  std::string_view dtype;
  if (said["dtype"].get(dtype) != simdjson::SUCCESS) return bad_input("is missing").at_field(part("dtype"));
  const auto* type = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const NamedDtype& each) { return each.name == dtype; });
  if (type == kDtypes.end())
    return bad_input("expected F64, F32, F16 or BF16, found " + std::string(dtype)).at_field(part("dtype"));
  dom::array shape;
  if (said["shape"].get(shape) != simdjson::SUCCESS)
    return bad_input("expected a list").at_field(part("shape"));
  std::int64_t count = 1;
  for (const dom::element each : shape) {
    auto size = whole(each, kMostNumbers);
    if (!size.ok() || size.value() == 0 || count > kMostNumbers / size.value())
      return bad_input("expected sizes of at least 1, with a product of at most 2^28")
          .at_field(part("shape"));
    out.shape.push_back(size.value());
    count *= size.value();
  }
  dom::array offsets;
  if (said["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2)
    return bad_input("expected two numbers").at_field(part("data_offsets"));
  std::array<std::int64_t, 2> ends{};
  for (std::size_t i = 0; i < 2; ++i) {
    auto end = whole(offsets.at(i), file.size() - data);
    if (!end.ok()) return std::move(end).error().at_field(part("data_offsets"));
    ends[i] = end.value();
  }
  if (ends[1] - ends[0] != count * type->bytes)
    return bad_input("expected " + std::to_string(count * type->bytes) + " bytes, as the shape says; found " +
                     std::to_string(ends[1] - ends[0]))
        .at_field(part("data_offsets"));
  out.file_bytes = ends[1] - ends[0];
  std::string bytes(static_cast<std::size_t>(out.file_bytes), '\0');
  KVPLAN_TRY_DO(file.read(data + ends[0], bytes.data(), std::ssize(bytes)));
  out.numbers.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = number_at(bytes.data() + i * type->bytes, type->dtype);
    if (!std::isfinite(number))
      return bad_input("expected finite numbers, found another at element " + std::to_string(i) + ", byte " +
                       std::to_string(data + ends[0] + i * type->bytes) + " of the file")
          .at_field(out.name);
    out.numbers.push_back(number);
  }
  return out;
}

/// [group][vector][channel]
Status take_bases(const Tensor& from, std::vector<Matrix>& to) {
  if (from.shape.size() != 3) return from.wrong("three dimensions: groups, vectors, channels");
  if (from.shape[1] > from.shape[2]) return from.wrong("at most as many vectors as channels");
  for (std::size_t g = 0; g < from.size(0); ++g) {
    Matrix basis(from.size(1), from.size(2));
    std::copy_n(from.numbers.begin() + static_cast<std::ptrdiff_t>(g * basis.data.size()), basis.data.size(),
                basis.data.begin());
    for (std::size_t i = 0; i < basis.rows; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        double product = 0;
        for (std::size_t c = 0; c < basis.columns; ++c) product += basis.at(i, c) * basis.at(k, c);
        if (!(std::fabs(product - (i == k ? 1 : 0)) <= kOrthonormal))
          return from.wrong("orthonormal vectors, found a product of " + std::to_string(product) +
                            " of vectors " + std::to_string(k) + " and " + std::to_string(i) + " of group " +
                            std::to_string(g));
      }
    // Rounding errors in the stored basis are removed, as far as doubles allow.
    to.push_back(formats::orthonormal_rows(std::move(basis)));
  }
  return Done{};
}

Status take_table(const Tensor& from, std::vector<double>& to) {
  constexpr std::size_t kLeast = 4;
  constexpr std::size_t kMost = 256;
  if (from.shape.size() != 1 || !std::has_single_bit(from.size(0)) || from.size(0) < kLeast ||
      from.size(0) > kMost)
    return from.wrong("one dimension of 4, 8, ... or 256 numbers");
  for (std::size_t i = 1; i < from.numbers.size(); ++i)
    if (!(from.numbers[i - 1] < from.numbers[i]))
      return from.wrong("ascending numbers, found a smaller one at element " + std::to_string(i));
  to = from.numbers;
  return Done{};
}

/// [KV head][channel], `low` and `high`.
Status take_thresholds(const Tensor& low, const Tensor& high, SideLayer& to) {
  if (low.shape.size() != 2) return low.wrong("two dimensions: KV heads, channels");
  if (high.shape != low.shape) return high.wrong("the shape of " + low.name);
  for (std::size_t h = 0; h < low.size(0); ++h) {
    auto& of_head = to.key_thresholds.emplace_back();
    for (std::size_t c = 0; c < low.size(1); ++c) {
      const std::size_t at = h * low.size(1) + c;
      if (!(low.numbers[at] <= high.numbers[at]))
        return high.wrong("at least " + low.name + ", found a smaller one at element " + std::to_string(at));
      of_head.push_back({low.numbers[at], high.numbers[at]});
    }
  }
  return Done{};
}

/// "layers.N.WHAT"
struct TensorName {
  std::int64_t layer;
  std::string_view what;
};
std::optional<TensorName> name_of(std::string_view name) {
  constexpr std::string_view kBefore = "layers.";
  if (!name.starts_with(kBefore)) return std::nullopt;
  name.remove_prefix(kBefore.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto layer = parse_integer(name.substr(0, dot));
  if (!layer || *layer < 0 || *layer > kMostLayer) return std::nullopt;
  // accept only one spelling of a layer number
  if (std::to_string(*layer) != name.substr(0, dot)) return std::nullopt;
  return TensorName{*layer, name.substr(dot + 1)};
}

Status take(SideLayer& layer, std::string_view what, const Tensor& tensor, std::optional<Tensor>& low,
            std::optional<Tensor>& high) {
  if (what == "keys.basis") return take_bases(tensor, layer.bases[0]);
  if (what == "values.basis") return take_bases(tensor, layer.bases[1]);
  if (what == "keys.table") return take_table(tensor, layer.tables[0]);
  if (what == "values.table") return take_table(tensor, layer.tables[1]);
  if (what == "keys.low") {
    low = tensor;
  } else if (what == "keys.high") {
    high = tensor;
  } else {
    return bad_input(
               "is not a tensor of a side file: expected keys.basis, values.basis, keys.low, keys.high, "
               "keys.table or values.table")
        .at_field(tensor.name);
  }
  return Done{};
}

Status take_metadata(dom::element said, SideData& to) {
  constexpr std::string_view kFormat = "kvplan side 1";
  dom::object metadata;
  std::string_view text;
  if (said.get(metadata) != simdjson::SUCCESS || metadata["format"].get(text) != simdjson::SUCCESS ||
      text != kFormat)
    return bad_input("expected \"" + std::string(kFormat) + "\"").at_field("__metadata__.format");
  if (metadata["model_digest"].get(text) == simdjson::SUCCESS) to.model_digest = text;
  return Done{};
}

Result<SideData> parse(const RandomAccess& file) {
  SideData out;
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes)
    return bad_input("expected the length of the header, found the end of the file");
  KVPLAN_TRY_DO(file.read(0, reinterpret_cast<char*>(&length), kLengthBytes));
  const std::int64_t most = std::min(kMostHeader, file.size() - kLengthBytes);
  if (length > static_cast<std::uint64_t>(most))
    return bad_input("expected a header of at most " + std::to_string(most) + " bytes at byte 8, found " +
                     std::to_string(length));
  std::string header(static_cast<std::size_t>(length), '\0');
  KVPLAN_TRY_DO(file.read(kLengthBytes, header.data(), std::ssize(header)));
  dom::parser parser;
  dom::object tensors;
  if (parser.parse(header).get(tensors) != simdjson::SUCCESS)
    return bad_input("expected a header at byte 8 that is a JSON object");
  dom::element metadata;
  if (tensors["__metadata__"].get(metadata) != simdjson::SUCCESS)
    return bad_input("is missing").at_field("__metadata__");
  KVPLAN_TRY_DO(take_metadata(metadata, out));
  std::map<std::int64_t, std::array<std::optional<Tensor>, 2>> thresholds;
  std::set<std::string_view> seen;
  const std::int64_t data = kLengthBytes + static_cast<std::int64_t>(length);
  std::int64_t left = file.size() - data;
  for (const auto& [key, said] : tensors) {
    if (key == "__metadata__") continue;
    const auto name = name_of(key);
    if (!name) return bad_input("expected layers.N.NAME").at_field(key);
    if (!seen.insert(key).second) return bad_input("stands twice").at_field(key);
    KVPLAN_TRY(const Tensor tensor, tensor_of(file, data, key, said));
    // Tensors must not overlap; otherwise a small file could ask for any amount of memory.
    left -= tensor.file_bytes;
    if (left < 0)
      return bad_input(
                 "expected tensors that do not overlap: up to this one, they have more bytes than the file")
          .at_field(key);
    auto& ends = thresholds[name->layer];
    SideLayer& layer = out.layers[name->layer];
    KVPLAN_TRY_DO(take(layer, name->what, tensor, ends[0], ends[1]));
  }
  if (left > 0)
    return bad_input("expected the end of the file at byte " + std::to_string(file.size() - left) +
                     ", after the last tensor, found " + std::to_string(left) + " more");
  for (auto& [number, ends] : thresholds) {
    if (ends[0].has_value() != ends[1].has_value())
      return bad_input("expected both keys.low and keys.high").at_field("layers." + std::to_string(number));
    if (ends[0]) KVPLAN_TRY_DO(take_thresholds(*ends[0], *ends[1], out.layers[number]));
  }
  if (out.layers.empty()) return bad_input("the file holds no layer");
  return out;
}

}  // namespace

Result<SideData> parse_side_file(const RandomAccess& file) {
  auto out = parse(file);
  if (!out.ok()) {
    Error error = std::move(out).error();
    return error.file.empty() ? std::move(error).at_file(file.name()) : error;
  }
  out.value().file = file.name();
  return out;
}

Result<std::shared_ptr<const SideData>> open_side_file(const std::string& path) {
  KVPLAN_TRY(const auto file, open_random_access(path));
  KVPLAN_TRY(SideData read, parse_side_file(*file));
  return std::make_shared<const SideData>(std::move(read));
}

Status read_side_file(formats::FormatChoice& format) {
  const std::string path = formats::side_file_of(format);
  if (path.empty()) return Done{};
  auto side = open_side_file(path);
  if (!side.ok())
    return bad_input(side.error().to_string())
        .at_field(std::string(format.choice.name()) + ":" + std::string(formats::kSideParam.name));
  format.side = std::move(side).value();
  return Done{};
}

}  // namespace kvplan::io
