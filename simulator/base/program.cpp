#include "simulator/base/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "simulator/base/check.h"
#include "simulator/base/read_files.h"

namespace kvplan {
namespace {

/// Set by a signal handler, read by any thread: a plain volatile would be a race.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// A blocking read or write ends with an error at each signal that has a handler. The signal that asks to stop may
/// come just before the wait, so another is sent every second from then on.
void wake(int) {
  ::alarm(1);
}

void request_stop(int) {
  stop_requested.store(true, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = wake;
  sigaction(SIGALRM, &action, nullptr);
  ::alarm(1);
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

// The system always returns the lowest free descriptor. So the closed one is given to a folder, which is never written.
void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
    KVPLAN_CHECK(folder == stream, folder, stream);
  }
}

void begin_program() {
  hold_closed_streams();
  note_read_files();
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (signal != SIGHUP || !is_ignored(signal)) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return stop_requested.load(std::memory_order_relaxed);
}

}  // namespace kvplan
