#include "simulator/attention/tensor_score.h"

#include "simulator/attention/selection.h"

namespace kvplan::attention {

TensorScore::TensorScore(const LayerInput& input)
    : place_(input.place), budget_(input.choice.integer("budget")), every_(input.choice.integer("every")) {}

void TensorScore::evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) {
  const std::int64_t excess = residents.size() - budget_;
  const std::int64_t generated = residents.positions().back() - (place_.prompt - 1);
  const bool due = generated == 0 || (every_ > 0 && generated % every_ == 0);
  if (excess <= 0 || !due) return;
  scores_.resize(static_cast<std::size_t>(residents.size()));
  const std::int32_t head = set * place_.group;
  score(rows_->keys(head), rows_->values(head), residents.positions(), scores_);
  lowest(scores_, static_cast<std::int32_t>(excess), drop);
}

}  // namespace kvplan::attention
