#pragma once

#include <functional>
#include <memory>

#include "checkpoint/catalog/state_dict.h"
#include "training/training.h"

namespace simmesh {

// TrainingEngine is the part of a training run that uses gradients: one per rank and run. The
// default leaves them on the parameters and has an optimiser of its own; others pass them to a
// system that does more at once.
class TrainingEngine {
 public:
  virtual ~TrainingEngine() = default;

  // backward runs the backward pass of a micro-batch.
  virtual void backward(const Tensor& loss) = 0;
  // backward_by runs passes that somebody else makes, such as those of all micro-batches of a step
  // in a pipeline; after them, the gradients on the parameters are those of the step.
  virtual void backward_by(const std::function<void()>& passes) { passes(); }
  // set_rate_factor multiplies the learning rates that the optimiser began with, for the next step.
  virtual void set_rate_factor(double factor) = 0;
  // step makes the optimiser's step, and adds the norm and the gradients of the step to the result
  // if the run reports them.
  virtual void step(TrainingResult& result) = 0;
  // state returns the contents of a checkpoint of the run; its tensors are those of the run, so
  // that a load fills them. state_loaded is called after that.
  virtual checkpoint::StateDict state() = 0;
  virtual void state_loaded() {}
  // report adds the parameters and the optimiser's state.
  virtual void report(TrainingResult& result) = 0;
};

// set_rates sets an optimiser's learning rates to its first ones times a factor.
inline void set_rates(optim::Optimizer& optimizer, std::vector<double> rates, double factor) {
  for (double& rate : rates) rate *= factor;
  optimizer.set_learning_rates(rates);
}

// reported runs work that only gathers results to report.
template <class Work>
auto reported(const ParallelForm& form, Work work) {
  if (form.at_report) form.at_report(true);
  auto result = work();
  if (form.at_report) form.at_report(false);
  return result;
}

// state_of_run returns the contents of a run's checkpoint: the engine's state and the random state.
checkpoint::StateDict state_of_run(TrainingEngine& engine);

// completed returns the tensors that all ranks of a form have, given those of this rank, which are
// named after its parameters. All ranks call it.
std::vector<nn::NamedTensor> completed(const ParallelForm& form,
                                       std::vector<nn::NamedTensor> tensors);

// add_buffers adds the buffers of a model to the parameters: biases of routers, which every rank of
// a stage has whole.
void add_buffers(nn::Module& model, const ParallelForm& form, TrainingResult& result);

// make_local_engine returns the default engine. All arguments must outlive it.
std::unique_ptr<TrainingEngine> make_local_engine(nn::Module& model, const TrainingTask& task,
                                                  const ParallelForm& form);

}  // namespace simmesh
