#pragma once

#include <string>

#include "core/nn/module.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// CaseModule names one of the small modules that the cases of kind `module` parallelise, with its
// sizes:
//
//   linear(d, o, bias)            lin
//   mlp(d, h, o, bias)            net2(relu(net1(x)))
//   embed(v, e)                   emb
//   head(d, c)                    head, without bias
//   attention(d, head_size)       wq, wk, wv, wo: relu(q k^T) v
//   block(d, head_size, h)        x + attn(x), then that plus its mlp
//   norm_mlp(d, h, "layer"|"rms") x + mlp(norm(x))
struct CaseModule {
  std::string name;
  std::vector<std::int64_t> sizes;
  bool bias = true;
  std::string norm = {};
};

// case_module_fields are the fields `module` and `dims`.
schema::Fields case_module_fields();
CaseModule read_case_module(const RecordedCase& recorded);

// make returns the module with parameters of a dtype, not yet the case's.
nn::ModulePtr make(const CaseModule& module, DType dtype);

}  // namespace simmesh
