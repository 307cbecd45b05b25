#pragma once

#include <cstddef>
#include <functional>
#include <gsl/span>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/engine/spread/process_bytes.h"

namespace simmesh {

// Parcel is a message on its way to a process. A note stands in no line: the newest one of a
// process replaces those before.
struct Parcel {
  int process = 0;
  ProcessBytes bytes;
  bool is_note = false;
};

// SpreadBroken says why a program that is spread over processes can't go on, whatever it does next.
class SpreadBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// ProcessesApart says that another process is elsewhere in the program, outside the same run.
class ProcessesApart : public SpreadBroken {
 public:
  using SpreadBroken::SpreadBroken;
};

// ProcessLost says that another process has ended, and how.
class ProcessLost : public SpreadBroken {
 public:
  ProcessLost(int process, const std::string& text) : SpreadBroken(text), process_(process) {}

  // process returns the number of the process that has ended.
  int process() const { return process_; }

 private:
  int process_;
};

// Processes are those over which worlds are spread: the seam between this process and the others.
// SocketProcesses are forked on this machine; mpi_processes returns those of MPI. Messages from one
// process to another arrive whole and in their order. One thread at a time uses the object.
class Processes {
 public:
  virtual ~Processes() = default;

  // number returns the number of this process, from 0 on; count that of all.
  virtual int number() const = 0;
  virtual int count() const = 0;
  // others returns the numbers of all but this process, ascending.
  std::vector<int> others() const {
    std::vector<int> others;
    for (int i = 0; i < count(); ++i)
      if (i != number()) others.push_back(i);
    return others;
  }

  // exchange sends each parcel to its process, and returns the next message of each process in
  // `from`, in the order of `from`. It blocks without taking a core, and takes in what comes
  // meanwhile, so that no process waits because another one's messages are long. Raises ProcessLost
  // if a process has ended that it sends to or waits for.
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent, gsl::span<const int> from) {
    return exchange(sent, from, nullptr);
  }

  // Idle is asked about once a second while nothing comes. It returns notes to send, or nullopt to
  // wait no longer; then the exchange returns nothing, once all parcels are sent.
  using Idle = std::function<std::optional<std::vector<Parcel>>()>;
  virtual std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent,
                                             gsl::span<const int> from, const Idle& idle) = 0;
  // note_of returns the last note of a process that has come; empty for none.
  virtual const ProcessBytes& note_of(int process) const = 0;
};

}  // namespace simmesh
