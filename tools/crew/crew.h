#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/engine/spread/processes.h"
#include "core/shards/shard_results.h"

namespace simmesh {

// Crew is the processes that share the jobs of one command, such as those of `mpirun -n 4 simmesh
// verify cases`. Jobs are handed out as processes get free. Process 0 gets all results and prints
// them; the others print nothing.
class Crew {
 public:
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  virtual ~Crew();

  // present returns the crew of this process; nullptr for a process by itself.
  static Crew* present() { return present_; }

  virtual int rank() const = 0;  // of this process, from 0
  virtual int size() const = 0;

  // next returns the number of a job that no other call gets, on any process; ascending on each of
  // them. A number of count or more means that none is left. Threads of a process may call it.
  virtual std::uint64_t next(std::uint64_t count) = 0;

  // processes returns the processes as those over which worlds are spread: the same object at each
  // call, which all processes make together.
  // Raises a RuntimeError in a crew that has none.
  virtual Processes& processes();

  // gather returns the texts of all processes on process 0, in order, and nothing elsewhere. Each
  // process calls it once, after its last job.
  virtual std::vector<std::string> gather(const std::string& text) = 0;

 protected:
  Crew();

 private:
  static Crew* present_;
};

// CrewWork is what each process of a crew does: results fills in what the process found, and print,
// on process 0, prints what all found and returns the exit status.
struct CrewWork {
  std::function<ShardResults()> results;
  std::function<int(const ShardResults& all)> print;
};

// work_in_crew does a command's jobs with the other processes, and returns the exit status: 0 on
// all processes but process 0. Raises there the first error of any process, with the number of the
// process if others had none.
int work_in_crew(Crew& crew, const CrewWork& work);

}  // namespace simmesh
