#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <sys/types.h>

#include "core/engine/spread/process_inbox.h"
#include "core/engine/spread/processes.h"

namespace simmesh {

// SocketProcesses are processes of this machine: this one and those that it forked, with a socket
// between each two of them. After fork(4) there are four processes, which differ in number().
//
// Process 0 is the one that called fork. The others end at once if it is killed. It ends last: its
// object waits for the others, and ends those that don't end by themselves.
class SocketProcesses final : public Processes {
 public:
  // fork makes count - 1 more processes, which return from it as well. The caller has no threads.
  // Raises a RuntimeError if the system gives no process or no socket, and a ValueError for a count
  // below 1 or above processes_max.
  static std::unique_ptr<SocketProcesses> fork(int count);
  static constexpr int processes_max = 256;

  ~SocketProcesses() override;
  SocketProcesses(const SocketProcesses&) = delete;
  SocketProcesses& operator=(const SocketProcesses&) = delete;

  int number() const override { return number_; }
  int count() const override { return int(peers_.size()); }
  using Processes::exchange;
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent, gsl::span<const int> from,
                                     const Idle& idle) override;
  const ProcessBytes& note_of(int process) const override {
    return peers_[std::size_t(process)].inbox.note();
  }

  // pids returns the ids of the processes that this one forked.
  std::vector<pid_t> pids() const;

 private:
  // Peer is this process's end of the socket to another one.
  struct Peer {
    int socket = -1;
    bool has_ended = false;
    pid_t pid = 0;  // where this process forked it
    // The parcel that isn't whole, or else the bytes of a head that isn't; and what is whole.
    std::optional<ComingParcel> coming;
    std::vector<std::byte> head;
    ProcessInbox inbox;
    // The parcels that wait to be sent, and the bytes of the first that have been.
    std::vector<const Parcel*> outgoing;
    std::size_t sent = 0;
  };

  SocketProcesses(int number, std::vector<Peer> peers);
  bool is_done(gsl::span<const int> from);
  bool transfer(int milliseconds_max);
  void send_to(Peer& peer);
  void receive_from(Peer& peer);
  static void take_in(Peer& peer, gsl::span<const std::byte> bytes);
  [[noreturn]] void report_lost(int process);
  std::string ending_of(int process, std::chrono::milliseconds patience);

  int number_;
  std::vector<Peer> peers_;
  std::vector<std::byte> read_;  // the heads that are read together, and short parcels
};

}  // namespace simmesh
