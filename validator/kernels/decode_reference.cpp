#include <cmath>
#include <limits>

#include "validator/kernels/decode_attention.h"

namespace kvplan::validator {

DecodeReference decode_reference(const Case& of, const DecodeCache& cache,
                                 const std::vector<std::uint16_t>& q_bits) {
  const auto size = static_cast<std::size_t>(of.head_size);
  const auto heads = static_cast<std::size_t>(of.query_heads), group = static_cast<std::size_t>(of.group());
  const double scale = 1 / std::sqrt(static_cast<double>(size)) * static_cast<double>(key_scale(of.stored));
  DecodeReference out;
  out.rows.assign(of.lengths.size() * heads * size, 0);
  out.lse.assign(of.lengths.size() * heads, -std::numeric_limits<double>::infinity());
  for (std::size_t r = 0; r < cache.readers.size(); ++r) {
    const auto b = static_cast<std::size_t>(cache.readers[r].sequence);
    const auto h = static_cast<std::size_t>(cache.readers[r].kv_head);
    const auto& kept = cache.kept[r];
    if (kept.empty()) continue;
    for (std::size_t g = 0; g < group; ++g) {
      const std::size_t row = b * heads + h * group + g;
      const auto element = [&](const std::vector<std::uint16_t>& bits, std::int32_t token, std::size_t d) {
        const std::size_t at =
            (static_cast<std::size_t>(cache.first_token[r]) + static_cast<std::size_t>(token)) * size + d;
        return static_cast<double>(value_of(of.stored, bits[at]));
      };
      std::vector<double> logits;
      for (const std::int32_t t : kept) {
        double dot = 0;
        for (std::size_t d = 0; d < size; ++d)
          dot += static_cast<double>(value_of(query_numbers(of.stored), q_bits[row * size + d])) *
                 element(cache.k_bits, t, d);
        logits.push_back(dot * scale);
      }
      double most = logits.front(), sum = 0;
      for (const double logit : logits) most = std::max(most, logit);
      for (const double logit : logits) sum += std::exp(logit - most);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const double p = std::exp(logits[i] - most) / sum;
        for (std::size_t d = 0; d < size; ++d)
          out.rows[row * size + d] +=
              p * element(cache.v_bits, kept[i], d) * static_cast<double>(value_scale(of.stored));
      }
      out.lse[row] = (most + std::log(sum)) / std::log(2.0);
    }
  }
  return out;
}

}  // namespace kvplan::validator
