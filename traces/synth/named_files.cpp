#include "traces/synth/named_files.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "traces/io/input.h"

namespace kvplan::traces {
namespace {

constexpr std::size_t kRecord = 512;
constexpr std::size_t kMostBytes = std::size_t{1} << 26;

Error too_long(const std::string& path) {
  return bad_input("the file has more than 67108864 bytes").at_file(path);
}

Status each_of_folder(const std::string& path, const WantsFile& wants, const TakeFile& take,
                      const ReadHook& on_read) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code none;
    const std::string name = at->path().filename().string();
    if (wants(name) && !at->is_directory(none)) names.push_back(name);
  }
  if (error) return bad_input("cannot read: " + error.message()).at_file(path);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string file = (std::filesystem::path(path) / name).string();
    KVPLAN_TRY(const std::unique_ptr<Input> input, Input::open(file, on_read));
    const std::string_view bytes = input->take(kMostBytes + 1);
    if (input->failed()) return input->error();
    if (bytes.size() > kMostBytes) return too_long(file);
    KVPLAN_TRY_DO(take(name, file, bytes));
  }
  return Done{};
}

/// A text field of an archive's header: up to its first zero byte.
std::string_view text_at(std::string_view header, std::size_t begin, std::size_t size) {
  const std::string_view field = header.substr(begin, size);
  return field.substr(0, field.find('\0'));
}

/// An octal number between spaces; -1 if the field is not one.
std::int64_t number_at(std::string_view header, std::size_t begin, std::size_t size) {
  std::string_view digits = text_at(header, begin, size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '7') return -1;
    value = value * 8 + (c - '0');
  }
  return value;  // at most 12 digits of 3 bits
}

constexpr std::size_t kSizeAt = 124, kSumAt = 148, kTypeAt = 156, kMagicAt = 257, kPrefixAt = 345;

/// Checks the sum of a header's bytes; the bytes of the sum itself count as spaces.
bool is_header(std::string_view header) {
  if (header.substr(kMagicAt, 5) != "ustar") return false;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kRecord; ++i)
    sum += i >= kSumAt && i < kSumAt + 8 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum == number_at(header, kSumAt, 8);
}

bool skip(Input& input, std::int64_t bytes) {
  while (bytes > 0) {
    const std::size_t part =
        input.take(static_cast<std::size_t>(std::min<std::int64_t>(bytes, 65'536))).size();
    if (part == 0) return false;
    bytes -= static_cast<std::int64_t>(part);
  }
  return true;
}

}  // namespace

Status each_file(Input& input, const WantsFile& wants, const TakeFile& take) {
  const std::string& path = input.path();
  const auto wrong = [&](std::string message) -> Error {
    if (input.failed()) return input.error();
    return bad_input(std::move(message)).at_file(path).at_byte(input.position());
  };
  for (;;) {
    const std::string header(input.take(kRecord));
    if (header.size() < kRecord && (input.failed() || !header.empty() || input.position() == 0))
      return wrong("expected a folder or a tar archive");
    // true also at the end of the file
    const bool over = header.find_first_not_of('\0') == std::string::npos;
    if (over) return Done{};
    if (!is_header(header)) return wrong("expected the header of a file in a tar archive");
    const std::int64_t size = number_at(header, kSizeAt, 12);
    if (size < 0) return wrong("expected an octal number of bytes");
    const std::string_view folder = text_at(header, kPrefixAt, 155);
    std::string whole(folder);
    whole.append(folder.empty() ? "" : "/").append(text_at(header, 0, 100));
    const std::string name = whole.substr(whole.find_last_of('/') + 1);
    const bool plain = header[kTypeAt] == '0' || header[kTypeAt] == '\0';
    std::int64_t left = size;
    if (plain && wants(name)) {
      const std::string place = std::string(path).append("/").append(whole);
      if (size > static_cast<std::int64_t>(kMostBytes)) return too_long(place);
      const std::string_view bytes = input.take(static_cast<std::size_t>(size));
      if (static_cast<std::int64_t>(bytes.size()) < size) return wrong("the archive ends early");
      KVPLAN_TRY_DO(take(name, place, bytes));
      left = 0;
    }
    const std::int64_t padding = (static_cast<std::int64_t>(kRecord) - size % 512) % 512;
    if (!skip(input, left + padding)) return wrong("the archive ends early");
  }
}

Status each_file(const std::string& path, const WantsFile& wants, const TakeFile& take,
                 const ReadHook& on_read) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return each_of_folder(path, wants, take, on_read);
  KVPLAN_TRY(const std::unique_ptr<Input> input, Input::open(path, on_read));
  return each_file(*input, wants, take);
}

}  // namespace kvplan::traces
