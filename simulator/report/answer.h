// Puts a comparison into sentences, computed from the numbers of simulator/study/answer.h, and gives the figures behind
// them. Text, JSON and HTML print the same.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/study/answer.h"

namespace kvplan::report {

/// The sentences, the most important first. A sentence about two variants names the best variant that did the same work
/// as the first variant, and the first one; if the first is the best, it names the best and the worst.
std::vector<std::string> answer_sentences(const runs::Comparison& comparison);

/// As answer_sentences, without sentences about single variants, which repeat tables (unless there are no others).
std::vector<std::string> short_answer_sentences(const runs::Comparison& comparison);

/// A sentence for each knee, after one that says what a knee is. Empty without knees.
std::vector<std::string> knee_sentences(const runs::Comparison& comparison);

/// Writes member "answer": {sentences[], facts[{variant, metric, value, versus, ratio}]} into an open object.
void write_answer(JsonWriter& json, const runs::Comparison& comparison);

/// The name of a metric in texts: "output tokens per second".
std::string_view metric_words(std::string_view metric);
/// A value of a metric with its unit: "12.3 ms", "1,014", "57.3 %".
std::string metric_text(std::string_view metric, double value);

}  // namespace kvplan::report
