#include "validator/kernels/gather.h"

#include <algorithm>
#include <cstring>

#include "validator/kernels/paged_problem.h"

namespace kvplan::validator {
namespace {

class Gather final : public ListedProblem {
 public:
  Gather(const Case& of, DecodeCache cache, Purpose purpose) : of_(of), cache_(std::move(cache)) {
    std::int64_t pages = 0;
    for (std::size_t r = 0; r < cache_.readers.size(); ++r) {
      const std::int32_t tokens = cache_.readers[r].tokens;
      to_first_.push_back(static_cast<std::int32_t>(pages));
      pages += (tokens + of.page_tokens - 1) / of.page_tokens;
      for (std::int32_t begin = 0; begin < tokens; begin += kGatherTokens)
        pieces_.push_back({static_cast<std::int32_t>(r), begin, std::min(begin + kGatherTokens, tokens)});
    }
    for (std::int64_t p = 0; p < pages; ++p) to_table_.push_back(static_cast<std::int32_t>(pages - 1 - p));
    const MadeUp keys{.seed = of.seed * 2, .stored = of.stored, .row = of.head_size};
    const MadeUp values{.seed = of.seed * 2 + 1, .stored = of.stored, .row = of.head_size};
    const std::int64_t from = cache_.pool_rows * row_bytes(), to = pages * of.page_tokens * row_bytes();
    add("k", cache_.k_pool, keys, from, purpose);
    add("v", cache_.v_pool, values, from, purpose);
    add({.name = "k_to", .size = to, .result = true, .rotates = true});
    add({.name = "v_to", .size = to, .result = true, .rotates = true});
    add("readers", cache_.readers);
    add("pieces", pieces_);
    add("table", cache_.table);
    add("list", cache_.list);
    add("to_table", to_table_);
    add("to_first", to_first_);
  }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    return {GatherArguments{.k = at[0],
                            .v = at[1],
                            .k_to = at[2],
                            .v_to = at[3],
                            .readers = in<DecodeReader>(at, 4),
                            .pieces = in<GatherPiece>(at, 5),
                            .table = in<std::int32_t>(at, 6),
                            .list = in<std::int32_t>(at, 7),
                            .to_table = in<std::int32_t>(at, 8),
                            .to_first = in<std::int32_t>(at, 9),
                            .piece_count = static_cast<std::int32_t>(pieces_.size()),
                            .page_shift = cache_.page_shift,
                            .page_rows = cache_.page_rows,
                            .head_rows = cache_.head_rows,
                            .row_bytes = static_cast<std::int32_t>(row_bytes())}};
  }

  [[nodiscard]] Roofline roofline() const override {
    const auto rows = static_cast<double>(cache_.tokens_read());
    return {.bytes = 4 * rows * static_cast<double>(row_bytes()) +
                     4 * static_cast<double>(cache_.list.size() + cache_.table.size() + to_table_.size())};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    Comparison found{.good = true};
    const auto size = static_cast<std::size_t>(of_.head_size),
               width = static_cast<std::size_t>(bytes_of(of_.stored));
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<std::byte> expected(results[side].size(), std::byte{0xFF});
      const auto& bits = side == 0 ? cache_.k_bits : cache_.v_bits;
      for (std::size_t r = 0; r < cache_.kept.size(); ++r)
        for (std::size_t v = 0; v < cache_.kept[r].size(); ++v) {
          const auto page =
              static_cast<std::size_t>(to_table_[static_cast<std::size_t>(to_first_[r]) +
                                                 v / static_cast<std::size_t>(of_.page_tokens)]);
          const std::size_t row = page * static_cast<std::size_t>(of_.page_tokens) +
                                  v % static_cast<std::size_t>(of_.page_tokens);
          const auto token =
              static_cast<std::size_t>(cache_.first_token[r]) + static_cast<std::size_t>(cache_.kept[r][v]);
          for (std::size_t d = 0; d < size; ++d)
            std::memcpy(expected.data() + (row * size + d) * width, &bits[token * size + d], width);
        }
      found = both(found, compare_bytes(results[side], expected, side == 0 ? "keys" : "values"));
    }
    return found;
  }

 private:
  [[nodiscard]] std::int64_t row_bytes() const { return of_.head_size * bytes_of(of_.stored); }

  Case of_;
  DecodeCache cache_;
  std::vector<GatherPiece> pieces_;
  std::vector<std::int32_t> to_table_, to_first_;
};

}  // namespace

Result<std::unique_ptr<Problem>> make_gather(const Case& of, Purpose purpose,
                                             const MachineFacts& /*machine*/) {
  if (of.retained != Retained::kList)
    return bad_input("compaction moves what a list keeps").at_field("retained");
  KVPLAN_TRY(DecodeCache cache, make_decode_cache(of, purpose));
  return std::unique_ptr<Problem>(std::make_unique<Gather>(of, std::move(cache), purpose));
}

std::vector<Case> gather_cases(CaseSet set, const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  const auto add = [&](Stored stored, std::vector<std::int64_t> lengths, std::int32_t kept) {
    Case of{.kernel = "compaction", .stored = stored};
    of.lengths = std::move(lengths);
    of.retained = Retained::kList;
    of.kept_of_1000 = kept;
    of.seed = cases.size() + 1;
    cases.push_back(std::move(of));
  };
  for (const Stored stored : {Stored::kBf16, Stored::kFp16, Stored::kFp8}) {
    if (set == CaseSet::kCheck || set == CaseSet::kSanitize) {
      for (const std::int32_t kept : {500, 30, 1000, 0}) add(stored, {200, 1, 0, 77}, kept);
      continue;
    }
    if (stored == Stored::kFp16 || set == CaseSet::kFine) continue;
    const std::vector<std::int64_t> lengths = set == CaseSet::kUnseen
                                                  ? std::vector<std::int64_t>{1500, 6000}
                                                  : std::vector<std::int64_t>{512, 2048, 8192};
    for (const std::int64_t length : lengths)
      for (const std::int64_t batch : {1, 8})
        add(stored, equal_lengths(batch, host ? length / 8 : length * 4), 500);
  }
  return cases;
}

}  // namespace kvplan::validator
