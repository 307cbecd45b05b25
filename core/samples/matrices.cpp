#include "core/ops/attribute_names.h"
#include "core/samples/sample_list.h"

namespace simmesh {

void matrices_samples(SampleList& list) {
  list.add({
      {"mm", "ab bc"},
      {"mm", "n:ab n:bc"},
      {"bmm", "abc acd"},
      {"mv", "ab b"},
      {"dot", "a a"},
      {"addmm", "ac ab bc", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"addmm", "c ab bc", {attribute::beta = 2.0, attribute::alpha = -0.5}},
      {"addmm", "1c ab bc", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"addmm", "a1 ab bc", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"addmv", "a ab b", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"addmv", "a ab b", {attribute::beta = 2.0, attribute::alpha = -0.5}},
      {"addmv", "1 ab b", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"addmv", ". ab b", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"baddbmm", "abd abc acd", {attribute::beta = 1.0, attribute::alpha = 2.0}},
      {"baddbmm", "1bd abc acd", {attribute::beta = 1.0, attribute::alpha = 1.0}},
      {"linear", "ab cb"},
      {"linear", "ab cb c"},
      {"linear", "dab cb c"},
      {"linear", "b cb c"},
      {"linalg_cross", "a3b a3b", along(1)},
      {"linalg_cross", "3b 3b", along(0)},
      {"linalg_cholesky", "y:a33"},
      {"linalg_inv", "y:a33"},
      {"linalg_det", "y:a33"},
      {"linalg_slogdet", "y:a33"},
      {"linalg_solve", "t:a33 f:a3b"},
      {"linalg_qr", "y:a33"},
      {"linalg_eigh", "y:a33"},
      {"linalg_svd", "y:a33"},
  });
}

}  // namespace simmesh
