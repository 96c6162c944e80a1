#include "validator/kernels/decode_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "validator/kernels/comparison.h"
#include "validator/kernels/decode_plan.h"

namespace kvplan::validator {
namespace {

constexpr double kLseTolerance = 2e-3;

double tolerance_of(Stored stored) {
  return stored == Stored::kFp16 ? 1e-3 : 5e-3;
}

class DecodeAttention final : public Problem {
 public:
  DecodeAttention(const Case& of, DecodeCache cache, DecodePlan plan, Purpose purpose)
      : of_(of), cache_(std::move(cache)), plan_(std::move(plan)) {
    const auto add = [this](Region region) { regions_.push_back(std::move(region)); };
    const std::int64_t pool_bytes = cache_.pool_rows * of.head_size * bytes_of(of.stored);
    const bool check = purpose == Purpose::kCheck;
    const MadeUp keys{.seed = of.seed * 2, .stored = of.stored, .row = of.head_size, .outliers = of.outliers};
    const MadeUp values{.seed = of.seed * 2 + 1, .stored = of.stored, .row = of.head_size};
    q_bits_ = made_up_queries(of);
    add(with("q", bytes_of_vector(q_bits_)));
    add({.name = "k",
         .size = pool_bytes,
         .bytes = check ? cache_.k_pool : std::vector<std::byte>{},
         .rotates = true});
    add({.name = "v",
         .size = pool_bytes,
         .bytes = check ? cache_.v_pool : std::vector<std::byte>{},
         .rotates = true});
    if (!check) {
      regions_[1].made_up = keys;
      regions_[2].made_up = values;
    }
    add(with("table", bytes_of_vector(cache_.table)));
    add(with("list", bytes_of_vector(cache_.list)));
    add(with("mask", bytes_of_vector(cache_.mask)));
    add(with("pieces", bytes_of_vector(plan_.pieces)));
    add(with("combines", bytes_of_vector(plan_.combines)));
    const std::int64_t heads = of.sequences() * of.query_heads;
    add({.name = "out", .size = heads * of.head_size * 2, .result = true});
    add({.name = "lse", .size = heads * 4, .result = true});
    add({.name = "partial rows", .size = std::int64_t{plan_.rows} * of.head_size * 4});
    add({.name = "partial sums", .size = std::int64_t{plan_.rows} * 2 * 4});
  }

  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }

  [[nodiscard]] std::vector<Launch> launches(std::span<void* const> at) const override {
    const Stored numbers = query_numbers(of_.stored);
    const auto scale =
        static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(static_cast<double>(of_.head_size)));
    std::vector<Launch> all{DecodeArguments{.q = at[0],
                                            .k = at[1],
                                            .v = at[2],
                                            .table = static_cast<const std::int32_t*>(at[3]),
                                            .list = static_cast<const std::int32_t*>(at[4]),
                                            .mask = static_cast<const std::uint32_t*>(at[5]),
                                            .pieces = static_cast<const DecodePiece*>(at[6]),
                                            .out = at[8],
                                            .lse = static_cast<float*>(at[9]),
                                            .partial_rows = static_cast<float*>(at[10]),
                                            .partial_ml = static_cast<float*>(at[11]),
                                            .logits = nullptr,
                                            .logit_stride = 0,
                                            .piece_count = static_cast<std::int32_t>(plan_.pieces.size()),
                                            .stored = of_.stored,
                                            .head_size = of_.head_size,
                                            .query_heads = of_.query_heads,
                                            .page_shift = cache_.page_shift,
                                            .page_rows = cache_.page_rows,
                                            .head_rows = cache_.head_rows,
                                            .score_scale = scale * key_scale(of_.stored),
                                            .value_scale = value_scale(of_.stored),
                                            .read_by = cache_.read_by,
                                            .variant = plan_.variant}};
    if (!plan_.combines.empty())
      all.emplace_back(CombineArguments{.items = static_cast<const CombineItem*>(at[7]),
                                        .partial_rows = static_cast<const float*>(at[10]),
                                        .partial_ml = static_cast<const float*>(at[11]),
                                        .out = at[8],
                                        .lse = static_cast<float*>(at[9]),
                                        .item_count = static_cast<std::int32_t>(plan_.combines.size()),
                                        .most_heads = std::min(of_.group(), kHeadsOfPiece),
                                        .head_size = of_.head_size,
                                        .query_heads = of_.query_heads,
                                        .stored = numbers,
                                        .value_scale = value_scale(of_.stored)});
    return all;
  }

  [[nodiscard]] Roofline roofline() const override {
    const auto size = static_cast<double>(of_.head_size), tokens = static_cast<double>(cache_.tokens_read());
    const auto heads = static_cast<double>(of_.sequences() * of_.query_heads);
    Roofline line;
    line.bytes = 2 * size * static_cast<double>(bytes_of(of_.stored)) * tokens + heads * (size * 4 + 4);
    line.bytes += 4 * static_cast<double>(cache_.table.size() + cache_.list.size() + cache_.mask.size());
    line.bytes += 2 * 4 * static_cast<double>(plan_.rows) * (size + 2);
    line.flops = 4 * static_cast<double>(of_.group()) * size * tokens;
    return line;
  }

  [[nodiscard]] std::vector<std::pair<std::string, double>> notes() const override {
    return {{"splits", plan_.splits},
            {"grid", static_cast<double>(plan_.pieces.size())},
            {"chunk", plan_.chunk},
            {"waves", plan_.waves},
            {"variant", plan_.variant}};
  }

  [[nodiscard]] Comparison compare(std::span<const std::vector<std::byte>> results) const override {
    const DecodeReference reference = decode_reference(of_, cache_, q_bits_);
    const auto rows = values_of(results[0], query_numbers(of_.stored));
    Comparison found =
        compare_rows(rows, reference.rows, static_cast<std::size_t>(of_.head_size), tolerance_of(of_.stored));
    std::vector<float> lse(results[1].size() / 4);
    std::memcpy(lse.data(), results[1].data(), results[1].size());
    for (std::size_t i = 0; i < lse.size() && found.good; ++i) {
      const double own = static_cast<double>(lse[i]);
      if (own == reference.lse[i] || std::abs(own - reference.lse[i]) <= kLseTolerance) continue;
      found.good = false;
      found.first_problem = "log-sum-exp of row " + std::to_string(i) + " is " + std::to_string(own) +
                            ", expected " + std::to_string(reference.lse[i]);
    }
    return found;
  }

 private:
  static Region with(const char* name, std::vector<std::byte> bytes) {
    Region region{.name = name, .size = static_cast<std::int64_t>(bytes.size())};
    region.bytes = std::move(bytes);
    return region;
  }

  Case of_;
  DecodeCache cache_;
  DecodePlan plan_;
  std::vector<std::uint16_t> q_bits_;
  std::vector<Region> regions_;
};

}  // namespace

Stored query_numbers(Stored cache) {
  return cache == Stored::kFp16 ? Stored::kFp16 : Stored::kBf16;
}

float key_scale(Stored cache) {
  return cache == Stored::kFp8 ? 0.75F : 1.0F;
}
float value_scale(Stored cache) {
  return cache == Stored::kFp8 ? 1.25F : 1.0F;
}

std::vector<std::uint16_t> made_up_queries(const Case& of) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(of.sequences() * of.query_heads * of.head_size));
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<std::uint16_t>(
        bits_of(query_numbers(of.stored), made_up(of.seed * 2 + 0x9000, i) * (of.peaked ? 3.0F : 1.0F)));
  return bits;
}

std::int64_t decode_places(const MachineFacts& machine, std::int32_t variant) {
  if (machine.toolkit.empty()) return 4 * machine.sm_count;
  if (machine.shared_bytes == 0) return machine.sm_count * kDecodeBlocks[variant];
  constexpr std::int64_t kReserved = 1 << 10;  // of each block, and of the multiprocessor
  const std::int64_t fit = (machine.shared_bytes + kReserved) / (kDecodeShared[variant] + kReserved);
  return machine.sm_count * std::clamp<std::int64_t>(fit, 1, kDecodeBlocks[variant]);
}

Result<std::unique_ptr<Problem>> make_decode_attention(const Case& of, Purpose purpose,
                                                       const MachineFacts& machine) {
  if (of.rule < 0 || of.rule / 100 >= kDecodeVariants)
    return bad_input(std::to_string(of.rule) + ", expected less than " +
                     std::to_string(100 * kDecodeVariants))
        .at_field("rule");
  KVPLAN_TRY(DecodeCache cache, make_decode_cache(of, purpose));
  const std::int32_t variant = of.rule == 0 || of.head_size != 128
                                   ? own_variant(of.stored, of.head_size, machine.shared_bytes)
                                   : of.rule / 100;
  if (machine.shared_bytes > 0 && machine.shared_bytes < kDecodeShared[variant])
    return bad_input("variant " + std::to_string(variant) + " takes " +
                     std::to_string(kDecodeShared[variant]) + " bytes of shared memory, a block has " +
                     std::to_string(machine.shared_bytes))
        .at_field("rule");
  DecodePlan plan = plan_decode(cache.readers, of.group(), decode_places(machine, variant), of.rule % 100);
  plan.variant = variant;
  return std::unique_ptr<Problem>(
      std::make_unique<DecodeAttention>(of, std::move(cache), std::move(plan), purpose));
}

}  // namespace kvplan::validator
