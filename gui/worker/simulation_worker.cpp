#include "gui/worker/simulation_worker.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <stdexcept>

#include "simulator/io/openers.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::gui {
namespace {

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Files that a run names beside its trace, which the window reads itself.
runs::InputReaders input_readers() {
  return {
      io::file_openers(), {}, io::look_at, [](const std::string& path) { return io::whole_digest(path); }};
}

/// `begin`: CPU time of this thread when the work began.
Result<std::shared_ptr<SimulationResult>> make_result(const runs::Case& one, const TracePtr& trace,
                                                      const runs::Openers& openers, core::RunControl& control,
                                                      double begin) {
  runs::Outcome outcome = runs::run_case(
      0, [&](std::int64_t) -> Result<runs::Case> { return one; }, openers, &control);
  if (outcome.error) return *outcome.error;
  auto result = std::make_shared<SimulationResult>();
  result->run_cpu_seconds = thread_cpu_seconds() - begin;
  result->timeline = TimelineData::from(*outcome.result);
  result->run = std::move(static_cast<runs::RunSummary&>(*outcome.result));
  result->trace = trace;
  result->cpu_seconds = thread_cpu_seconds() - begin;
  return result;
}

}  // namespace

SimulationWorker::SimulationWorker(QObject* parent) : QObject(parent), inputs_(input_readers()) {
  thread_ = std::thread([this] { work(); });
}

SimulationWorker::~SimulationWorker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.reset();
    if (running_) running_->stop = true;
  }
  wake_.notify_one();
  thread_.join();
}

Generation SimulationWorker::run(const runs::Scenario& scenario, TracePtr trace, std::int64_t bins,
                                 bool discrete) {
  runs::TracePtr shared(trace, &trace->trace);
  return wish({0, Simulate{{scenario, std::move(shared), {bins}}, std::move(trace)}}, discrete);
}

Generation SimulationWorker::open(std::vector<std::string> paths, std::vector<runs::Setting> current) {
  return wish({0, Read{std::move(paths), std::move(current)}}, true);
}

Generation SimulationWorker::perform_task(Task task) {
  return wish({0, std::move(task)}, false);
}

Generation SimulationWorker::wish(Job job, bool discrete) {
  job.generation = ++newest_;
  if (open_jobs_ == 0) busy_since_.start();
  std::optional<Job> displaced = std::move(job);  // afterwards the wish that waited before, freed unlocked
  {
    const std::lock_guard lock(mutex_);
    waiting_.swap(displaced);
    if (running_ && (discrete || running_since_.elapsed() > kPatience)) running_->stop = true;
  }
  if (!displaced) ++open_jobs_;  // otherwise the new request replaces the old one
  wake_.notify_one();
  return newest_;
}

void SimulationWorker::cancel() {
  std::optional<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    waiting_.swap(dropped);
    if (running_) running_->stop = true;
  }
  if (!dropped) return;
  answer([this, generation = dropped->generation] { Q_EMIT failed(generation, interrupted_error()); });
}

bool SimulationWorker::busy() const {
  return open_jobs_ > 0;
}

qint64 SimulationWorker::busy_ms() const {
  return busy() ? busy_since_.elapsed() : 0;
}

double SimulationWorker::progress() const {
  const std::lock_guard lock(mutex_);
  if (!running_) return -1;
  if (running_requests_ == 0) {
    const auto total = static_cast<double>(reading_->total.load(std::memory_order_relaxed));
    const auto read = static_cast<double>(reading_->bytes.load(std::memory_order_relaxed));
    return total > 0 ? std::min(1.0, read / total) : -1;
  }
  const double done = static_cast<double>(running_->requests_done.load(std::memory_order_relaxed));
  return std::min(1.0, done / static_cast<double>(running_requests_));
}

void SimulationWorker::work() {
  while (true) {
    std::optional<Job> job;
    auto control = std::make_shared<core::RunControl>();
    auto reading = std::make_shared<ReadProgress>();
    {
      std::unique_lock lock(mutex_);
      running_.reset();
      wake_.wait(lock, [this] { return ending_ || waiting_; });
      if (ending_) return;
      job.swap(waiting_);
      running_ = control;
      reading_ = reading;
      running_since_.start();
      const auto* run = std::get_if<Simulate>(&job->what);
      running_requests_ = run != nullptr ? runs::requests_to_serve(run->run) : 0;
    }
    perform_guarded(*job, *control, *reading);
  }
}

void SimulationWorker::perform_guarded(const Job& job, core::RunControl& control, ReadProgress& reading) {
  try {
    return perform(job, control, reading);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  // The memory of the failed job is free again, except the content of files, so there is room for an error. The
  // window keeps what it showed.
  fail(job.generation, bad_input("out of memory"));
}

void SimulationWorker::perform(const Job& job, core::RunControl& control, ReadProgress& reading) {
  if (const auto* run = std::get_if<Simulate>(&job.what)) return simulate(job.generation, *run, control);
  if (const auto* task = std::get_if<Task>(&job.what)) return answer((*task)(control, inputs_));
  const auto& read = std::get<Read>(job.what);
  auto opened_files = open_files(read.paths, read.current, documents_, control, reading);
  if (!opened_files.ok()) return fail(job.generation, opened_files.error());
  answer([this, generation = job.generation, files = std::move(opened_files).value()] {
    Q_EMIT opened(generation, files);
  });
}

void SimulationWorker::simulate(Generation generation, const Simulate& job, core::RunControl& control) {
  const double begin = thread_cpu_seconds();
  inputs_.keep_only(runs::files_of(job.run.scenario));
  auto made = make_result(job.run, job.trace, inputs_.openers(), control, begin);
  if (!made.ok()) return fail(generation, made.error());
  auto result = std::move(made).value();
  result->generation = generation;
  answer([this, shared = ResultPtr(std::move(result))] { Q_EMIT finished(shared); });
}

Result<ResultPtr> run_once(const runs::Scenario& scenario, const TracePtr& trace, std::int64_t bins,
                           const runs::Openers& openers, core::RunControl& control) {
  const runs::Case one{scenario, runs::TracePtr(trace, &trace->trace), {bins / 2 * 2}};
  KVPLAN_TRY(auto made, make_result(one, trace, openers, control, thread_cpu_seconds()));
  return ResultPtr(std::move(made));
}

void SimulationWorker::fail(Generation generation, const Error& error) {
  answer([this, generation, error] { Q_EMIT failed(generation, error); });
}

void SimulationWorker::answer(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(call));
  }
  QMetaObject::invokeMethod(this, &SimulationWorker::deliver, Qt::QueuedConnection);
}

void SimulationWorker::deliver() {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    call = std::move(answers_.front());
    answers_.pop_front();
  }
  --open_jobs_;
  call();
}

}  // namespace kvplan::gui
