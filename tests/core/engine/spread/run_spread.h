#pragma once

#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "core/engine/run/spread_run.h"
#include "core/engine/spread/socket_processes.h"

namespace simmesh {

// run_spread calls a function in so many forked processes, in the scope of a WorldSpread over them,
// and returns the text that process 0 returns; or the first text of another process that differs,
// with its number. Each process is forked from a child of the caller, which goes on alone.
inline std::string run_spread(int count, const std::function<std::string(WorldSpread&)>& work,
                              const WorldSpread::OwnerOf& owner_of = nullptr) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
  std::fflush(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    close(pipe_ends[0]);
    std::string text;
    std::unique_ptr<SocketProcesses> processes;
    try {
      processes = SocketProcesses::fork(count);
      WorldSpread spread(*processes, owner_of);
      {
        SpreadScope scope(spread);
        text = work(spread);
      }
      std::vector<Parcel> parcels;
      if (processes->number() > 0) {
        parcels.push_back({0, ProcessBytes(message_bytes(text))});
        processes->exchange(parcels, {});
        std::_Exit(0);
      }
      std::vector<ProcessBytes> texts = processes->exchange({}, processes->others());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        std::string other = message_text(texts[i]);
        if (other != text) {
          text = fmt::format("process 0: {}\nprocess {}: {}", text, i + 1, other);
          break;
        }
      }
    } catch (const std::exception& error) {
      if (processes && processes->number() > 0) std::_Exit(2);
      text += std::string("error: ") + error.what();
    }
    ssize_t written = write(pipe_ends[1], text.data(), text.size());
    std::_Exit(written == ssize_t(text.size()) ? 0 : 3);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(got));
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

// both_hashes returns the hashes of an outcome, or its report.
inline std::string both_hashes(const Outcome& outcome) {
  if (!outcome.ok()) return report(outcome);
  return fmt::format("{:016x} {:016x} {}", outcome.data_hash, outcome.schedule_hash,
                     outcome.peak_bytes);
}

}  // namespace simmesh
