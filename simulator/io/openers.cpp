#include "simulator/io/openers.h"

#include <sys/stat.h>

#include <array>

#include "simulator/base/digest.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/head_scores.h"
#include "simulator/io/measured_kernels.h"
#include "simulator/io/measured_steps.h"
#include "simulator/io/model_file.h"
#include "simulator/io/policy_files.h"
#include "simulator/io/price_file.h"
#include "simulator/io/side_file.h"
#include "simulator/io/tensor_json.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

Result<std::unique_ptr<traces::ByteSource>> open_stoppable(const std::string& path,
                                                           const std::function<bool()>& stops) {
  return traces::open_bytes(path, [&stops](std::size_t) -> Status {
    if (stops && stops()) return interrupted_error();
    return Done{};
  });
}

/// False also if the file cannot be read: the code that really reads it reports why.
bool names_files(const std::string& path, const std::function<bool()>& stops) {
  const auto source = open_stoppable(path, stops);
  if (!source.ok()) return false;
  std::string text(static_cast<std::size_t>(kMaxTensorJsonBytes) + 1, '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const auto got = source.value()->read(text.data() + used, text.size() - used);
    if (!got.ok()) return false;
    if (got.value() == 0) break;
    used += got.value();
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first < used && text[first] != '{') return false;
  }
  text.resize(used);
  return static_cast<std::int64_t>(used) <= kMaxTensorJsonBytes && is_tensor_json(text);
}

}  // namespace

runs::Openers file_openers() {
  runs::Openers openers;
  openers.open_recording = open_attention;
  openers.open_model = open_model;
  openers.open_steps = open_measured_steps;
  openers.open_kernels = open_measured_kernels;
  openers.open_prices = open_prices;
  openers.open_scores = read_head_scores;
  openers.open_sets = read_recorded_sets;
  openers.open_side = open_side_file;
  return openers;
}

std::optional<runs::FileLook> look_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return runs::FileLook{found.st_size, found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Result<std::string> content_digest(const std::string& path, const std::function<bool()>& stops) {
  KVPLAN_TRY(const auto bytes, open_stoppable(path, stops));
  Digest digest;
  std::array<char, 65536> room;
  while (true) {
    KVPLAN_TRY(const std::size_t got, bytes->read(room.data(), room.size()));
    if (got == 0) return digest.text();
    digest.add({room.data(), got});
  }
}

Result<std::string> whole_digest(const std::string& path, const std::function<bool()>& stops) {
  if (names_files(path, stops)) return bad_input("names further files").at_file(path);
  return content_digest(path, stops);
}

}  // namespace kvplan::io
