#include "gate/task.h"

#include <gtest/gtest.h>

#include "core/check/bits_hash.h"
#include "core/check/fold_hash.h"
#include "core/engine/world.h"
#include "gate/file.h"
#include "training/shuffled_rows.h"

namespace simmesh {
namespace {

struct Cut {
  int ranks;
  int micro_batches;
};

// A batch with enough rows for every rank in every cut.
std::string gate_text(const Cut& cut, std::string_view dtype, std::string_view kind) {
  return fmt::format(
      "[mesh]\nshape = [{}]\n[model]\nkind = \"{}\"\nlayers = 1\nwidth = 8\ndtype = \"{}\"\n"
      "init = {{ scale = 0.25 }}\n[data]\nbatch = {}\n[parallel]\nreplicate = {{}}\n"
      "[train]\nsteps = 2\nmicro_batches = {}\noptimizer = {{ kind = \"adamw\", lr = 0.01 }}\n"
      "clip_grad_norm = 0.5\n[arithmetic]\nmode = \"exact\"\n",
      cut.ranks, kind, dtype, kind == "mlp" ? 224 : 32, cut.micro_batches);
}

// Hashes all results of a run.
std::uint64_t hash_of(const std::string& text, const std::string& schedule) {
  GateFile gate = gate_from_text(text, "g.toml");
  GateTask task = gate_task(gate);
  std::uint64_t hash = 0;
  World world({.ranks = std::size_t(gate.ranks()),
               .schedule = Schedule::parse(schedule),
               .arithmetic = Arithmetic::exact(),
               .stack_bytes = 256 * 1024});
  Outcome outcome = world.run([&](Rank& rank) {
    TrainingResult result = train_on_mesh(gate, task);
    if (rank.id() != 0) return;
    FoldHash all;
    auto fold = [&all](const Tensor& tensor) {
      Tensor rows = tensor.contiguous();
      all.fold(bits_hash({rows.data(), rows.bytes()}));
    };
    for (const Tensor& loss : result.losses) fold(loss);
    for (const Tensor& norm : result.norms) fold(norm);
    for (const auto& [name, tensor] : result.parameters) fold(tensor);
    for (const auto& [name, tensor] : result.optimizer_state) fold(tensor);
    hash = all.value();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.live_storages, 0);
  return hash;
}

// With a data set, steps take its rows in the order of ShuffledRows, from one epoch to the next.
TEST(GateTask, TakesRowsFromADataSet) {
  auto batch_of = [](const std::string& data, std::int64_t step) {
    GateFile gate = gate_from_text("[model]\nwidth = 3\nout = 1\n[train]\nsteps = 4\n" + data, "g");
    return gate_task(gate).training.batch(step, 0);
  };
  Batch all = batch_of("[data]\nbatch = 5\n", 0);
  ShuffledRows rows({.rows = 5, .seed = 7});
  for (std::int64_t step = 0; step < 4; ++step) {
    Batch batch = batch_of("[data]\nbatch = 3\nrows = 5\n", step);
    std::vector<std::int64_t> taken = rows.next(3);
    for (std::int64_t i = 0; i < 3; ++i) {
      std::int64_t row = taken[std::size_t(i)];
      EXPECT_TRUE(same_bits(batch.input.narrow({0, i, 1}).contiguous(),
                            all.input.narrow({0, row, 1}).contiguous()));
      EXPECT_TRUE(same_bits(batch.target.narrow({0, i, 1}).contiguous(),
                            all.target.narrow({0, row, 1}).contiguous()));
    }
  }
}

// In exact arithmetic neither the number of ranks nor the number of micro-batches changes a bit of
// losses, norms, parameters or optimiser state, in any dtype.
TEST(GateTask, InExactArithmeticIsOneRunHoweverTheBatchIsCut) {
  for (std::string_view kind : {"mlp", "transformer"}) {
    for (std::string_view dtype : {"float64", "float32", "bfloat16", "float16"}) {
      std::uint64_t expected = hash_of(gate_text({1, 1}, dtype, kind), "fifo");
      for (int ranks = 1; ranks <= 8; ranks += kind == "mlp" ? 1 : ranks)
        for (int micro_batches = 1; micro_batches <= 4; micro_batches += kind == "mlp" ? 1 : 3)
          EXPECT_EQ(hash_of(gate_text({ranks, micro_batches}, dtype, kind), "seeded:3"), expected)
              << kind << " " << dtype << " " << ranks << " " << micro_batches;
    }
  }
}

}  // namespace
}  // namespace simmesh
