#include "validator/kernels/append.h"

#include <cstring>

#include "validator/kernels/decode_attention.h"
#include "validator/kernels/paged_problem.h"

namespace kvplan::validator {
namespace {

std::int64_t new_tokens_of(const Case& of) {
  return std::max<std::int64_t>(1, of.budget);
}

class Append final : public ListedProblem {
 public:
  Append(const Case& of, DecodeCache cache, Purpose purpose) : of_(of), cache_(std::move(cache)) {
    const Stored from = query_numbers(of.stored);
    for (const DecodeReader& reader : cache_.readers) {
      if (reader.kv_head > 0) continue;
      for (std::int64_t i = 0; i < new_tokens_of(of); ++i) {
        const bool padded = reader.sequence % 7 == 6;  // batches in CUDA graphs have padded sequences
        rows_.push_back(padded ? -1
                               : static_cast<std::int32_t>(cache_.row_of(reader, reader.tokens - 1 - i)));
      }
    }
    const std::int64_t elements = static_cast<std::int64_t>(rows_.size()) * of.kv_heads * of.head_size;
    const MadeUp keys{.seed = of.seed * 2 + 5, .stored = from, .row = of.head_size, .outliers = of.outliers};
    const MadeUp values{.seed = of.seed * 2 + 6, .stored = from, .row = of.head_size};
    const bool check = purpose == Purpose::kCheck;
    add("k_new", check ? made_up_bytes(keys, elements) : std::vector<std::byte>{}, keys, elements * 2,
        purpose);
    add("v_new", check ? made_up_bytes(values, elements) : std::vector<std::byte>{}, values, elements * 2,
        purpose);
    add("rows", rows_);
    const std::int64_t pool = cache_.pool_rows * of.head_size * bytes_of(of.stored);
    add({.name = "k", .size = pool, .result = true, .rotates = true});
    add({.name = "v", .size = pool, .result = true, .rotates = true});
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {AppendArguments{.k_new = in<std::uint16_t>(at, 0),
                            .v_new = in<std::uint16_t>(at, 1),
                            .rows = in<std::int32_t>(at, 2),
                            .k = at[3],
                            .v = at[4],
                            .tokens = static_cast<std::int64_t>(rows_.size()),
                            .kv_heads = of_.kv_heads,
                            .head_size = of_.head_size,
                            .head_rows = cache_.head_rows,
                            .from = query_numbers(of_.stored),
                            .to = of_.stored,
                            .key_inverse = 1 / key_scale(of_.stored),
                            .value_inverse = 1 / value_scale(of_.stored)}};
  }

  [[nodiscard]] Roofline roofline() const override {
    double tokens = 0;
    for (const std::int32_t row : rows_) tokens += row < 0 ? 0 : 1;
    const double numbers = 2 * tokens * of_.kv_heads * of_.head_size;
    return {.bytes = numbers * static_cast<double>(2 + bytes_of(of_.stored)) +
                     4 * static_cast<double>(rows_.size())};
  }

  /// Compares the whole pools: cells to which nothing was appended must still hold poison.
  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    Comparison found{.good = true};
    for (std::size_t side = 0; side < 2; ++side) {
      const float scale = side == 0 ? key_scale(of_.stored) : value_scale(of_.stored);
      std::vector<std::byte> expected(results[side].size(), std::byte{0xFF});
      const auto numbers = values_of(regions()[side].bytes, query_numbers(of_.stored));
      const auto size = static_cast<std::size_t>(of_.head_size),
                 heads = static_cast<std::size_t>(of_.kv_heads);
      const auto width = static_cast<std::size_t>(bytes_of(of_.stored));
      for (std::size_t t = 0; t < rows_.size(); ++t)
        for (std::size_t h = 0; h < heads && rows_[t] >= 0; ++h)
          for (std::size_t d = 0; d < size; ++d) {
            const float x = numbers[(t * heads + h) * size + d] * (1 / scale);
            const std::uint32_t bits = bits_of(of_.stored, x);
            const auto row =
                static_cast<std::size_t>(rows_[t] + static_cast<std::int32_t>(h) * cache_.head_rows);
            std::memcpy(expected.data() + (row * size + d) * width, &bits, width);
          }
      found = both(found, compare_bytes(results[side], expected, side == 0 ? "keys" : "values"));
    }
    return found;
  }

 private:
  Case of_;
  DecodeCache cache_;
  std::vector<std::int32_t> rows_;
};

}  // namespace

Result<std::unique_ptr<Problem>> make_append(const Case& of, Purpose purpose,
                                             const MachineFacts& /*machine*/) {
  if (of.retained != Retained::kAll || of.window > 0)
    return bad_input("tokens are appended behind all others").at_field("retained");
  for (const std::int64_t length : of.lengths)
    if (length < new_tokens_of(of)) return bad_input("fewer tokens than are appended").at_field("lengths");
  KVPLAN_TRY(DecodeCache cache, make_decode_cache(of, Purpose::kTime));
  return std::unique_ptr<Problem>(std::make_unique<Append>(of, std::move(cache), purpose));
}

std::vector<Case> append_cases(CaseSet set, const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  const auto add = [&](Stored stored, std::vector<std::int64_t> lengths, std::int64_t tokens) {
    Case of{.kernel = "append", .stored = stored};
    of.lengths = std::move(lengths);
    of.budget = tokens;
    of.seed = cases.size() + 1;
    of.outliers = 12;
    cases.push_back(std::move(of));
  };
  for (const Stored stored : {Stored::kBf16, Stored::kFp16, Stored::kFp8}) {
    const bool part = set == CaseSet::kFine ? stored == Stored::kFp16 : stored != Stored::kFp16;
    if (set == CaseSet::kCheck || set == CaseSet::kSanitize) {
      add(stored, {20, 300, 1, 5, 9, 40, 77, 64}, 1);
      add(stored, {200, 130}, 100);
    } else if (part) {
      for (const std::int64_t length : set == CaseSet::kUnseen ? std::vector<std::int64_t>{700, 3000}
                                                               : std::vector<std::int64_t>{256, 1024, 4096})
        for (const std::int64_t batch : {1, 8})
          add(stored, equal_lengths(batch, host ? length / 4 : length * 2), host ? length / 4 : length * 2);
    }
  }
  return cases;
}

}  // namespace kvplan::validator
