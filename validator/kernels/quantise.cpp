#include "validator/kernels/quantise.h"

#include <numeric>

#include "validator/kernels/decode_cache.h"
#include "validator/kernels/paged_problem.h"

namespace kvplan::validator {
namespace {

bool by_channel(const Case& of) {
  return of.retained == Retained::kCompacted;
}

std::int64_t rows_of(const Case& of) {
  return std::accumulate(of.lengths.begin(), of.lengths.end(), std::int64_t{0}) * of.kv_heads;
}

/// The scale that would follow if the greatest number were known: made-up numbers are at most 3.5.
float tensor_scale_of(const Case& of) {
  const float greatest = 3.5F * of.outliers;
  return of.format == Format::kFp8 ? greatest / 448.0F : greatest / (6.0F * 448.0F);
}

std::int64_t side_bytes(const Case& of, std::int64_t rows) {
  if (of.format == Format::kFp8) return 0;
  const std::int64_t groups = by_channel(of) ? rows / kRowsOfChannelGroup * of.head_size
                                             : rows * of.head_size / group_channels(of.format, of.head_size);
  return groups * (of.format == Format::kNvfp4 ? 1 : has_zero(of.format) ? 4 : 2);
}

class Quantise final : public ListedProblem {
 public:
  Quantise(const Case& of, Purpose purpose) : of_(of), rows_(rows_of(of)) {
    const bool check = purpose == Purpose::kCheck, back = of.kernel == "dequantise";
    const std::int64_t elements = rows_ * of.head_size, codes = elements * code_bits(of.format) / 8;
    const MadeUp numbers{.seed = of.seed, .stored = of.stored, .row = of.head_size, .outliers = of.outliers};
    if (check) {
      for (std::int64_t i = 0; i < elements; ++i)
        numbers_.push_back(static_cast<std::uint16_t>(made_up_bits(numbers, static_cast<std::uint64_t>(i))));
      if (rows_ > 0) std::fill_n(numbers_.begin(), of.head_size, std::uint16_t{0});  // a row of zeros
      reference_ = quantise_reference(numbers_, of.stored, of.format, static_cast<std::size_t>(of.head_size),
                                      by_channel(of), tensor_scale_of(of));
    }
    // For timing, codes and side data may be any bits that are valid numbers.
    const MadeUp any{.seed = of.seed + 1, .stored = Stored::kFp8};
    const MadeUp halves{.seed = of.seed + 2, .stored = Stored::kFp16};
    const std::int64_t side = side_bytes(of, rows_);
    if (back) {
      add({.name = "numbers", .size = elements * 2, .result = true, .rotates = true});
      add("codes", reference_.codes, any, codes, purpose);
      add("side", reference_.side, of.format == Format::kNvfp4 ? any : halves, side, purpose);
    } else {
      add("numbers", bytes_of_vector(numbers_), numbers, elements * 2, purpose);
      add({.name = "codes", .size = codes, .result = true, .rotates = true});
      add({.name = "side", .size = side, .result = true, .rotates = true});
    }
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {QuantiseArguments{.numbers = out_of<std::uint16_t>(at, 0),
                              .codes = out_of<std::uint8_t>(at, 1),
                              .side = at[2],
                              .rows = rows_,
                              .head_size = of_.head_size,
                              .from = of_.stored,
                              .format = of_.format,
                              .by_channel = by_channel(of_),
                              .back = of_.kernel == "dequantise",
                              .tensor_scale = tensor_scale_of(of_)}};
  }

  [[nodiscard]] Roofline roofline() const override {
    const auto elements = static_cast<double>(rows_ * of_.head_size);
    return {
        .bytes = elements * (2 + code_bits(of_.format) / 8.0) + static_cast<double>(side_bytes(of_, rows_)),
        .flops = 4 * elements};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    if (of_.kernel == "dequantise")
      return compare_bytes(results[0], bytes_of_vector(reference_.back), "numbers");
    return both(compare_bytes(results[0], reference_.codes, "codes"),
                compare_bytes(results[1], reference_.side, "scales and zeros"));
  }

 private:
  Case of_;
  std::int64_t rows_;
  std::vector<std::uint16_t> numbers_;
  QuantisedReference reference_;
};

std::vector<Case> cases_of(const char* kernel, CaseSet set, const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  const auto add = [&](Format format, Stored stored, std::int64_t length, std::int32_t head_size,
                       bool channel) {
    Case of{.kernel = kernel, .stored = stored, .head_size = head_size, .format = format};
    of.lengths = {length};
    if (channel) of.retained = Retained::kCompacted;
    of.outliers = 12;
    of.seed = cases.size() + 1;
    cases.push_back(std::move(of));
  };
  const bool check = set == CaseSet::kCheck || set == CaseSet::kSanitize;
  for (const Format format :
       {Format::kFp8, Format::kInt8, Format::kInt4, Format::kKivi4, Format::kKivi2, Format::kNvfp4}) {
    const bool kivi = format == Format::kKivi4 || format == Format::kKivi2;
    for (const bool channel : {false, true}) {
      if (channel && !kivi) continue;
      if (check) {
        for (const Stored stored : {Stored::kBf16, Stored::kFp16})
          for (const std::int32_t head_size : {64, 128}) add(format, stored, 100, head_size, channel);
      } else if (set != CaseSet::kFine) {
        const std::vector<std::int64_t> lengths = set == CaseSet::kUnseen
                                                      ? std::vector<std::int64_t>{3072, 24576}
                                                      : std::vector<std::int64_t>{1024, 8192, 65536};
        for (const std::int64_t length : lengths)
          add(format, Stored::kBf16, host ? length / 8 : length * 2, 128, channel);
      }
    }
  }
  return cases;
}

}  // namespace

Result<std::unique_ptr<Problem>> make_quantise(const Case& of, Purpose purpose,
                                               const MachineFacts& /*machine*/) {
  KVPLAN_TRY_DO(check_shape(of));
  if (of.stored == Stored::kFp8)
    return bad_input("fp8 is already quantised: expected fp16 or bf16").at_field("stored");
  const bool kivi = of.format == Format::kKivi4 || of.format == Format::kKivi2;
  if (by_channel(of) && (!kivi || rows_of(of) % kRowsOfChannelGroup != 0))
    return bad_input("only KIVI quantises by channel, and only if the number of rows is a multiple of 32")
        .at_field("retained");
  return std::unique_ptr<Problem>(std::make_unique<Quantise>(of, purpose));
}

std::vector<Case> quantise_cases(CaseSet set, const MachineFacts& machine) {
  return cases_of("quantise", set, machine);
}
std::vector<Case> dequantise_cases(CaseSet set, const MachineFacts& machine) {
  return cases_of("dequantise", set, machine);
}

}  // namespace kvplan::validator
