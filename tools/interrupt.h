#pragma once

namespace simmesh {

// Interrupt catches Ctrl-C (SIGINT) while it lives, so that a command can print what it found so
// far. Long commands ask `requested` between runs. A second Ctrl-C ends the process at once. At
// most one lives at a time.
class Interrupt {
 public:
  // The exit status of a command that was interrupted, as shells have it for SIGINT.
  static constexpr int exit_status = 130;

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
};

}  // namespace simmesh
