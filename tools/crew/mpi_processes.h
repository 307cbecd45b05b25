#pragma once

#include <deque>
#include <mpi.h>
#include <vector>

#include "core/engine/spread/processes.h"

namespace simmesh {

// MpiProcesses are the processes of MPI, over which worlds are spread. All of them make the object
// together, after MPI_Init_thread and before MPI_Finalize. No process takes a core while it waits.
// MPI ends all processes if one of them ends early.
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
    return sources_[std::size_t(process)].note;
  }

 private:
  // Source is another process: the bytes of its message that isn't whole, and the messages that
  // are.
  struct Source {
    bool is_coming = false, is_note = false;
    std::size_t missing = 0;
    ProcessBytes coming;
    std::deque<ProcessBytes> come;
    ProcessBytes note;
  };

  void send(const Parcel& parcel, const std::uint64_t& length);
  bool take_in();
  bool is_done(gsl::span<const int> from);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int number_ = 0;
  std::vector<Source> sources_;
  std::vector<MPI_Request> sending_;
};

}  // namespace simmesh
