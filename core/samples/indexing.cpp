#include "core/samples/families.h"

namespace simmesh {

namespace {

using namespace std::string_literals;

// Rows from a start to the last but one.
Attributes first_dim_from(std::int64_t start) {
  Attributes attributes = along(0);
  attributes.set("start", start);
  attributes.set("end", std::int64_t(3));
  attributes.set("step", std::int64_t(1));
  return attributes;
}

// Inputs of gather and scatter: x, index, source. "w" makes the places of a scatter distinct along
// dim 0, since nothing promises which of several values stays.
std::vector<OpSample> lookup_samples() {
  return {
      {"embedding", "ab i<a:c", {{"padding_idx", std::int64_t(-1)}}},
      {"embedding", "ab i<a:cd", {{"padding_idx", std::int64_t(0)}}},
      {"embedding_dense_backward",
       "ca i<b:c",
       {},
       [](const SampleSizes& sizes) -> Attributes {
         return {{"num_weights", sizes['b']}, {"padding_idx", std::int64_t(-1)}};
       }},
      {"gather", "ab i<a:cb", along(0)},
      {"gather", "ab i<b:ac", along(-1)},
      {"gather", "ab i<b:a1", along(1)},
      {"index_select", "ab i<a:c", along(0)},
      {"index_select", "ab i<b:c", along(-1)},
      {"one_hot", "i<3:ab", {{"num_classes", std::int64_t(3)}}},
      {"index", "ab i<a:c"},
      {"index", "ab - i<b:c"},
      {"index", "abc i<a:d i<b:d"},
      {"index", "ab i<a:cd"},
  };
}

std::vector<OpSample> scatter_samples() {
  return {
      {"scatter", "ab w<a:ab f:ab", along(0)},
      {"scatter", "ab w<a:ab", {{"dim", std::int64_t(0)}, {"value", 3.0}}},
      {"scatter", "ab w<a:ab", {{"dim", std::int64_t(-2)}, {"value", 3.0}}},
      {"scatter_add", "ab i<a:cb f:cb", along(0)},
      {"scatter_add", "ab i<b:ac f:ac", along(-1)},
      {"scatter_reduce", "ab i<a:cb f:cb", {{"dim", std::int64_t(0)}, {"reduce", "sum"s}}},
      {"scatter_reduce", "ab i<b:ac f:ac", {{"dim", std::int64_t(1)}, {"reduce", "amax"s}}},
      {"scatter_reduce",
       "ab i<b:ac f:ac",
       {{"dim", std::int64_t(-1)}, {"reduce", "amin"s}, {"include_self", false}}},
      {"scatter_reduce", "q:ab i<b:ac q:ac", {{"dim", std::int64_t(1)}, {"reduce", "prod"s}}},
      {"index_add", "ab i<a:c f:cb", {{"dim", std::int64_t(0)}, {"alpha", 2.0}}},
      {"index_add", "ab i<b:c f:ac", along(-1)},
      {"index_copy", "ab w<a:a f:ab", along(0)},
      {"index_copy", "ab w<b:b f:ab", along(-1)},
      {"index_fill", "ab i<a:c", {{"dim", std::int64_t(0)}, {"value", 6.0}}},
      {"index_fill", "ab i<b:c", {{"dim", std::int64_t(1)}, {"value", 6.0}}},
      {"index_put", "ab f:ab w<a:a", {{"accumulate", false}}},
      {"index_put", "ab f:cb i<a:c", {{"accumulate", true}}},
      {"index_put", "ab f:ac - i<b:c", {{"accumulate", true}}},
  };
}

std::vector<OpSample> rearranging_samples() {
  return {
      {"repeat", "ab", {{"repeats", Dims{1, 2}}}},
      {"repeat", "ab", {{"repeats", Dims{2, 1, 3}}}},
      {"constant_pad_nd", "ab", {{"pad", Dims{1, 2}}, {"value", 5.0}}},
      {"constant_pad_nd", "ab", {{"pad", Dims{0, 0, 2, 0}}}},
      {"repeat_interleave", "3b", {{"repeats", Dims{2, 0, 1}}, {"dim", std::int64_t(0)}}},
      {"repeat_interleave", "ab2", {{"repeats", Dims{1, 3}}, {"dim", std::int64_t(2)}}},
      {"roll", "ab", {{"shifts", Dims{1}}, {"dims", Dims{0}}}},
      {"roll", "ab", {{"shifts", Dims{2}}, {"dims", Dims{-1}}}},
      {"roll", "ab", {{"shifts", Dims{3}}, {"dims", Dims{}}}},
      {"rot90", "ab", {{"k", std::int64_t(1)}, {"dims", Dims{0, 1}}}},
      {"rot90", "abc", {{"k", std::int64_t(2)}, {"dims", Dims{0, 2}}}},
      {"upsample_nearest", "ab33", {{"size", Dims{5, 6}}, {"scale", 0.0}}},
      {"upsample_nearest_backward",
       "ab5",
       {},
       [](const SampleSizes& sizes) -> Attributes {
         return {
             {"input_sizes", Dims{sizes['a'], sizes['b'], 3}}, {"size", Dims{5}}, {"scale", 0.0}};
       }},
      {"select_scatter", "3b b", {{"dim", std::int64_t(0)}, {"index", std::int64_t(-1)}}},
      {"select_scatter", "ab3 ab", {{"dim", std::int64_t(2)}, {"index", std::int64_t(1)}}},
      {"slice_scatter", "4b 2b", first_dim_from(1)},
      {"slice_scatter", "4b 3b", first_dim_from(0)},
      {"flip", "ab", {{"dims", Dims{0}}}},
      {"flip", "ab", {{"dims", Dims{-1}}}},
      {"flip", "abc", {{"dims", Dims{0, 1}}}},
      {"tril", "ab", {{"diagonal", std::int64_t(0)}}},
      {"tril", "abc", {{"diagonal", std::int64_t(-1)}}},
      {"triu", "ab", {{"diagonal", std::int64_t(1)}}},
      {"triu", "abc", {{"diagonal", std::int64_t(0)}}},
  };
}

}  // namespace

gsl::span<const OpSample> indexing_samples() {
  static const std::vector<OpSample> samples = [] {
    std::vector<OpSample> list;
    for (const auto& part : {lookup_samples(), scatter_samples(), rearranging_samples()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return samples;
}

}  // namespace simmesh
