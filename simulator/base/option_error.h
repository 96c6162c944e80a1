// Sentences of CLI11 that do not say what to do, said again.
#pragma once

#include <string>

namespace kvplan {

/// "--json: At Most 1 required but received 2" becomes "--json: expected it once, found it 2 times"; any other sentence
/// stays, but for "--json: 1 required TEXT missing", which becomes "--json: expected a value, found nothing".
inline std::string option_error(std::string sentence) {
  if (const std::size_t one = sentence.find(": 1 required "); one != std::string::npos)
    if (sentence.ends_with(" missing")) return sentence.substr(0, one) + ": expected a value, found nothing";
  const std::string most = ": At Most 1 required but received ";
  const std::size_t at = sentence.find(most);
  if (at == std::string::npos) return sentence;
  return sentence.substr(0, at) + ": expected it once, found it " + sentence.substr(at + most.size()) +
         " times";
}

}  // namespace kvplan
