#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "replay/run/payload.h"
#include "replay/run/replay_program.h"

namespace simmesh::replay {

// Allocation is when the storages of a rank exist. Under `pre` those that are used before anything
// outputs them are made before the first iteration and stay; the others are made when they are
// first used, and stay to the end of the iteration. Under `lazy` all are made when they are first
// used and freed after their last use.
enum class Allocation : std::uint8_t { pre, lazy };

// IterationOptions set how often a program runs, and with which data.
struct IterationOptions {
  std::int64_t warm_up = 0;  // iterations before those that count
  std::int64_t iterations = 1;
  Allocation allocation = Allocation::lazy;
  Payload payload = {};
  bool keeps_outputs = false;  // in CommOutput::bytes
};

// CommOutput is the output of one communication of a rank.
struct CommOutput {
  std::uint32_t step = 0;                          // of the rank's program
  std::uint64_t hash = 0;                          // of dtypes, sizes and bits
  std::vector<std::vector<std::byte>> bytes = {};  // of each output, where they are kept

  bool operator==(const CommOutput&) const = default;
};

// hash_outputs returns the hash of a CommOutput with these tensors.
std::uint64_t hash_outputs(gsl::span<const Tensor> outputs);

// RankReplay runs one rank's program in the World in which it is made. Steps run in their order;
// all ranks of the World meet before and after each iteration. Before a communication its inputs
// get their payload; its outputs are written when it completes, or when it is waited for.
class RankReplay {
 public:
  RankReplay(const ReplayProgram& program, std::size_t rank, const IterationOptions& options);

  // run returns the outputs of the last iteration, in the order of the steps.
  std::vector<CommOutput> run();

 private:
  // UnderWay is a communication that was started. An uneven reduce-scatter consists of several.
  using UnderWay = std::vector<Work>;

  void run_iteration();
  void run_step(std::uint32_t step);
  void compute(const ProgramStep& step);
  void communicate(std::uint32_t step);
  void start_message(std::uint32_t step, const ProcessGroup& group);
  void receive(std::uint32_t step, const ProcessGroup& group);
  void finish(std::uint32_t step);
  void finish_all();
  void put_out(std::uint32_t step, gsl::span<const Tensor> results);
  std::vector<Tensor> run_calls(gsl::span<const CollectiveCall> calls, const ProcessGroup& group);
  std::vector<CollectiveCall> calls_of(std::uint32_t step, gsl::span<const Tensor> inputs);

  const ProcessGroup& group_of(const ProgramStep& step);
  CallSite site_of(const ProgramStep& step) const;
  std::vector<Tensor> views(TraceRange tensors);
  std::vector<Tensor> filled_inputs(std::uint32_t step);
  void allocate(std::uint32_t storage);
  void release_after(std::uint32_t step);

  const ReplayProgram& program_;
  const RankProgram& rank_;
  IterationOptions options_;
  bool repeats_;
  bool is_last_ = false;
  std::vector<StoragePtr> storages_;
  std::vector<Tensor> payloads_;  // by input, where iterations repeat
  std::vector<std::optional<ProcessGroup>> groups_;
  std::map<std::uint32_t, UnderWay> under_way_;
  std::vector<Tensor> flat_;  // flat tensors to which the calls of one step refer
  std::vector<CommOutput> outputs_;
};

}  // namespace simmesh::replay
