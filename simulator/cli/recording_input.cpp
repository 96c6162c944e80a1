#include "simulator/cli/recording_input.h"

#include "simulator/cli/command.h"
#include "simulator/io/attention_json.h"

namespace kvplan::cli {

Result<std::shared_ptr<const attention::Recording>> open_recording(const std::string& path) {
  KVPLAN_TRY(auto recording, io::open_attention(path));
  if (!recording->info().cut.empty()) print_warnings({path + ": " + recording->info().cut});
  return recording;
}

}  // namespace kvplan::cli
