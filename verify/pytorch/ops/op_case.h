#pragma once

#include <memory>

#include "verify/case_mesh.h"
#include "verify/case_tensor.h"
#include "verify/collective_tally.h"
#include "verify/pytorch/case_source.h"
#include "verify/pytorch/ops/function_steps.h"
#include "verify/pytorch/ops/op_result.h"
#include "verify/pytorch/ops/python_call.h"

namespace simmesh {

// OpInput is one input of a case: data by formula, on the mesh of the case or one of its own, or a
// plain tensor that all ranks hold.
class OpInput {
 public:
  // Reads an input of a case on that mesh, and computes its logical tensors.
  OpInput(const CaseField& field, const CaseMesh& mesh);

  // on returns the input as a rank holds it.
  Tensor on(std::int64_t rank) const;

  bool is_distributed() const { return source_ != nullptr; }
  bool is_complex() const { return is_complex_; }
  // placements are empty for a plain tensor.
  const Placements& placements() const { return placements_; }
  // wants_gradient is true if the input is asked for its gradient: it is floating, and distributed.
  bool wants_gradient() const;

 private:
  Tensor local(DimSpan coordinate) const;

  CaseMesh mesh_;
  CaseTensor tensor_;
  bool is_complex_ = false;  // the imaginary parts are zero
  Placements placements_;
  std::shared_ptr<const CaseSource> source_;  // null for a plain tensor
};

// OpCase is a call of a function of PyTorch on distributed tensors, with its results.
struct OpCase {
  CaseMesh mesh;
  std::string function;
  std::optional<std::string> aten;  // the one operator that it is
  std::vector<OpInput> inputs;
  std::vector<PythonValue> positional;
  std::map<std::string, PythonValue> keywords;
  std::vector<RecordedResult> outputs, gradients;
  std::vector<bool> asks_gradient;  // of each input
  std::optional<OpInput> grad_output;
  std::optional<CollectiveTally> comm, comm_backward;
  // For each tensor of the one operator, the placements with which it ran; null for a plain tensor.
  std::optional<std::vector<std::optional<Placements>>> used;
  std::optional<std::vector<FunctionStep>> steps;  // of a function that is no single operator
  Closeness closeness;

  // arguments returns the arguments of the call with the tensors in their places.
  PythonArguments arguments(gsl::span<const Tensor> tensors_of_inputs) const;

  // tensors_of_operator returns the input behind each tensor of the one operator, in its order;
  // nothing for a number that becomes a tensor.
  std::vector<std::optional<std::size_t>> tensors_of_operator() const;
};

// op_schema describes a case of kind op, op_grad_schema one of kind op_grad.
Schema op_schema();
Schema op_grad_schema();

// read_op_case reads a case of either kind.
OpCase read_op_case(const RecordedCase& recorded);

// op_input_schema describes an input.
Schema op_input_schema();

}  // namespace simmesh
