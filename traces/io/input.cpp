#include "traces/io/input.h"

#include <algorithm>
#include <cstring>

namespace kvplan::traces {
namespace {

constexpr std::size_t kFirstBuffer = std::size_t{1} << 18;

}  // namespace

Result<std::unique_ptr<Input>> Input::open(const std::string& path, ReadHook on_read) {
  KVPLAN_TRY(std::unique_ptr<ByteSource> source, open_bytes(path, std::move(on_read)));
  return std::make_unique<Input>(std::move(source), path);
}

Input::Input(std::unique_ptr<ByteSource> source, std::string path)
    : source_(std::move(source)),
      path_(std::move(path)),
      buffer_(new char[kFirstBuffer + kPadding]),
      capacity_(kFirstBuffer) {}

double Input::share_consumed() const {
  const std::int64_t total = source_->total_bytes();
  return total > 0 ? std::min(1.0, static_cast<double>(position()) / static_cast<double>(total)) : 0;
}

void Input::fail(Error error) {
  failed_ = true;
  at_end_ = true;
  error_ = std::move(error);
}

bool Input::fill() {
  if (at_end_) return false;
  const std::size_t keep = std::min(begin_, line_begin_);
  if (end_ == capacity_ && keep > 0) {
    std::memmove(buffer_.get(), buffer_.get() + keep, end_ - keep);
    consumed_ += static_cast<std::int64_t>(keep);
    begin_ -= keep;
    line_begin_ -= keep;
    end_ -= keep;
  }
  if (end_ == capacity_) {
    if (capacity_ >= 2 * kMaxLine) {
      fail(bad_input("a line has more than 67108864 bytes").at_file(path_).at_line(lines_ + 1));
      return false;
    }
    std::unique_ptr<char[]> larger(new char[capacity_ * 2 + kPadding]);
    std::memcpy(larger.get(), buffer_.get(), end_);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }
  Result<std::size_t> got = source_->read(buffer_.get() + end_, capacity_ - end_);
  if (!got.ok()) {
    fail(std::move(got).error());
    return false;
  }
  if (got.value() == 0) at_end_ = true;
  end_ += got.value();
  return got.value() > 0;
}

std::string_view Input::peek(std::size_t count) {
  line_begin_ = begin_;
  while (end_ - begin_ < count && fill()) {
  }
  return {buffer_.get() + begin_, std::min(count, end_ - begin_)};
}

std::string_view Input::take(std::size_t count) {
  const std::string_view bytes = peek(count);
  begin_ += bytes.size();
  return bytes;
}

bool Input::find_line_end(std::size_t from, std::size_t& end) {
  std::size_t searched = from - line_begin_;  // relative, because the buffer may move
  for (;;) {
    const char* start = buffer_.get() + line_begin_ + searched;
    const void* hit = std::memchr(start, '\n', end_ - line_begin_ - searched);
    if (hit != nullptr) {
      end = static_cast<std::size_t>(static_cast<const char*>(hit) - buffer_.get());
      return true;
    }
    searched = end_ - line_begin_;
    if (searched > kMaxLine) {
      fail(bad_input("a line has more than 67108864 bytes").at_file(path_).at_line(lines_ + 1));
      return false;
    }
    if (!fill()) {
      end = end_;
      return !failed_ && end_ > begin_;
    }
  }
}

std::string_view Input::trimmed(std::size_t end) const {
  std::size_t last = end;
  if (last > line_begin_ && buffer_[last - 1] == '\r') --last;
  return {buffer_.get() + line_begin_, last - line_begin_};
}

bool Input::next_line_after_reading(std::string_view& line) {
  if (first_line_) {
    first_line_ = false;
    if (peek(3) == "\xEF\xBB\xBF") begin_ += 3;
  }
  line_begin_ = begin_;
  std::size_t end = 0;
  if (failed_ || !find_line_end(begin_, end)) return false;
  begin_ = std::min(end + 1, end_);
  line_number_ = ++lines_;
  line = trimmed(end);
  return true;
}

bool Input::extend_line(std::string_view& line) {
  std::size_t end = 0;
  if (failed_ || !find_line_end(begin_, end)) {
    line = {buffer_.get() + line_begin_, line.size()};  // the search for more bytes may have moved the buffer
    return false;
  }
  begin_ = std::min(end + 1, end_);
  ++lines_;
  line = trimmed(end);
  return true;
}

}  // namespace kvplan::traces
