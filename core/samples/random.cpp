#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

Attributes drawn(const SampleSizes& sizes) {
  Attributes attributes = {{"seed", std::int64_t(7)}, {"stream", std::int64_t(3)}};
  attributes.set("shape", Dims{sizes['a'], sizes['b']});
  attributes.set("dtype", DType::float64);
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
      {"native_dropout",
       "ab",
       {{"seed", std::int64_t(7)}, {"stream", std::int64_t(3)}, {"p", 0.5}}},
  });
}

}  // namespace simmesh
