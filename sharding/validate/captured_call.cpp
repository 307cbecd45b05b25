#include "sharding/validate/captured_call.h"

#include "core/ops/call.h"
#include "core/ops/functions/op_views.h"

namespace simmesh {

namespace {

// A plain tensor that is seen when an op is called on it.
class Watched : public Distribution {
 public:
  Watched(Tensor plain, std::vector<CapturedCall>& log, std::optional<std::size_t> of_function)
      : plain_(std::move(plain)), log_(log), of_function_(of_function) {}

  std::vector<Tensor> dispatch(const OpCall& call) const override {
    CapturedCall captured{.op = &call.op, .attributes = call.attributes};
    std::vector<Tensor> plain;
    for (const Tensor& input : call.inputs) {
      auto* watched = dynamic_cast<const Watched*>(input.distribution().get());
      plain.push_back(watched ? watched->plain_ : input);
      captured.of_function.push_back(watched ? watched->of_function_ : std::nullopt);
      captured.inputs.push_back(plain.back().is_defined() ? plain.back().clone() : Tensor());
    }
    captured.outputs = simmesh::call(call.op, plain, call.attributes);
    std::vector<Tensor> outputs;
    for (const Tensor& output : captured.outputs)
      outputs.push_back(output.is_defined() ? watched(output, log_) : Tensor());
    log_.push_back(std::move(captured));
    return outputs;
  }
  const AttachedViews& views() const override { return op_views(); }
  Tensor local_part() const override { return plain_; }
  bool is_partial() const override { return false; }
  Tensor saved_output(const Tensor& result) const override { return result.detach(); }

  static Tensor watched(const Tensor& plain, std::vector<CapturedCall>& log,
                        std::optional<std::size_t> of_function = {}) {
    return Tensor(DistributionPtr(new Watched(plain, log, of_function)), plain.dtype(),
                  plain.shape());
  }

 private:
  Tensor plain_;
  std::vector<CapturedCall>& log_;
  std::optional<std::size_t> of_function_;
};

}  // namespace

Capture capture(gsl::span<const Tensor> inputs, const TensorFunction& function) {
  Capture result;
  std::vector<Tensor> watched;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    watched.push_back(inputs[i].is_defined() ? Watched::watched(inputs[i].clone(), result.calls, i)
                                             : Tensor());
  for (const Tensor& output : function(watched))
    result.outputs.push_back(output.is_defined() ? output.local_part().contiguous() : Tensor());
  return result;
}

}  // namespace simmesh
