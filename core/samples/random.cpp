#include "core/ops/random/random.h"

#include "core/ops/attribute_names.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

Attributes drawn(const SampleSizes& sizes) {
  Attributes attributes = {attribute::seed = 7, attribute::stream = 3};
  attributes.set(attribute::shape = Dims{sizes['a'], sizes['b']});
  attributes.set(attribute::dtype = DType::float64);
  return attributes;
}

}  // namespace

void random_samples(SampleList& list) {
  list.add({
      {"rand", "", {}, drawn},
      {"randn", "", {}, drawn},
      {"rand_like", "ab", {}, drawn},
      {"randn_like", "n:ab", {}, drawn},
      {"bernoulli", "r:ab", {}, drawn},
      {"native_dropout", "ab", {attribute::seed = 7, attribute::stream = 3, attribute::p = 0.5}},
  });
}

}  // namespace simmesh
