// The text of --map: an accepted text gives the same map when it is written and read again.
#include <cstdlib>

#include "tests/fuzz/fuzz.h"
#include "traces/import/column_map.h"

std::vector<std::string> fuzz_seeds() {
  return {"arrival=a:ns,input=b,output=c,session=d,hashes=e,ttft=f:us,block=16",
          "arrival=t:iso,input=i,output=o"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvplan::traces;
  const auto map = parse_column_map({reinterpret_cast<const char*>(data), size});
  if (!map.ok()) return map.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
  const std::string text = to_text(map.value());
  const auto again = parse_column_map(text);
  if (!again.ok() || to_text(again.value()) != text) std::abort();
  return 0;
}
