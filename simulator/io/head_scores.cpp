#include "simulator/io/head_scores.h"

#include <simdjson.h>

namespace kvplan::io {

Result<std::vector<std::vector<double>>> read_head_scores(const std::string& file_or_text) {
  namespace dom = simdjson::dom;
  const bool is_text = file_or_text.starts_with('[');
  dom::parser parser;
  dom::element root;
  const auto error = is_text ? parser.parse(file_or_text).get(root) : parser.load(file_or_text).get(root);
  if (error != simdjson::SUCCESS)
    return bad_input("expected a JSON file with one list per layer, found " +
                     (is_text ? "" : "in " + file_or_text + ": ") +
                     std::string(simdjson::error_message(error)));
  dom::array layers;
  if (root.get(layers) != simdjson::SUCCESS) return bad_input("expected one list per layer");
  std::vector<std::vector<double>> out;
  for (const dom::element layer : layers) {
    dom::array heads;
    if (layer.get(heads) != simdjson::SUCCESS) return bad_input("expected one list of numbers per layer");
    out.emplace_back();
    for (const dom::element head : heads) {
      double score = 0;
      if (head.get(score) != simdjson::SUCCESS || score < 0)
        return bad_input("expected one number of at least 0 per head");
      out.back().push_back(score);
    }
  }
  return out;
}

}  // namespace kvplan::io
