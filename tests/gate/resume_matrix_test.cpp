#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>

#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/memory_store.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "gate/task.h"
#include "training/run_record.h"

namespace simmesh {
namespace {

// A mesh and the table [parallel] of a run.
struct MatrixForm {
  const char* name;
  const char* mesh;
  const char* parallel;
};

const std::vector<MatrixForm>& matrix_forms() {
  static const std::vector<MatrixForm> forms = {
      {"single", "shape = [1]", ""},
      {"ddp", "shape = [2]", "replicate = {}"},
      {"ddp in small buckets", "shape = [3]", "replicate = { bucket_bytes = 64 }"},
      {"fsdp", "shape = [3]", "fsdp = {}"},
      {"fsdp of the root", "shape = [2]", "fsdp = { wrap = \"root\" }"},
      {"fsdp in other groups", "shape = [4]",
       "fsdp = { wrap = [\"block0.attn\", \"block0\"], shard_placement = \"largest\" }"},
      {"hsdp", "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]",
       "fsdp = { mesh = [\"replicate\", \"shard\"] }"},
      {"hsdp of other shape", "shape = [1, 3]\nnames = [\"replicate\", \"shard\"]",
       "fsdp = { mesh = [\"replicate\", \"shard\"], wrap = \"root\" }"},
      {"tensor", "shape = [2]\nnames = [\"tp\"]", "tensor = {}"},
      {"fsdp x tensor", "shape = [2, 2]\nnames = [\"dp\", \"tp\"]",
       "fsdp = { mesh = \"dp\" }\ntensor = { mesh = \"tp\" }"},
      {"zero1", "shape = [2]", "zero = { stage = 1 }"},
      {"zero2", "shape = [3]",
       "zero = { stage = 2, reduce_bucket_size = 40, allgather_bucket_size = 50 }"},
      {"zero3", "shape = [4]", "zero = { stage = 3 }"},
      {"zero3 in small buckets", "shape = [2]",
       "zero = { stage = 3, reduce_bucket_size = 30, stage3_prefetch_bucket_size = 20, "
       "stage3_param_persistence_threshold = 0 }"},
      {"experts", "shape = [2]\nnames = [\"ep\"]", "expert = {}"},
      {"experts x fsdp", "shape = [2, 2]\nnames = [\"dp\", \"ep\"]",
       "fsdp = { mesh = \"dp\" }\nexpert = { mesh = \"ep\" }"},
  };
  return forms;
}

// A model with uneven sizes, of which some ranks get nothing, a tied head, and dropout. Every token
// chooses all experts: in stage 3, as in DeepSpeed's, ranks wait for each other if one uses an
// expert that another doesn't.
constexpr const char* matrix_model =
    "[model]\nkind = \"moe\"\nlayers = 1\nwidth = 6\nheads = 2\nvocabulary = 11\nexperts = 3\n"
    "top_k = 3\nhidden = 10\ndropout = 0.2\ntied_head = true\n"
    "init = { rule = \"unit\", scale = 0.3, seed = 1 }\n"
    "[data]\nbatch = 24\nrows = 30\nsequence = 2\n";

constexpr std::int64_t matrix_steps = 4, matrix_saved = 1;

GateFile matrix_gate(const MatrixForm& form, const std::string& model) {
  return gate_from_text(
      fmt::format("[mesh]\n{}\n{}[parallel]\n{}\n[train]\nsteps = {}\nmicro_batches = 2\n"
                  "optimizer = {{ kind = \"adamw\", lr = 1e-2, weight_decay = 0.1 }}\n"
                  "clip_grad_norm = 0.5\n[arithmetic]\nmode = \"exact\"\n",
                  form.mesh, model, form.parallel, matrix_steps),
      "matrix.toml");
}

// Gives a model buffers that every forward pass changes and uses: without dims, without elements,
// of integers, flags and bytes, and of a size that no mesh divides.
void add_buffers(nn::Module& model) {
  auto& buffers = model.buffers();
  buffers.push_back({"count", zeros(Shape{}, DType::int64)});
  buffers.push_back({"flags", zeros(Shape{3}, DType::boolean)});
  buffers.push_back({"bytes", zeros(Shape{5}, DType::uint8)});
  buffers.push_back({"none", zeros(Shape{0, 3}, DType::float32)});
  buffers.push_back({"mean", zeros(Shape{7}, DType::bfloat16)});
  model.add_hook([](nn::Module& self, const nn::Tensors&, nn::Tensors outputs) {
    auto buffer = [&](std::size_t index) {
      return self.buffers()[self.buffers().size() - 5 + index].tensor;
    };
    Tensor counts = buffer(0), flags = buffer(1), bytes = buffer(2), mean = buffer(4);
    std::int64_t count = ++counts.mutable_values<std::int64_t>()[0];
    std::uint8_t& byte = bytes.mutable_values<std::uint8_t>()[std::size_t(count % 5)];
    byte = std::uint8_t(byte + 100);
    copy_(flags, ge(full(Shape{3}, DType::float32, double(byte)), 128.0));
    copy_(mean, add(mul(mean, 0.5), double(count)));
    double flag = flags.values<bool>()[2] ? 1.0 : 0.0;
    double factor =
        1 + flag / 4 + double(byte) / 1024 + double(float(mean.values<BFloat16>()[6])) / 128;
    return nn::Tensors{mul(outputs[0], factor)};
  });
}

// A run of the matrix. It trains in a form, and may save at its end or begin with a load. The
// worlds have different seeds, so a random state that isn't loaded shows.
struct MatrixRun {
  std::optional<checkpoint::Location> load_from = {}, save_to = {};
  const RunRecord* expected = nullptr;
  std::uint64_t seed = 1;
  bool loads_random = true;
  Schedule schedule = Schedule::fifo();
};

struct MatrixResult {
  RunRecord record;        // of rank 0
  std::string difference;  // of the first rank that has one
};

checkpoint::StateDict without_random(const checkpoint::StateDict& state) {
  checkpoint::StateDict rest;
  for (const auto& [name, value, on_load] : state.entries()) {
    if (name == "random") continue;
    std::visit(
        [&, &name = name, &on_load = on_load](const auto& one) {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, JsonValue>)
            rest.add(name, one, on_load);
          else
            rest.add(name, one);
        },
        value);
  }
  return rest;
}

ParallelForm form_of(const MatrixRun& run) {
  ParallelForm form;
  form.prepare = add_buffers;
  if (run.save_to)
    form.save = [&run](checkpoint::StateDict& state) {
      state.add("step", matrix_saved);
      checkpoint::save(state, *run.save_to);
    };
  if (run.load_from)
    form.load = [&run](checkpoint::StateDict& state) {
      state.add("step", std::int64_t(0));
      if (run.loads_random) {
        checkpoint::load(state, *run.load_from);
        return state.number("step");
      }
      checkpoint::StateDict rest = without_random(state);
      checkpoint::load(rest, *run.load_from, {.allow_unexpected = true});
      return rest.number("step");
    };
  return form;
}

MatrixResult run_matrix(const MatrixForm& form, const std::string& model, const MatrixRun& run) {
  GateFile gate = matrix_gate(form, model);
  if (run.save_to) gate.train.steps = matrix_saved;
  GateTask task = gate_task(gate);
  std::vector<MatrixResult> results(std::size_t(gate.ranks()));
  World world({.ranks = results.size(),
               .seed = run.seed,
               .schedule = run.schedule,
               .arithmetic = Arithmetic::exact()});
  auto outcome = world.run([&](Rank& rank) {
    std::vector<nn::NamedTensor> named = named_results(train_on_mesh(gate, task, form_of(run)));
    MatrixResult& own = results[std::size_t(rank.id())];
    if (rank.id() == 0) own.record = copy_of(named);
    if (run.expected == nullptr) return;
    if (auto difference = first_difference(*run.expected, named))
      own.difference = fmt::format("rank {}, {}: expected {}, got {}", rank.id(), difference->where,
                                   difference->expected, difference->actual);
  });
  if (!outcome.ok()) return {{}, report(outcome)};
  for (const MatrixResult& result : results)
    if (!result.difference.empty()) return {{}, result.difference};
  return std::move(results[0]);
}

checkpoint::Location saved_in(const MatrixForm& form, const std::string& model) {
  checkpoint::Location location = {std::make_shared<checkpoint::MemoryStore>(), "state"};
  EXPECT_EQ(run_matrix(form, model, {.save_to = location}).difference, "") << form.name;
  return location;
}

// Each form resumes as every other one, under one schedule or another. Its next three steps have
// the bits of the run of the first form that never stopped.
void expect_all_resume(const std::vector<MatrixForm>& forms, const std::string& model) {
  RunRecord expected = from_step(run_matrix(forms.front(), model, {}).record, matrix_saved);
  ASSERT_FALSE(expected.empty());
  std::int64_t pairs = 0;
  for (const MatrixForm& from : forms) {
    checkpoint::Location location = saved_in(from, model);
    for (const MatrixForm& to : forms) {
      const Schedule schedules[] = {Schedule::fifo(), Schedule::seeded(5),
                                    Schedule::pct({.depth = 3})};
      MatrixRun resumed = {.load_from = location,
                           .expected = &expected,
                           .seed = 2,
                           .schedule = schedules[std::size_t(pairs) % 3]};
      EXPECT_EQ(run_matrix(to, model, resumed).difference, "") << from.name << " to " << to.name;
      ++pairs;
    }
  }
  std::printf("%lld pairs of %zu forms go on with the same bits\n", static_cast<long long>(pairs),
              forms.size());
}

TEST(ResumeMatrix, EveryFormGoesOnAsEveryOther) { expect_all_resume(matrix_forms(), matrix_model); }

std::string with_word(std::string text, const std::string& word, const std::string& other) {
  std::size_t place = text.find(word);
  EXPECT_NE(place, text.npos) << word;
  return place == text.npos ? text : text.replace(place, word.size(), other);
}

// With sequence parallelism the head is cut, so it can't be the embedding.
TEST(ResumeMatrix, SequenceParallelGoesOnElsewhere) {
  std::string model = with_word(matrix_model, "kind = \"moe\"", "kind = \"transformer\"");
  model = with_word(model, "experts = 3\ntop_k = 3\n", "");
  model = with_word(model, "tied_head = true", "tied_head = false");
  expect_all_resume(
      {{"single", "shape = [1]", ""},
       {"sequence parallel", "shape = [2]\nnames = [\"tp\"]",
        "tensor = { sequence_parallel = true }"},
       {"fsdp x sequence parallel", "shape = [2, 2]\nnames = [\"dp\", \"tp\"]",
        "fsdp = { mesh = \"dp\" }\ntensor = { mesh = \"tp\", sequence_parallel = true }"},
       {"zero3", "shape = [3]", "zero = { stage = 3 }"}},
      model);
}

// 16-bit parameters are rebuilt from their masters, in any stage and world.
TEST(ResumeMatrix, MastersRebuildTheirParameters) {
  expect_all_resume({{"zero1", "shape = [2]", "zero = { stage = 1 }"},
                     {"zero1 of more", "shape = [3]", "zero = { stage = 1 }"},
                     {"zero2", "shape = [2]", "zero = { stage = 2, reduce_bucket_size = 30 }"},
                     {"zero3", "shape = [3]", "zero = { stage = 3 }"},
                     {"zero3 of four", "shape = [4]",
                      "zero = { stage = 3, stage3_param_persistence_threshold = 0 }"}},
                    with_word(matrix_model, "[data]", "dtype = \"bfloat16\"\n[data]"));
}

// The matrix would be worth nothing if a run with other random numbers passed.
TEST(ResumeMatrix, FiresWithoutTheRandomState) {
  const std::vector<MatrixForm>& forms = matrix_forms();
  RunRecord expected = from_step(run_matrix(forms[0], matrix_model, {}).record, matrix_saved);
  checkpoint::Location location = saved_in(forms[0], matrix_model);
  MatrixRun resumed = {.load_from = location, .expected = &expected, .seed = 2};
  EXPECT_EQ(run_matrix(forms[3], matrix_model, resumed).difference, "");
  resumed.loads_random = false;
  EXPECT_NE(run_matrix(forms[3], matrix_model, resumed).difference, "");
}

}  // namespace
}  // namespace simmesh
