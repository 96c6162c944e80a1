#include "validator/kernels/swap.h"

#include <cstring>

#include "validator/kernels/paged_problem.h"

namespace kvplan::validator {
namespace {

class Swap final : public ListedProblem {
 public:
  Swap(const Case& of, Purpose purpose) : of_(of) {
    // Each share is twice the copied size, and the order differs on both sides: no two pieces can be joined.
    const std::int64_t share = 2 * of.descriptor_bytes, size = share * of.descriptors;
    for (std::int64_t i = 0; i < of.descriptors; ++i)
      places_.push_back(
          {.on_device = (i * 5 + 3) % of.descriptors * share, .on_host = i * 3 % of.descriptors * share});
    const MadeUp made_up{.seed = of.seed, .stored = Stored::kBf16};
    const bool in = of.direction == CopyDirection::kIn;
    const auto add_side = [&](const char* name, Place place, bool source) {
      Region side{.name = name, .size = size, .place = place, .result = !source};
      if (source && purpose == Purpose::kCheck) side.bytes = made_up_bytes(made_up, size / 2);
      if (source && purpose == Purpose::kTime) side.made_up = made_up;
      add(std::move(side));
    };
    add_side("device", Place::kDevice, !in);
    add_side("host", Place::kPinned, in);
    region(add("places", places_)).place = Place::kPinned;
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {SwapArguments{.places = in<SwapPlace>(at, 2),
                          .device = out_of<char>(at, 0),
                          .host = out_of<char>(at, 1),
                          .count = of_.descriptors,
                          .bytes = of_.descriptor_bytes,
                          .direction = of_.direction,
                          .path = of_.path}};
  }

  [[nodiscard]] Roofline roofline() const override {
    return {.bytes = static_cast<double>(of_.descriptors) * static_cast<double>(of_.descriptor_bytes)};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    const bool in = of_.direction == CopyDirection::kIn;
    const auto& source = regions()[in ? 1 : 0].bytes;
    std::vector<std::byte> expected(source.size(), std::byte{0xFF});
    for (const SwapPlace& place : places_)
      std::memcpy(expected.data() + (in ? place.on_device : place.on_host),
                  source.data() + (in ? place.on_host : place.on_device),
                  static_cast<std::size_t>(of_.descriptor_bytes));
    return compare_bytes(results[0], expected, in ? "device" : "host");
  }

 private:
  Case of_;
  std::vector<SwapPlace> places_;
};

}  // namespace

Result<std::unique_ptr<Problem>> make_swap(const Case& of, Purpose purpose, const MachineFacts& /*machine*/) {
  if (of.descriptors < 1 || of.descriptors % 3 == 0 || of.descriptors % 5 == 0)
    return bad_input(std::to_string(of.descriptors) + ", expected 1 or more, no multiple of 3 or 5")
        .at_field("descriptors");
  if (of.descriptor_bytes < 16 || of.descriptor_bytes % 16 != 0)
    return bad_input(std::to_string(of.descriptor_bytes) + ", expected a multiple of 16")
        .at_field("descriptor_bytes");
  return std::unique_ptr<Problem>(std::make_unique<Swap>(of, purpose));
}

std::vector<Case> swap_cases(CaseSet set, const MachineFacts& machine) {
  std::vector<Case> cases;
  const std::int64_t most = machine.toolkit.empty() ? std::int64_t{4} << 20 : std::int64_t{128} << 20;
  std::vector<std::int64_t> sizes{4, 16, 32, 256}, counts{1, 16, 256, 2048};  // KiB
  if (set == CaseSet::kFine) sizes = {8, 24, 28, 64, 1024};
  if (set == CaseSet::kUnseen) {
    sizes = {12, 48, 128};
    counts = {64, 1024};
  }
  if (set == CaseSet::kCheck || set == CaseSet::kSanitize) {
    sizes = {1, 4};
    counts = {1, 17};
  }
  for (const CopyPath path : {CopyPath::kLoop, CopyPath::kBatch, CopyPath::kKernel})
    for (const CopyDirection direction : {CopyDirection::kIn, CopyDirection::kOut})
      for (const std::int64_t kib : sizes)
        for (const std::int64_t count : counts) {
          if (kib * 1024 * count > most) continue;
          Case of{
              .kernel = "swap", .direction = direction, .descriptor_bytes = kib * 1024, .descriptors = count};
          of.path = path;
          cases.push_back(std::move(of));
        }
  return cases;
}

}  // namespace kvplan::validator
