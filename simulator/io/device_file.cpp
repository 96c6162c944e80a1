#include "simulator/io/device_file.h"

#include "simulator/base/utf8.h"
#include "simulator/modelfile/device_text.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 16;

}  // namespace

Result<std::string> device_text(const std::string& text) {
  if (!model::names_device_file(text)) return text;
  KVPLAN_TRY(const auto input, traces::Input::open(text));
  const std::string content(input->take(kMostBytes + 1));
  if (input->failed()) return input->error();
  if (content.size() > kMostBytes)
    return bad_input("expected a device in a file of at most 64 KiB").at_file(text);
  KVPLAN_TRY(const model::DeviceShape device, model::device_of_file(without_byte_order_mark(content), text));
  return model::in_place(device);
}

Status read_devices(std::vector<runs::Setting>& settings) {
  for (runs::Setting& setting : settings) {
    if (setting.path != "deployment.device") continue;
    KVPLAN_TRY(setting.text, device_text(setting.text));
  }
  return Done{};
}

}  // namespace kvplan::io
