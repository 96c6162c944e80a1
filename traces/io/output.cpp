#include "traces/io/output.h"

#include <zlib.h>
#include <zstd.h>

#include <vector>

namespace kvplan::traces {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 17;
constexpr int kZstdLevel = 3;

class GzipOutput final : public Output {
 public:
  explicit GzipOutput(std::unique_ptr<Output> below) : below_(std::move(below)) {
    // 15 + 16: largest window, gzip header. The time in the header stays 0, so that equal input gives equal bytes.
    KVPLAN_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) ==
                 Z_OK);
  }
  ~GzipOutput() override { deflateEnd(&stream_); }
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, std::size_t{1} << 30);
      bytes.remove_prefix(part.size());
      KVPLAN_TRY_DO(compress(part, Z_NO_FLUSH));
    }
    return Done{};
  }
  Status finish() override {
    if (!finished_) KVPLAN_TRY_DO(compress({}, Z_FINISH));
    finished_ = true;
    return below_->finish();
  }
  Status commit() override {
    KVPLAN_TRY_DO(finish());
    return below_->commit();
  }

 private:
  Status compress(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      KVPLAN_CHECK(deflate(&stream_, flush) != Z_STREAM_ERROR);
      KVPLAN_TRY_DO(below_->write({buffer_.data(), buffer_.size() - stream_.avail_out}));
    } while (stream_.avail_out == 0);
    return Done{};
  }
  std::unique_ptr<Output> below_;
  z_stream stream_{};
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  bool finished_{false};
};

class ZstdOutput final : public Output {
 public:
  explicit ZstdOutput(std::unique_ptr<Output> below) : below_(std::move(below)), context_(ZSTD_createCCtx()) {
    KVPLAN_CHECK(context_ != nullptr);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdOutput() override { ZSTD_freeCCtx(context_); }
  Status write(std::string_view bytes) override { return compress(bytes, ZSTD_e_continue); }
  Status finish() override {
    if (!finished_) KVPLAN_TRY_DO(compress({}, ZSTD_e_end));
    finished_ = true;
    return below_->finish();
  }
  Status commit() override {
    KVPLAN_TRY_DO(finish());
    return below_->commit();
  }

 private:
  Status compress(std::string_view bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool done = false;
    while (!done) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_, &out, &in, mode);
      KVPLAN_CHECK(ZSTD_isError(left) == 0);
      KVPLAN_TRY_DO(below_->write({buffer_.data(), out.pos}));
      done = mode == ZSTD_e_end ? left == 0 : in.pos == in.size;
    }
    return Done{};
  }
  std::unique_ptr<Output> below_;
  ZSTD_CCtx* context_;
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  bool finished_{false};
};

}  // namespace

Result<std::unique_ptr<Output>> create_output(const std::string& path, Temporary temporary) {
  KVPLAN_TRY(std::unique_ptr<Output> file, create_file_output(path, temporary));
  if (path.ends_with(".gz")) return std::unique_ptr<Output>(std::make_unique<GzipOutput>(std::move(file)));
  if (path.ends_with(".zst")) return std::unique_ptr<Output>(std::make_unique<ZstdOutput>(std::move(file)));
  return file;
}

}  // namespace kvplan::traces
