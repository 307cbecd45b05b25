#pragma once

#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/native/commit.h"
#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/directory_store.h"
#include "collectives/collectives.h"
#include "core/check/bits_hash.h"
#include "core/engine/spread/processes.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "core/tensor/known_tensor.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint {

// train_with_saves trains from the last checkpoint of a folder, or from the start, and saves after
// each step. Returns the bits of the result.
inline std::string train_with_saves(const std::string& folder) {
  constexpr std::int64_t steps = 4;
  auto store = std::make_shared<DirectoryStore>(folder);
  std::optional<Location> last = latest(store);
  std::string result;
  World({.ranks = 4})
      .run([&](Rank&) {
        DeviceMesh mesh = init_device_mesh({4});
        Tensor whole = formula(Dims{8, 3}, {.rule = Rule::unit, .dtype = DType::float32});
        Tensor weight = distribute_tensor(whole, mesh, {Shard(0)}).as_tensor();
        std::int64_t step = 0;
        auto state = [&] {
          StateDict all;
          all.add("weight", weight);
          all.add("step", step);
          return all;
        };
        if (last) {
          StateDict loaded = state();
          load(loaded, *last);
          step = loaded.number("step");
        }
        while (step < steps) {
          Tensor piece = weight.local_part();
          Tensor sum = all_reduce(piece, ReduceOp::avg, ProcessGroup::world());
          copy_(piece, add(mul(piece, 0.75), sum));
          ++step;
          save(state(), {store, fmt::format("step_{}", step)});
        }
        Tensor full = all_gather(weight.local_part(), {.dim = 0}, ProcessGroup::world());
        Tensor known = known_tensor(full, "the result");
        result = fmt::format("{:016x}", bits_hash({known.data(), known.bytes()}));
      })
      .rethrow();
  return result;
}

// KillingProcesses end one process at an exchange.
class KillingProcesses final : public Processes {
 public:
  KillingProcesses(Processes& processes, int victim, int at)
      : processes_(processes), victim_(victim), at_(at) {}

  int number() const override { return processes_.number(); }
  int count() const override { return processes_.count(); }
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent, gsl::span<const int> from,
                                     const Idle& idle) override {
    if (++exchanges_ == at_ && number() == victim_) std::raise(SIGKILL);
    return processes_.exchange(sent, from, idle);
  }
  const ProcessBytes& note_of(int process) const override { return processes_.note_of(process); }
  int exchanges() const { return exchanges_; }

 private:
  Processes& processes_;
  int victim_, at_, exchanges_ = 0;
};

}  // namespace simmesh::checkpoint
