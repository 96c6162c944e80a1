#include "simulator/readers/reader.h"

#include <algorithm>
#include <string>

namespace kvplan::readers {

void share_scores(std::string_view share, std::vector<std::vector<double>>& scores) {
  if (share == "none" || scores.size() < 2) return;
  std::vector<double>& to = scores.front();
  for (std::size_t q = 1; q < scores.size(); ++q)
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = share == "mean" ? to[i] + scores[q][i] : std::max(to[i], scores[q][i]);
  if (share == "mean")
    for (double& score : to) score /= static_cast<double>(scores.size());
  scores.resize(1);
}

Error wrong_param(const Choice& choice, std::string_view param, const std::string& what) {
  return bad_input("expected " + what + ", found " + std::to_string(choice.integer(param)))
      .at_field(std::string(choice.name()) + ":" + std::string(param));
}

}  // namespace kvplan::readers
