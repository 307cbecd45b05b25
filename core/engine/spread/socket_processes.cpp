#include "core/engine/spread/socket_processes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::size_t head_bytes = sizeof(std::uint64_t);
constexpr std::size_t read_bytes = std::size_t(64) * 1024;
constexpr int idle_milliseconds = 1000;
// A process that has lost the others ends at its next exchange.
constexpr std::chrono::seconds ending_max(20);
// A process that was killed has closed its sockets a moment before it has ended.
constexpr std::chrono::milliseconds killing_max(200);
constexpr std::chrono::milliseconds ending_interval(5);

[[noreturn]] void refuse_system(const char* what) {
  raise(ErrorKind::runtime_error, "engine/processes", "expected {}, got an error: {}", what,
        std::strerror(errno));
}

// Sockets between each two of some processes: ends[i][j] is that of i to j.
std::vector<std::vector<int>> make_sockets(int count) {
  std::vector<std::vector<int>> ends(std::size_t(count), std::vector<int>(std::size_t(count), -1));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t j = i + 1; j < ends.size(); ++j) {
      std::array<int, 2> pair = {-1, -1};
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0)
        refuse_system("a socket between two processes");
      ends[i][j] = pair[0];
      ends[j][i] = pair[1];
    }
  }
  return ends;
}

void close_all(std::vector<int>& sockets) {
  for (int& socket : sockets) {
    if (socket >= 0) close(socket);
    socket = -1;
  }
}

// Waits until a process has ended, at most as long as it may take. Returns its status, or -1.
int status_of(pid_t pid, std::chrono::milliseconds patience) {
  for (int status = 0;; patience -= ending_interval) {
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if ((ended < 0 && errno != EINTR) || patience.count() <= 0) return -1;
    std::this_thread::sleep_for(ending_interval);
  }
}

bool is_killing(const std::string& ending) { return ending.starts_with(": by signal"); }

// Ends with process 0, which may have ended already.
void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);
}

}  // namespace

std::unique_ptr<SocketProcesses> SocketProcesses::fork(int count) {
  if (count < 1 || count > processes_max)
    raise(ErrorKind::value_error, "engine/processes", "expected 1 to {} processes, got {}",
          processes_max, count);
  std::vector<std::vector<int>> ends = make_sockets(count);
  std::vector<Peer> peers((std::size_t(count)));
  std::fflush(nullptr);
  pid_t parent = getpid();
  std::size_t own = 0;
  for (std::size_t i = 1; i < ends.size() && own == 0; ++i) {
    pid_t pid = ::fork();
    if (pid < 0) refuse_system("one more process");
    if (pid > 0) peers[i].pid = pid;
    if (pid == 0) {
      own = i;
      for (Peer& peer : peers) peer.pid = 0;
      end_with_parent(parent);
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (i != own) close_all(ends[i]);
  for (std::size_t i = 0; i < ends.size(); ++i) peers[i].socket = ends[own][i];
  return std::unique_ptr<SocketProcesses>(new SocketProcesses(int(own), std::move(peers)));
}

SocketProcesses::SocketProcesses(int number, std::vector<Peer> peers)
    : number_(number), peers_(std::move(peers)) {}

SocketProcesses::~SocketProcesses() {
  for (Peer& peer : peers_)
    if (peer.socket >= 0) close(peer.socket);
  for (Peer& peer : peers_) {
    if (peer.pid == 0 || status_of(peer.pid, ending_max) >= 0) continue;
    kill(peer.pid, SIGKILL);
    waitpid(peer.pid, nullptr, 0);
  }
}

std::vector<pid_t> SocketProcesses::pids() const {
  std::vector<pid_t> pids;
  for (const Peer& peer : peers_)
    if (peer.pid != 0) pids.push_back(peer.pid);
  return pids;
}

std::vector<ProcessBytes> SocketProcesses::exchange(gsl::span<const Parcel> sent,
                                                    gsl::span<const int> from, const Idle& idle) {
  auto post = [this](const Parcel& parcel) {
    peers_[std::size_t(parcel.process)].outgoing.push_back(&parcel);
  };
  for (const Parcel& parcel : sent) post(parcel);
  std::deque<std::vector<Parcel>> notes;
  bool gives_up = false;
  try {
    while (!is_done(gives_up ? gsl::span<const int>() : from)) {
      if (transfer(idle && !gives_up ? idle_milliseconds : -1)) continue;
      auto more = idle();
      gives_up = !more;
      if (gives_up) continue;
      notes.push_back(std::move(*more));
      for (const Parcel& note : notes.back()) post(note);
    }
  } catch (...) {
    for (Peer& peer : peers_) peer.outgoing.clear();
    throw;
  }
  std::vector<ProcessBytes> received;
  if (gives_up) return received;
  for (int process : from) received.push_back(peers_[std::size_t(process)].inbox.take());
  return received;
}

// Raises if a process has ended that is still needed.
bool SocketProcesses::is_done(gsl::span<const int> from) {
  bool is_done = true;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].outgoing.empty()) continue;
    if (peers_[i].has_ended) report_lost(int(i));
    is_done = false;
  }
  for (int process : from) {
    Peer& peer = peers_[std::size_t(process)];
    if (!peer.inbox.is_empty()) continue;
    if (peer.has_ended) report_lost(process);
    is_done = false;
  }
  return is_done;
}

// Sends and receives what can be without waiting, after waiting for the first that can, at most so
// long; -1 is for ever. Returns false if there was none.
bool SocketProcesses::transfer(int milliseconds_max) {
  std::vector<pollfd> waits;
  std::vector<Peer*> waiting;
  for (Peer& peer : peers_) {
    if (peer.socket < 0 || peer.has_ended) continue;
    short events = POLLIN;
    if (!peer.outgoing.empty()) events |= POLLOUT;
    waits.push_back({peer.socket, events, 0});
    waiting.push_back(&peer);
  }
  int ready = poll(waits.data(), nfds_t(waits.size()), milliseconds_max);
  if (ready < 0 && errno != EINTR) refuse_system("to wait for other processes");
  if (ready <= 0) return ready < 0;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if ((waits[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) receive_from(*waiting[i]);
    if ((waits[i].revents & POLLOUT) != 0 && !waiting[i]->has_ended) send_to(*waiting[i]);
  }
  return true;
}

void SocketProcesses::send_to(Peer& peer) {
  while (!peer.outgoing.empty()) {
    const ProcessBytes& bytes = peer.outgoing.front()->bytes;
    std::uint64_t number = ParcelHead(*peer.outgoing.front()).number();
    auto* head = reinterpret_cast<std::byte*>(&number);
    std::size_t in_head = std::min(peer.sent, head_bytes), in_body = peer.sent - in_head;
    std::array<iovec, 2> parts = {
        iovec{head + in_head, head_bytes - in_head},
        iovec{const_cast<std::byte*>(bytes.data()) + in_body, bytes.size() - in_body}};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t count = sendmsg(peer.socket, &message, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EPIPE || errno == ECONNRESET) peer.has_ended = true;
      return;
    }
    peer.sent += std::size_t(count);
    if (peer.sent < head_bytes + bytes.size()) return;
    peer.sent = 0;
    peer.outgoing.erase(peer.outgoing.begin());
  }
}

// Reads the bytes of a parcel to their place, and what is behind them apart.
void SocketProcesses::receive_from(Peer& peer) {
  gsl::span<std::byte> missing;
  if (peer.coming) missing = peer.coming->missing();
  read_.resize(read_bytes);
  std::array<iovec, 2> parts = {iovec{missing.data(), missing.size()},
                                iovec{read_.data(), read_.size()}};
  ssize_t count = readv(peer.socket, parts.data(), int(parts.size()));
  if (count == 0 || (count < 0 && errno == ECONNRESET)) peer.has_ended = true;
  if (count <= 0) return;
  std::size_t in_parcel = std::min(std::size_t(count), missing.size());
  if (peer.coming) peer.coming->add(in_parcel);
  take_in(peer, gsl::span<const std::byte>(read_).first(std::size_t(count) - in_parcel));
}

// Takes in bytes that follow those of the parcel that is on its way.
void SocketProcesses::take_in(Peer& peer, gsl::span<const std::byte> bytes) {
  for (;;) {
    if (peer.coming) {
      gsl::span<std::byte> missing = peer.coming->missing();
      std::size_t count = std::min(missing.size(), bytes.size());
      if (count > 0) std::memcpy(missing.data(), bytes.data(), count);
      peer.coming->add(count);
      bytes = bytes.subspan(count);
      peer.inbox.keep_if_whole(peer.coming);
      if (peer.coming) return;
    }
    std::size_t count = std::min(head_bytes - peer.head.size(), bytes.size());
    peer.head.insert(peer.head.end(), bytes.data(), bytes.data() + count);
    bytes = bytes.subspan(count);
    if (peer.head.size() < head_bytes) return;
    std::uint64_t number = 0;
    std::memcpy(&number, peer.head.data(), head_bytes);
    peer.head.clear();
    peer.coming.emplace(ParcelHead(number));
  }
}

// A process that lost another one has ended too; the first that was killed is the reason.
void SocketProcesses::report_lost(int process) {
  std::string ending = ending_of(process, std::chrono::seconds(1));
  for (std::size_t i = 0; i < peers_.size() && !is_killing(ending); ++i)
    if (std::string other = ending_of(int(i), killing_max); is_killing(other)) {
      ending = other;
      process = int(i);
    }
  throw ProcessLost(process, fmt::format("[engine/processes] expected process {} of {} to go on, "
                                         "got its end{}",
                                         process, count(), ending));
}

// Returns how a process that this one forked has ended, in words.
std::string SocketProcesses::ending_of(int process, std::chrono::milliseconds patience) {
  Peer& peer = peers_[std::size_t(process)];
  if (peer.pid == 0) return "";
  int status = status_of(peer.pid, patience);
  if (status < 0) return "";
  peer.pid = 0;
  if (WIFSIGNALED(status))
    return fmt::format(": by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format(": with status {}", WEXITSTATUS(status));
}

}  // namespace simmesh
