#include "simulator/attention/keyformer_parts.h"

#include "simulator/attention/kernels.h"

namespace kvplan::attention {
namespace {

/// int(whole * percent / 100) in doubles, as the original computes it.
std::int64_t share(std::int64_t whole, double percent) {
  return static_cast<std::int64_t>(static_cast<double>(whole) * percent / 100.0);
}

}  // namespace

std::int64_t keyformer_kept(const Choice& choice, std::int64_t prompt) {
  return share(prompt, choice.decimal("kv_percent"));
}

KeyformerScores::KeyformerScores(const Choice& choice, const LayerPlace& place)
    : prompt_(place.prompt),
      tau_init_(choice.decimal("tau_init")),
      tau_delta_(choice.decimal("tau_delta")),
      reduce_(aggregate_of(choice)) {
  const std::int64_t kept = keyformer_kept(choice, prompt_);
  recent_ = share(kept, choice.decimal("recent_percent"));
  keys_ = kept - recent_;
}

void KeyformerScores::update(Residents& residents, std::span<const HeadRow> heads) {
  const std::int64_t t = residents.positions().back();
  const double tau = t < prompt_ ? tau_init_ : tau_init_ + static_cast<double>(t - prompt_ + 1) * tau_delta_;
  const Weights weights = reduce_(temper_(heads, tau));
  accumulate(weights.value, weights.divisor, residents.column(0));
}

}  // namespace kvplan::attention
