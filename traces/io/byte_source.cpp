// Plain, gzip and zstd sources behind `open_bytes`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "simulator/base/read_files.h"
#include "traces/io/input.h"

namespace kvplan::traces {
namespace {

constexpr std::size_t kCompressedBuffer = std::size_t{1} << 17;
/// zstd windows up to 128 MiB (the zstd program's own limit); a frame that asks for more is refused.
constexpr int kWindowLogMax = 27;

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, std::string path, std::int64_t total_bytes, ReadHook on_read)
      : descriptor_(descriptor),
        path_(std::move(path)),
        total_bytes_(total_bytes),
        on_read_(std::move(on_read)) {}
  ~FileSource() override { ::close(descriptor_); }
  Result<std::size_t> read(char* to, std::size_t room) override {
    const ssize_t got = ::read(descriptor_, to, std::min(room, std::size_t{1} << 30));
    if (got >= 0) {
      const auto bytes = static_cast<std::size_t>(got);
      if (on_read_) KVPLAN_TRY_DO(on_read_(bytes));
      return bytes;
    }
    // Only a signal with a handler ends a waiting read: the user asked to stop.
    if (errno == EINTR) return interrupted_error();
    return bad_input(std::string("cannot read: ") + std::strerror(errno)).at_file(path_);
  }
  [[nodiscard]] std::int64_t total_bytes() const override { return total_bytes_; }

 private:
  int descriptor_;
  std::string path_;
  std::int64_t total_bytes_;
  ReadHook on_read_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes)
      : left_(bytes), total_bytes_(static_cast<std::int64_t>(bytes.size())) {}
  Result<std::size_t> read(char* to, std::size_t room) override {
    const std::size_t count = std::min(room, left_.size());
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
    return count;
  }
  [[nodiscard]] std::int64_t total_bytes() const override { return total_bytes_; }

 private:
  std::string_view left_;
  std::int64_t total_bytes_;
};

/// Puts bytes that were read to recognise the format back in front of the rest.
class RefillSource {
 public:
  RefillSource(std::unique_ptr<ByteSource> source, std::vector<char> head)
      : source_(std::move(source)), buffer_(std::move(head)), end_(buffer_.size()) {
    if (source_ != nullptr) buffer_.resize(std::max(buffer_.size(), kCompressedBuffer));
  }
  [[nodiscard]] std::string_view left() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t count) {
    begin_ += count;
    consumed_ += static_cast<std::int64_t>(count);
  }
  /// Reads more bytes into `left`; returns false at the end. REQUIRES: left() is empty.
  Result<bool> refill() {
    begin_ = 0;
    KVPLAN_TRY(end_, source_->read(buffer_.data(), buffer_.size()));
    return end_ > 0;
  }
  [[nodiscard]] std::int64_t consumed() const { return consumed_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_{0};
  std::size_t end_;
  std::int64_t consumed_{0};
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(RefillSource&& input, std::unique_ptr<ByteSource> rest)
      : input_(std::move(input)), rest_(std::move(rest)) {}
  Result<std::size_t> read(char* to, std::size_t room) override {
    const std::string_view head = input_.left();
    if (head.empty()) return rest_->read(to, room);
    const std::size_t count = std::min(room, head.size());
    std::memcpy(to, head.data(), count);
    input_.consume(count);
    return count;
  }
  [[nodiscard]] std::int64_t total_bytes() const override { return rest_->total_bytes(); }

 private:
  RefillSource input_;
  std::unique_ptr<ByteSource> rest_;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(RefillSource&& input, std::string path) : input_(std::move(input)), path_(std::move(path)) {
    // 15: largest window; 16: gzip header and checksum expected.
    KVPLAN_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<std::size_t> read(char* to, std::size_t room) override {
    room = std::min<std::size_t>(room, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room) {
      if (input_.left().empty()) {
        KVPLAN_TRY(const bool more, input_.refill());
        if (!more) {
          if (between_members_) return std::size_t{0};
          return broken("gzip data end early: the file is truncated");
        }
      }
      if (between_members_) {
        inflateReset(&stream_);
        between_members_ = false;
      }
      const std::string_view left = input_.left();
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
      stream_.avail_in = static_cast<uInt>(left.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      input_.consume(left.size() - stream_.avail_in);
      if (code == Z_STREAM_END) {
        between_members_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return broken(std::string("damaged gzip data (") + (stream_.msg != nullptr ? stream_.msg : "?") +
                      ")");
      }
    }
    return room - stream_.avail_out;
  }

 private:
  [[nodiscard]] Error broken(std::string message) const {
    return bad_input(std::move(message)).at_file(path_).at_byte(input_.consumed());
  }
  RefillSource input_;
  std::string path_;
  z_stream stream_{};
  bool between_members_{false};
};

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(RefillSource&& input, std::string path)
      : input_(std::move(input)), path_(std::move(path)), context_(ZSTD_createDCtx()) {
    KVPLAN_CHECK(context_ != nullptr);
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLogMax);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }

  Result<std::size_t> read(char* to, std::size_t room) override {
    ZSTD_outBuffer out{to, room, 0};
    while (out.pos == 0) {
      // Runs also without new input, because the decompressor may still hold output.
      if (input_.left().empty() && !held_back_) {
        KVPLAN_TRY(const bool more, input_.refill());
        if (!more) {
          if (frame_ended_) return std::size_t{0};
          return broken("zstd data end early: the file is truncated");
        }
      }
      const std::string_view left = input_.left();
      ZSTD_inBuffer in{left.data(), left.size(), 0};
      const std::size_t code = ZSTD_decompressStream(context_, &out, &in);
      input_.consume(in.pos);
      if (ZSTD_isError(code) != 0)
        return broken(std::string("damaged zstd data (") + ZSTD_getErrorName(code) + ")");
      frame_ended_ = code == 0;
      held_back_ = !frame_ended_ && out.pos == out.size;
    }
    return out.pos;
  }

 private:
  [[nodiscard]] Error broken(std::string message) const {
    return bad_input(std::move(message)).at_file(path_).at_byte(input_.consumed());
  }
  RefillSource input_;
  std::string path_;
  ZSTD_DCtx* context_;
  bool frame_ended_{false};
  bool held_back_{false};
};

bool is_zstd(std::string_view head) {
  if (head.size() < 4) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const bool frame = byte(0) == 0x28 && byte(1) == 0xB5 && byte(2) == 0x2F && byte(3) == 0xFD;
  const bool skippable = (byte(0) & 0xF0) == 0x50 && byte(1) == 0x2A && byte(2) == 0x4D && byte(3) == 0x18;
  return frame || skippable;
}

Result<std::unique_ptr<ByteSource>> recognise(std::unique_ptr<ByteSource> raw, const std::string& path) {
  std::vector<char> head(4);
  std::size_t have = 0;
  while (have < head.size()) {
    KVPLAN_TRY(const std::size_t got, raw->read(head.data() + have, head.size() - have));
    if (got == 0) break;
    have += got;
  }
  head.resize(have);
  const std::string_view start(head.data(), have);
  if (start.substr(0, 2) == "\x1F\x8B")
    return std::unique_ptr<ByteSource>(
        std::make_unique<GzipSource>(RefillSource(std::move(raw), std::move(head)), path));
  if (is_zstd(start))
    return std::unique_ptr<ByteSource>(
        std::make_unique<ZstdSource>(RefillSource(std::move(raw), std::move(head)), path));
  return std::unique_ptr<ByteSource>(
      std::make_unique<PlainSource>(RefillSource(nullptr, std::move(head)), std::move(raw)));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, ReadHook on_read) {
  KVPLAN_TRY_DO(check_path(path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == EINTR) return interrupted_error();
  if (descriptor < 0) return bad_input(std::string("cannot open: ") + std::strerror(errno)).at_file(path);
  note_read(descriptor);
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  auto source = std::make_unique<FileSource>(
      descriptor, path, known && S_ISREG(status.st_mode) ? status.st_size : 0, std::move(on_read));
  if (known && S_ISDIR(status.st_mode)) return bad_input("expected a file, found a folder").at_file(path);
  return recognise(std::move(source), path);
}

Result<std::unique_ptr<ByteSource>> open_memory(std::string_view bytes, const std::string& name) {
  return recognise(std::make_unique<MemorySource>(bytes), name);
}

}  // namespace kvplan::traces
