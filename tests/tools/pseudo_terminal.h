#pragma once

#include <array>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace simmesh::testing {

// PseudoTerminal runs a shell command on a terminal of 80 columns and keeps all that it writes
// there.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(const std::string& command) {
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    if (child_ < 0) ADD_FAILURE() << "no pseudo-terminal";
  }
  ~PseudoTerminal() {
    if (status_ < 0 && child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // wait_for reads until the text was written; false if the command ends or a minute passes first.
  bool wait_for(const std::string& text) {
    while (written_.find(text) == written_.npos)
      if (!read_more()) return false;
    return true;
  }

  // wait_for_handler waits until the command catches SIGINT; the command line must begin with exec.
  void wait_for_handler() const {
    for (int tries = 0; tries < 6'000; ++tries) {
      std::ifstream status("/proc/" + std::to_string(child_) + "/status");
      for (std::string line; std::getline(status, line);)
        if (line.rfind("SigCgt:", 0) == 0 &&
            (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0)
          return;
      usleep(10'000);
    }
    ADD_FAILURE() << "SIGINT isn't caught";
  }

  // type writes as a keyboard does; "\x03" is Ctrl-C.
  void type(const std::string& keys) {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), ssize_t(keys.size()));
  }

  // end waits for the end of the command and returns its exit status; -1 if a signal ended it.
  int end() {
    while (read_more()) {
    }
    int status = 0;
    waitpid(child_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    child_ = -1;
    return status_;
  }

  // written is all that was written, with the control characters in it.
  const std::string& written() const { return written_; }

  // screen returns the visible text: text after a carriage return covers earlier text.
  std::string screen() const {
    std::string result, line;
    std::size_t column = 0;
    for (char letter : written_) {
      if (letter == '\r') {
        column = 0;
      } else if (letter == '\n') {
        result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line.clear();
        column = 0;
      } else {
        if (column == line.size()) line += ' ';
        line[column++] = letter;
      }
    }
    return result + line.substr(0, line.find_last_not_of(' ') + 1);
  }

 private:
  bool read_more() {
    pollfd ready{.fd = terminal_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 60'000) != 1) {
      ADD_FAILURE() << "nothing was written for a minute";
      return false;
    }
    std::array<char, 4096> buffer;
    ssize_t bytes = read(terminal_, buffer.data(), buffer.size());
    if (bytes <= 0) return false;
    written_.append(buffer.data(), std::size_t(bytes));
    return true;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
  int status_ = -1;
  std::string written_;
};

}  // namespace simmesh::testing
