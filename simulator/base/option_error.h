// Sentences of CLI11 that do not say what to do, said again.
#pragma once

#include <string>

namespace kvplan {

/// "--json: At Most 1 required but received 2" becomes "--json: expected it once, found it 2 times"; any other sentence
/// stays.
inline std::string option_error(std::string sentence) {
  const std::string most = ": At Most 1 required but received ";
  const std::size_t at = sentence.find(most);
  if (at == std::string::npos) return sentence;
  return sentence.substr(0, at) + ": expected it once, found it " + sentence.substr(at + most.size()) +
         " times";
}

}  // namespace kvplan
