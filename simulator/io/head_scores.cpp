#include "simulator/io/head_scores.h"

#include <simdjson.h>

#include "simulator/io/json_text.h"

namespace kvplan::io {

namespace {

using Scores = std::vector<std::vector<double>>;

Result<Scores> parse_scores(std::string_view text) {
  namespace dom = simdjson::dom;
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(simdjson::padded_string(text)).get(root); error != simdjson::SUCCESS)
    return bad_input(std::string("expected JSON with one list per layer, found ") +
                     simdjson::error_message(error));
  dom::array layers;
  if (root.get(layers) != simdjson::SUCCESS) return bad_input("expected one list per layer");
  Scores out;
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

}  // namespace

Result<std::vector<std::vector<double>>> read_head_scores(const std::string& file_or_text) {
  if (file_or_text.starts_with('[')) return parse_scores(file_or_text);
  KVPLAN_TRY(const std::string text, read_json_text(file_or_text));
  auto scores = parse_scores(text);
  if (!scores.ok()) return std::move(scores).error().at_file(file_or_text);
  return scores;
}

}  // namespace kvplan::io
