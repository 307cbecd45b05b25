#include "tools/crew/mpi_crew.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <thread>
#include <utility>

#include "core/engine/spread/mpi/mpi_processes.h"
#include "tools/crew/mpi_program.h"

namespace simmesh {

namespace {

enum Tag : int { asks = 1, gives = 2, results = 3, ends = 4 };

// MPI's own waits take a whole core.
constexpr auto pause = std::chrono::microseconds(300);

// JobRange are the jobs first, ..., last - 1.
struct JobRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// JobDealer deals the jobs out in ranges: large ones first, single ones at the end.
class JobDealer {
 public:
  JobRange deal(std::uint64_t count, int processes) {
    std::lock_guard lock(mutex_);
    std::uint64_t left = count - std::min(dealt_, count);
    auto share = std::clamp<std::uint64_t>(left / (8 * std::uint64_t(processes)), 1, 64);
    JobRange range{dealt_, dealt_ + share};
    dealt_ += share;
    return range;
  }

 private:
  std::mutex mutex_;
  std::uint64_t dealt_ = 0;
};

class MpiCrew final : public Crew {
 public:
  MpiCrew() {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_MULTIPLE)
      give_up("expected an MPI with MPI_THREAD_MULTIPLE, got one without");
    if (rank_ != 0 && std::freopen("/dev/null", "w", stdout) == nullptr)
      give_up("expected to open /dev/null, got an error");
    if (rank_ == 0) server_ = std::thread([this] { serve(); });
  }

  ~MpiCrew() override {
    if (!gathered_) gather("");
    end();
    processes_.reset();
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::uint64_t next(std::uint64_t count) override {
    std::lock_guard lock(mutex_);
    if (own_.first == own_.last) own_ = rank_ == 0 ? dealer_.deal(count, size_) : ask(count);
    return own_.first++;
  }

  Processes& processes() override {
    if (!processes_) processes_ = mpi_processes();
    return *processes_;
  }

  std::vector<std::string> gather(const std::string& text) override {
    gathered_ = true;
    if (rank_ != 0) {
      if (text.size() > std::size_t(std::numeric_limits<int>::max()))
        give_up("expected less than 2 GiB of results on each process, got more");
      MPI_Send(text.data(), int(text.size()), MPI_CHAR, 0, results, MPI_COMM_WORLD);
      return {};
    }
    server_.join();
    texts_[0] = text;
    return texts_;
  }

 private:
  // Ends all processes.
  [[noreturn]] static void give_up(const char* why) {
    std::fprintf(stderr, "simmesh: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    std::abort();
  }

  // Asks process 0, which answers within its pause.
  JobRange ask(std::uint64_t count) {
    MPI_Send(&count, 1, MPI_UINT64_T, 0, asks, MPI_COMM_WORLD);
    std::array<std::uint64_t, 2> range = {};
    receive(range.data(), 2, 0, gives);
    return {range[0], range[1]};
  }

  static void receive(std::uint64_t* values, int count, int source, Tag tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(values, count, MPI_UINT64_T, source, tag, MPI_COMM_WORLD, &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      std::this_thread::sleep_for(pause);
    }
  }

  // Runs on process 0 until all other processes have sent their results.
  void serve() {
    texts_.resize(std::size_t(size_));
    for (int left = size_ - 1; left > 0;) {
      int here = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, &status);
      if (!here) {
        std::this_thread::sleep_for(pause);
      } else if (status.MPI_TAG == asks) {
        answer(status.MPI_SOURCE);
      } else {
        take(status);
        --left;
      }
    }
  }

  void answer(int source) {
    std::uint64_t count = 0;
    MPI_Recv(&count, 1, MPI_UINT64_T, source, asks, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    JobRange range = dealer_.deal(count, size_);
    std::array<std::uint64_t, 2> values = {range.first, range.last};
    MPI_Send(values.data(), 2, MPI_UINT64_T, source, gives, MPI_COMM_WORLD);
  }

  void take(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    std::string text(std::size_t(bytes), '\0');
    MPI_Recv(text.data(), bytes, MPI_CHAR, status.MPI_SOURCE, results, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    texts_[std::size_t(status.MPI_SOURCE)] = std::move(text);
  }

  // Lets the others wait for process 0 without MPI_Finalize, which spins.
  void end() const {
    std::uint64_t nothing = 0;
    if (rank_ != 0) return receive(&nothing, 1, 0, ends);
    for (int other = 1; other < size_; ++other)
      MPI_Send(&nothing, 1, MPI_UINT64_T, other, ends, MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
  bool gathered_ = false;
  std::mutex mutex_;
  JobRange own_;
  JobDealer dealer_;
  std::vector<std::string> texts_;
  std::thread server_;
  std::unique_ptr<Processes> processes_;
};

}  // namespace

std::unique_ptr<Crew> mpi_crew() {
  if (!started_by_mpi()) return nullptr;
  return std::make_unique<MpiCrew>();
}

}  // namespace simmesh
