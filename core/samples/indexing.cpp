#include "core/ops/indexing/indexing.h"

#include "core/ops/attribute_names.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/view_arguments.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

using namespace std::string_literals;

// Rows from a start to the last but one.
Attributes first_dim_from(std::int64_t start) {
  Attributes attributes = along(0);
  attributes.set(attribute::start = start);
  attributes.set(attribute::end = 3);
  attributes.set(attribute::step = 1);
  return attributes;
}

// Inputs of gather and scatter: x, index, source. "w" makes the places of a scatter distinct along
// dim 0, since nothing promises which of several values stays.
std::vector<OpSample> lookup_samples() {
  return {
      {"embedding", "ab i<a:c", {attribute::padding_idx = -1}},
      {"embedding", "ab i<a:cd", {attribute::padding_idx = 0}},
      {"embedding_dense_backward",
       "ca i<b:c",
       {},
       [](const SampleSizes& sizes) -> Attributes {
         return {attribute::num_weights = sizes['b'], attribute::padding_idx = -1};
       }},
      {"gather", "ab i<a:cb", along(0)},
      {"gather", "ab i<b:ac", along(-1)},
      {"gather", "ab i<b:a1", along(1)},
      {"index_select", "ab i<a:c", along(0)},
      {"index_select", "ab i<b:c", along(-1)},
      {"take", "a i<a:bc"},
      {"take", "ab i<a:c"},
      {"one_hot", "i<3:ab", {attribute::num_classes = 3}},
      {"index", "ab i<a:c"},
      {"index", "ab - i<b:c"},
      {"index", "abc i<a:d i<b:d"},
      {"index", "ab i<a:cd"},
      {"nonzero_static", "ab", {attribute::rows = 3}},
      {"nonzero_static", "ab", {attribute::rows = 9, attribute::filler = -7}},
  };
}

std::vector<OpSample> scatter_samples() {
  return {
      {"scatter", "ab w<a:ab f:ab", along(0)},
      {"scatter", "ab w<a:ab", {attribute::dim = 0, attribute::value = 3.0}},
      {"scatter", "ab w<a:ab", {attribute::dim = -2, attribute::value = 3.0}},
      {"scatter_add", "ab i<a:cb f:cb", along(0)},
      {"scatter_add", "ab i<b:ac f:ac", along(-1)},
      {"scatter_reduce", "ab i<a:cb f:cb", {attribute::dim = 0, attribute::reduce = "sum"}},
      {"scatter_reduce", "ab i<b:ac f:ac", {attribute::dim = 1, attribute::reduce = "amax"}},
      {"scatter_reduce",
       "ab i<b:ac f:ac",
       {attribute::dim = -1, attribute::reduce = "amin", attribute::include_self = false}},
      {"scatter_reduce", "q:ab i<b:ac q:ac", {attribute::dim = 1, attribute::reduce = "prod"}},
      {"index_add", "ab i<a:c f:cb", {attribute::dim = 0, attribute::alpha = 2.0}},
      {"index_add", "ab i<b:c f:ac", along(-1)},
      {"index_copy", "ab w<a:a f:ab", along(0)},
      {"index_copy", "ab w<b:b f:ab", along(-1)},
      {"index_fill", "ab i<a:c", {attribute::dim = 0, attribute::value = 6.0}},
      {"index_fill", "ab i<b:c", {attribute::dim = 1, attribute::value = 6.0}},
      {"index_put", "ab f:ab w<a:a", {attribute::accumulate = false}},
      {"index_put", "ab f:cb i<a:c", {attribute::accumulate = true}},
      {"index_put", "ab f:ac - i<b:c", {attribute::accumulate = true}},
  };
}

std::vector<OpSample> rearranging_samples() {
  return {
      {"repeat", "ab", {attribute::repeats = Dims{1, 2}}},
      {"repeat", "ab", {attribute::repeats = Dims{2, 1, 3}}},
      {"constant_pad_nd", "ab", {attribute::pad = Dims{1, 2}, attribute::value = 5.0}},
      {"constant_pad_nd", "ab", {attribute::pad = Dims{0, 0, 2, 0}}},
      {"repeat_interleave", "3b", {attribute::repeats = Dims{2, 0, 1}, attribute::dim = 0}},
      {"repeat_interleave", "ab2", {attribute::repeats = Dims{1, 3}, attribute::dim = 2}},
      {"roll", "ab", {attribute::shifts = Dims{1}, attribute::dims = Dims{0}}},
      {"roll", "ab", {attribute::shifts = Dims{2}, attribute::dims = Dims{-1}}},
      {"roll", "ab", {attribute::shifts = Dims{3}, attribute::dims = Dims{}}},
      {"rot90", "ab", {attribute::k = 1, attribute::dims = Dims{0, 1}}},
      {"rot90", "abc", {attribute::k = 2, attribute::dims = Dims{0, 2}}},
      {"upsample_nearest", "ab33", {attribute::size = Dims{5, 6}, attribute::scale = 0.0}},
      {"upsample_nearest_backward",
       "ab5",
       {},
       [](const SampleSizes& sizes) -> Attributes {
         return {attribute::input_sizes = Dims{sizes['a'], sizes['b'], 3},
                 attribute::size = Dims{5}, attribute::scale = 0.0};
       }},
      {"select_scatter", "3b b", {attribute::dim = 0, attribute::index = -1}},
      {"select_scatter", "ab3 ab", {attribute::dim = 2, attribute::index = 1}},
      {"slice_scatter", "4b 2b", first_dim_from(1)},
      {"slice_scatter", "4b 3b", first_dim_from(0)},
      {"flip", "ab", {attribute::dims = Dims{0}}},
      {"flip", "ab", {attribute::dims = Dims{-1}}},
      {"flip", "abc", {attribute::dims = Dims{0, 1}}},
      {"tril", "ab", {attribute::diagonal = 0}},
      {"tril", "abc", {attribute::diagonal = -1}},
      {"triu", "ab", {attribute::diagonal = 1}},
      {"triu", "abc", {attribute::diagonal = 0}},
  };
}

}  // namespace

void indexing_samples(SampleList& list) {
  list.add(lookup_samples());
  list.add(scatter_samples());
  list.add(rearranging_samples());
}

}  // namespace simmesh
