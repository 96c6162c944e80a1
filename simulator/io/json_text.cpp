#include "simulator/io/json_text.h"

#include <algorithm>
#include <memory>

#include "simulator/base/utf8.h"
#include "traces/io/input.h"

namespace kvplan::io {

Result<std::string> read_json_text(const std::string& path, std::int64_t most_bytes) {
  KVPLAN_TRY(const std::unique_ptr<traces::ByteSource> source, traces::open_bytes(path));
  constexpr std::size_t kPortion = std::size_t{1} << 16;
  std::string text;
  for (std::size_t used = 0;;) {
    if (used > static_cast<std::size_t>(most_bytes))
      return bad_input("expected a JSON file of at most " + std::to_string(most_bytes) + " bytes")
          .at_file(path);
    text.resize(used + std::max(kPortion, used / 2));
    KVPLAN_TRY(const std::size_t got, source->read(text.data() + used, text.size() - used));
    used += got;
    if (got > 0) continue;
    text.resize(used);
    return std::string(without_byte_order_mark(text));
  }
}

}  // namespace kvplan::io
