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
  const core::RunControl& control;
  std::int64_t total;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended{false};
  std::thread thread;

  Printer(const core::RunControl& watched, std::int64_t requests) : control(watched), total(requests) {}

  void print() {
    constexpr auto kPatience = std::chrono::milliseconds(500);
    constexpr auto kPeriod = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex);
    const auto over = [this] { return ended; };
    if (changed.wait_for(lock, kPatience, over)) return;
    do {
      const std::int64_t done = std::min(control.requests_done.load(std::memory_order_relaxed), total);
      std::fprintf(stderr, "\r  %s of %s requests", report::grouped(done).c_str(),
                   report::grouped(total).c_str());
    } while (!changed.wait_for(lock, kPeriod, over));
    std::fputs("\r\033[K", stderr);
  }
};

Progress::Progress(const core::RunControl& control, std::int64_t total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  printer_ = std::make_unique<Printer>(control, total);
  printer_->thread = std::thread([printer = printer_.get()] { printer->print(); });
}

Progress::~Progress() {
  if (!printer_) return;
  {
    const std::lock_guard lock(printer_->mutex);
    printer_->ended = true;
  }
  printer_->changed.notify_one();
  printer_->thread.join();
}

std::size_t output_width() {
  constexpr std::size_t kElsewhere = 100;
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kElsewhere;
  return std::clamp<std::size_t>(size.ws_col, 60, 160);
}

}  // namespace kvplan::cli
