#include "simulator/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "simulator/report/number_text.h"

namespace kvplan::cli {

struct Progress::Printer {
  std::function<std::string()> line;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended{false};
  std::thread thread;

  explicit Printer(std::function<std::string()> text) : line(std::move(text)) {}

  void print() {
    constexpr auto kPatience = std::chrono::milliseconds(500);
    constexpr auto kPeriod = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex);
    const auto over = [this] { return ended; };
    if (changed.wait_for(lock, kPatience, over)) return;
    do {
      std::fprintf(stderr, "\r  %s\033[K", line().c_str());
    } while (!changed.wait_for(lock, kPeriod, over));
    std::fputs("\r\033[K", stderr);
  }
};

Progress::Progress(std::function<std::string()> line) {
  if (::isatty(STDERR_FILENO) == 0) return;
  printer_ = std::make_unique<Printer>(std::move(line));
  printer_->thread = std::thread([printer = printer_.get()] { printer->print(); });
}

Progress::Progress(const core::RunControl& control, std::int64_t total)
    : Progress([&control, total] {
        const std::int64_t done = std::min(control.requests_done.load(std::memory_order_relaxed), total);
        return report::grouped(done) + " of " + report::grouped(total) + " requests";
      }) {}

void Progress::end() {
  if (!printer_) return;
  {
    const std::lock_guard lock(printer_->mutex);
    printer_->ended = true;
  }
  printer_->changed.notify_one();
  printer_->thread.join();
  printer_.reset();
}

Progress::~Progress() {
  end();
}

std::string progress_bar(std::int64_t done, std::int64_t total) {
  constexpr std::int64_t kCells = 20;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * kCells);
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  return "[" + std::string(filled, '#') + std::string(kCells - filled, '.') + "] " +
         std::string(3 - percent.size(), ' ') + percent + " %";
}

std::size_t output_width() {
  constexpr std::size_t kElsewhere = 100;
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kElsewhere;
  return std::clamp<std::size_t>(size.ws_col, 60, 160);
}

}  // namespace kvplan::cli
