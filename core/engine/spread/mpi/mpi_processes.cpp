#include "core/engine/spread/mpi/mpi_processes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mpi.h>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/spread/process_inbox.h"

namespace simmesh {

namespace {

// MPI counts in int.
constexpr std::size_t part_bytes_max = std::size_t(1) << 30;
constexpr int only_tag = 0;

// MPI's own waits take a whole core. A pause is short at first, for answers that are on their way.
constexpr std::chrono::microseconds first_pause(10), longest_pause(500), idle_time(1'000'000);

class MpiProcesses final : public Processes {
 public:
  MpiProcesses();
  ~MpiProcesses() override;
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int number() const override { return number_; }
  int count() const override { return int(sources_.size()); }
  using Processes::exchange;
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent, gsl::span<const int> from,
                                     const Idle& idle) override;
  const ProcessBytes& note_of(int process) const override {
    return sources_[std::size_t(process)].inbox.note();
  }

 private:
  // Source is another process: its parcel that isn't whole, and those that are.
  struct Source {
    std::optional<ComingParcel> coming;
    ProcessInbox inbox;
  };

  void send(const Parcel& parcel, const std::uint64_t& head);
  bool take_in();
  bool is_done(gsl::span<const int> from);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int number_ = 0;
  std::vector<Source> sources_;
  std::vector<MPI_Request> sending_;
};

MpiProcesses::MpiProcesses() {
  int size = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MPI_Comm_rank(communicator_, &number_);
  MPI_Comm_size(communicator_, &size);
  sources_.resize(std::size_t(size));
}

MpiProcesses::~MpiProcesses() { MPI_Comm_free(&communicator_); }

// Sends the head and then the bytes, in parts that MPI can count. Both stay where they are until
// they are sent.
void MpiProcesses::send(const Parcel& parcel, const std::uint64_t& head) {
  sending_.emplace_back();
  MPI_Isend(&head, 1, MPI_UINT64_T, parcel.process, only_tag, communicator_, &sending_.back());
  for (std::size_t at = 0; at < parcel.bytes.size(); at += part_bytes_max) {
    std::size_t count = std::min(part_bytes_max, parcel.bytes.size() - at);
    sending_.emplace_back();
    MPI_Isend(parcel.bytes.data() + at, int(count), MPI_BYTE, parcel.process, only_tag,
              communicator_, &sending_.back());
  }
}

// Takes in what has come first, a head or a part of a message. Returns false if nothing has.
bool MpiProcesses::take_in() {
  int is_here = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, only_tag, communicator_, &is_here, &status);
  if (!is_here) return false;
  Source& source = sources_[std::size_t(status.MPI_SOURCE)];
  if (!source.coming) {
    std::uint64_t number = 0;
    MPI_Recv(&number, 1, MPI_UINT64_T, status.MPI_SOURCE, only_tag, communicator_,
             MPI_STATUS_IGNORE);
    source.coming.emplace(ParcelHead(number));
  } else {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Recv(source.coming->missing().data(), count, MPI_BYTE, status.MPI_SOURCE, only_tag,
             communicator_, MPI_STATUS_IGNORE);
    source.coming->add(std::size_t(count));
  }
  source.inbox.keep_if_whole(source.coming);
  return true;
}

bool MpiProcesses::is_done(gsl::span<const int> from) {
  int are_sent = 1;
  if (!sending_.empty())
    MPI_Testall(int(sending_.size()), sending_.data(), &are_sent, MPI_STATUSES_IGNORE);
  if (are_sent) sending_.clear();
  return are_sent && std::all_of(from.begin(), from.end(), [this](int process) {
           return !sources_[std::size_t(process)].inbox.is_empty();
         });
}

std::vector<ProcessBytes> MpiProcesses::exchange(gsl::span<const Parcel> sent,
                                                 gsl::span<const int> from, const Idle& idle) {
  std::deque<std::uint64_t> heads;
  std::deque<std::vector<Parcel>> notes;
  auto post = [&](gsl::span<const Parcel> parcels) {
    for (const Parcel& parcel : parcels) {
      heads.push_back(ParcelHead(parcel).number());
      send(parcel, heads.back());
    }
  };
  post(sent);
  bool gives_up = false;
  std::chrono::microseconds waited(0);
  for (auto pause = first_pause; !is_done(gives_up ? gsl::span<const int>() : from);) {
    if (take_in()) {
      pause = first_pause;
      waited = waited.zero();
      continue;
    }
    std::this_thread::sleep_for(pause);
    waited += pause;
    pause = std::min(2 * pause, longest_pause);
    if (!idle || gives_up || waited < idle_time) continue;
    waited = waited.zero();
    auto more = idle();
    gives_up = !more;
    if (gives_up) continue;
    notes.push_back(std::move(*more));
    post(notes.back());
  }
  std::vector<ProcessBytes> received;
  if (gives_up) return received;
  for (int process : from) received.push_back(sources_[std::size_t(process)].inbox.take());
  return received;
}

}  // namespace

std::unique_ptr<Processes> mpi_processes() { return std::make_unique<MpiProcesses>(); }

}  // namespace simmesh
