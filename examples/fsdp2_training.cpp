// How is a model trained with FSDP2, what does it communicate, and does it get the parameters of
// one device?
#include <fmt/core.h>

#include <simmesh/simmesh.h>

using namespace simmesh;

constexpr std::int64_t width = 8, batch = 16, steps = 3;

// All ranks draw the same random numbers, so they make the same model.
std::shared_ptr<nn::Sequential> make_model() {
  manual_seed(7);
  std::vector<nn::NamedModule> blocks;
  for (int i = 0; i < 3; ++i)
    blocks.emplace_back(fmt::format("block_{}", i),
                        nn::make_mlp({.width = width, .hidden = 4 * width, .out = width}));
  return std::make_shared<nn::Sequential>(std::move(blocks));
}

void train(nn::Module& model, const Tensor& input, const Tensor& target) {
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-2, .weight_decay = 0.1});
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    backward(mse_loss(model(input), target));
    optimizer.step();
  }
}

void compare_with_one_device(Rank& rank) {
  DeviceMesh mesh = init_device_mesh({4}, {"dp"});
  Tensor input = formula({batch, width}, {.rule = Rule::unit, .seed = 1});
  Tensor target = formula({batch, width}, {.rule = Rule::unit, .seed = 2});

  auto whole = make_model();
  train(*whole, input, target);

  auto model = make_model();
  for (auto& [name, block] : model->children()) fsdp::fully_shard(*block, {.mesh = mesh});
  fsdp::fully_shard(*model, {.mesh = mesh});
  std::int64_t rows = batch / mesh.size();
  Tensor::Narrow own{.dim = 0, .start = mesh.get_local_rank() * rows, .length = rows};
  CommDebugMode communication;
  train(*model, input.narrow(own), target.narrow(own));
  communication.end();

  nn::StateDict expected = whole->state_dict(), got = fsdp::full_state_dict(*model);
  for (std::size_t i = 0; i < got.size(); ++i) {
    rank.expect_same_bits(got[i].second.detach(), expected[i].second.detach());
    rank.record(got[i].second);
  }
  if (rank.id() == 0)
    fmt::print("{} parameters have the bits of one device\n{}", got.size(),
               to_string(communication));
}

int main(int argc, char** argv) {
  World world(world_options_from(argc, argv, {.ranks = 4, .arithmetic = Arithmetic::exact()}));
  Outcome outcome = world.run(compare_with_one_device);
  fmt::print("{}\n",
             outcome.ok() ? fmt::format("data hash {:016x}", outcome.data_hash) : report(outcome));
  return outcome.ok() ? 0 : 1;
}
