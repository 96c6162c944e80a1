#include "simulator/io/kva_frames.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "simulator/base/read_files.h"
#include "simulator/frame/frame.h"
#include "simulator/io/byte_planes.h"

namespace kvplan::io {
namespace {

/// The checksum covers kind, length and payload: everything but the checksum itself.
std::uint32_t frame_sum(std::string_view header, std::string_view payload) {
  return frame::crc32(frame::crc32(frame::crc32(0, header.substr(0, 4)), header.substr(8, 8)), payload);
}

class FileAccess final : public RandomAccess {
 public:
  FileAccess(int descriptor, std::int64_t size, std::string name)
      : descriptor_(descriptor), size_(size), name_(std::move(name)) {}
  ~FileAccess() override { ::close(descriptor_); }
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  Status read(std::int64_t offset, char* to, std::int64_t count) const override {
    while (count > 0) {
      const ssize_t got = ::pread(descriptor_, to, static_cast<std::size_t>(count), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return bad_input("cannot read: " + std::string(std::strerror(errno))).at_file(name_);
      if (got == 0) return bad_input("the file shrank while it was read").at_file(name_);
      to += got;
      offset += got;
      count -= got;
    }
    return Done{};
  }

 private:
  int descriptor_;
  std::int64_t size_;
  std::string name_;
};

class MemoryAccess final : public RandomAccess {
 public:
  MemoryAccess(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  Status read(std::int64_t offset, char* to, std::int64_t count) const override {
    std::memcpy(to, bytes_.data() + offset, static_cast<std::size_t>(count));
    return Done{};
  }

 private:
  std::string bytes_;
  std::string name_;
};

}  // namespace

Result<std::shared_ptr<const RandomAccess>> open_random_access(const std::string& path) {
  KVPLAN_TRY_DO(check_path(path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return bad_input("cannot open: " + std::string(std::strerror(errno))).at_file(path);
  note_read(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return bad_input("expected a regular file").at_file(path);
  }
  return std::shared_ptr<const RandomAccess>(
      std::make_shared<FileAccess>(descriptor, std::int64_t{status.st_size}, path));
}

std::shared_ptr<const RandomAccess> random_access_of(std::string bytes, const std::string& name) {
  return std::make_shared<MemoryAccess>(std::move(bytes), name);
}

std::string_view letters(FrameKind kind) {
  constexpr std::string_view kLetters[] = {"HEAD", "SEQN", "CHNK", "INDX"};
  return kLetters[static_cast<std::size_t>(kind)];
}

std::string frame(FrameKind kind, std::string_view payload) {
  std::string header(letters(kind));
  frame::put_u32(header, 0);
  frame::put_u64(header, payload.size());
  std::string sum;
  frame::put_u32(sum, frame_sum(header, payload));
  header.replace(4, 4, sum);
  return header.append(payload);
}

std::string trailer(std::int64_t index_offset) {
  std::string out;
  frame::put_u64(out, static_cast<std::uint64_t>(index_offset));
  frame::put_u32(out, frame::crc32(0, out));
  return out.append(kKvaEndMagic);
}

Result<std::string> read_frame(const RandomAccess& file, FrameKind kind, std::int64_t offset,
                               std::int64_t end, std::int64_t most, bool check_sums) {
  const auto wrong = [&](std::string message) {
    return bad_input(std::move(message)).at_file(file.name()).at_byte(offset);
  };
  if (offset < 0 || offset > end - kFrameHeaderBytes)
    return wrong("expected a frame, but the file is too short");
  std::string header(static_cast<std::size_t>(kFrameHeaderBytes), '\0');
  KVPLAN_TRY_DO(file.read(offset, header.data(), kFrameHeaderBytes));
  if (std::string_view(header).substr(0, 4) != letters(kind))
    return wrong("expected a frame " + std::string(letters(kind)));
  const auto length = frame::get_u64(std::string_view(header).substr(8));
  const std::int64_t room = end - offset - kFrameHeaderBytes;
  if (length > static_cast<std::uint64_t>(room))
    return wrong("the frame length is " + std::to_string(length) + " bytes, " + std::to_string(room) +
                 " are left: truncated");
  if (length > static_cast<std::uint64_t>(most))
    return wrong("the frame length is " + std::to_string(length) + " bytes, at most " + std::to_string(most) +
                 " are allowed");
  std::string payload(static_cast<std::size_t>(length), '\0');
  KVPLAN_TRY_DO(file.read(offset + kFrameHeaderBytes, payload.data(), static_cast<std::int64_t>(length)));
  if (check_sums && frame_sum(header, payload) != frame::get_u32(std::string_view(header).substr(4)))
    return wrong("checksum does not match: the frame is damaged");
  return payload;
}

Result<std::optional<AnyFrame>> read_whole_frame(const RandomAccess& file, std::int64_t offset,
                                                 std::int64_t end, bool check_sums) {
  std::optional<AnyFrame> none;
  if (offset > end - kFrameHeaderBytes) return none;
  std::string header(static_cast<std::size_t>(kFrameHeaderBytes), '\0');
  KVPLAN_TRY_DO(file.read(offset, header.data(), kFrameHeaderBytes));
  const auto length = frame::get_u64(std::string_view(header).substr(8));
  const std::int64_t room = std::min(end - offset - kFrameHeaderBytes, kMaxPayloadBytes);
  if (length > static_cast<std::uint64_t>(room)) return none;
  AnyFrame out{.kind = header.substr(0, 4),
               .payload = std::string(static_cast<std::size_t>(length), '\0'),
               .bytes = kFrameHeaderBytes + static_cast<std::int64_t>(length)};
  KVPLAN_TRY_DO(file.read(offset + kFrameHeaderBytes, out.payload.data(), static_cast<std::int64_t>(length)));
  if (check_sums && frame_sum(header, out.payload) != frame::get_u32(std::string_view(header).substr(4)))
    return none;
  return std::optional(std::move(out));
}

Result<bool> has_trailer(const RandomAccess& file) {
  const auto size = static_cast<std::int64_t>(kKvaEndMagic.size());
  if (file.size() < static_cast<std::int64_t>(kKvaMagic.size()) + kTrailerBytes) return false;
  std::string bytes(kKvaEndMagic.size(), '\0');
  KVPLAN_TRY_DO(file.read(file.size() - size, bytes.data(), size));
  return bytes == kKvaEndMagic;
}

Result<std::int64_t> read_trailer(const RandomAccess& file, bool check_sums) {
  const std::int64_t at = file.size() - kTrailerBytes;
  const auto wrong = [&](std::string message) {
    return bad_input(std::move(message)).at_file(file.name()).at_byte(at > 0 ? at : 0);
  };
  if (at < static_cast<std::int64_t>(kKvaMagic.size())) return wrong("truncated: the file has no trailer");
  std::string bytes(static_cast<std::size_t>(kTrailerBytes), '\0');
  KVPLAN_TRY_DO(file.read(at, bytes.data(), kTrailerBytes));
  if (std::string_view(bytes).substr(12) != kKvaEndMagic) return wrong("truncated: the file has no trailer");
  if (check_sums && frame::crc32(0, std::string_view(bytes).substr(0, 8)) !=
                        frame::get_u32(std::string_view(bytes).substr(8)))
    return wrong("checksum of the trailer does not match");
  const auto offset = frame::get_u64(bytes);
  if (offset >= static_cast<std::uint64_t>(at)) return wrong("the index lies outside the file");
  return static_cast<std::int64_t>(offset);
}

namespace {

std::string with_zlib(std::string_view raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string out(size, '\0');
  KVPLAN_CHECK(::compress(reinterpret_cast<Bytef*>(out.data()), &size,
                          reinterpret_cast<const Bytef*>(raw.data()),
                          static_cast<uLong>(raw.size())) == Z_OK);
  out.resize(size);
  return out;
}

Status from_zlib(std::string_view data, std::string& out) {
  auto room = static_cast<uLongf>(out.size());
  auto used = static_cast<uLong>(data.size());
  if (::uncompress2(reinterpret_cast<Bytef*>(out.data()), &room, reinterpret_cast<const Bytef*>(data.data()),
                    &used) != Z_OK ||
      used != data.size())
    return bad_input("zlib: damaged data, or more data than announced");
  if (room == out.size()) return Done{};
  return bad_input("expected " + std::to_string(out.size()) + " bytes of data, found " +
                   std::to_string(room));
}

bool has_planes(Codec codec) {
  return codec == Codec::kPlanesZstd || codec == Codec::kPlanesZlib;
}

}  // namespace

std::string compress(std::string_view raw, Codec codec, std::int64_t width) {
  if (codec == Codec::kStored) return std::string(raw);
  if (codec == Codec::kZstd) return frame::compress(raw);
  if (codec == Codec::kZlib) return with_zlib(raw);
  const std::string planes = to_planes(raw, width);
  return codec == Codec::kPlanesZstd ? frame::compress(planes) : with_zlib(planes);
}

Result<std::string> decompress(std::string_view data, Codec codec, std::int64_t raw_bytes,
                               std::int64_t width) {
  KVPLAN_CHECK(raw_bytes >= 0 && raw_bytes <= kMaxChunkBytes, raw_bytes);
  const Codec last = width == 0 ? Codec::kZlib : Codec::kPlanesZlib;
  if (codec > last)
    return bad_input("unknown codec " + std::to_string(static_cast<std::uint32_t>(codec)) +
                     " (known: 0 stored, 1 zstd, 2 zlib" +
                     (width == 0 ? ")" : ", 3 planes and zstd, 4 planes and zlib)"));
  if (codec == Codec::kStored) {
    if (data.size() == static_cast<std::size_t>(raw_bytes)) return std::string(data);
    return bad_input("expected " + std::to_string(raw_bytes) + " bytes of data, found " +
                     std::to_string(data.size()));
  }
  std::string out(static_cast<std::size_t>(raw_bytes), '\0');
  if (codec == Codec::kZstd || codec == Codec::kPlanesZstd) {
    KVPLAN_TRY_DO(frame::decompress(data, out));
  } else {
    KVPLAN_TRY_DO(from_zlib(data, out));
  }
  return has_planes(codec) ? from_planes(out, width) : std::move(out);
}

}  // namespace kvplan::io
