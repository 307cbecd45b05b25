#include "core/ops/attribute_names.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/unfolding.h"
#include "core/ops/shapes/views.h"
#include "core/ops/view_arguments.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

using Sizes = const SampleSizes&;

Attributes part(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  Attributes attributes = {attribute::dim = dim, attribute::start = start, attribute::end = end};
  attributes.set(attribute::step = step);
  return attributes;
}
Attributes diagonal(std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return {attribute::offset = offset, attribute::dim1 = dim1, attribute::dim2 = dim2};
}
Attributes sized(Attributes attributes, const Attribute<Dims>& which, const Dims& sizes) {
  attributes.set(which = sizes);
  return attributes;
}

std::vector<OpSample> joining_samples() {
  return {
      {"cat", "ab cb", along(0)},   {"cat", "ab ac ad", along(-1)},   {"cat", "ab ab", along(1)},
      {"stack", "ab ab", along(0)}, {"stack", "ab ab ab", along(-1)}, {"clone", "ab"},
  };
}

// Tensors of one value: of the shape of their input, or of a given size.
std::vector<OpSample> factory_samples() {
  std::vector<OpSample> list;
  for (std::string_view op : {"empty_like", "zeros_like", "ones_like"}) {
    list.push_back({op, "ab"});
    list.push_back({op, "ab", {attribute::dtype = DType::int64}});
  }
  list.push_back({"full_like", "ab", {attribute::fill_value = 3.0}});
  for (std::string_view op : {"new_empty", "new_zeros", "new_ones", "new_full"}) {
    Attributes value = op == "new_full" ? Attributes{attribute::fill_value = 3.0} : Attributes();
    list.push_back({op, "ab", {}, [value](Sizes s) {
                      return sized(value, attribute::size, {s['a'], s['b']});
                    }});
    list.push_back({op, "ab", {}, [value](Sizes s) {
                      return sized(value, attribute::size, {s['b'], 3});
                    }});
  }
  return list;
}

std::vector<OpSample> view_samples() {
  return {
      {"reshape",
       "abc",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'] * s['b'], s['c']});
       }},
      {"view",
       "abc",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'] * s['b'], s['c']});
       }},
      {"view",
       "abc",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'], s['b'] * s['c']});
       }},
      {"view",
       "abc",
       {},
       [](Sizes s) { return sized({}, attribute::size, {s['a'] * s['b'] * s['c']}); }},
      {"view",
       "(ab)c",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'], s['b'], s['c']});
       }},
      {"view",
       "a(bc)",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'], s['b'], s['c']});
       }},
      {"view",
       "ab",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'], 1, s['b']});
       }},
      {"view",
       "a(bc)d",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'] * s['b'], s['c'], s['d']});
       }},
      {"expand",
       "1b",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {3, s['b']});
       }},
      {"expand",
       "a1",
       {},
       [](Sizes s) {
         return sized({}, attribute::size, {s['a'], s['b']});
       }},
      {"expand",
       "ab",
       {},
       [](Sizes) {
         return sized({}, attribute::size, {2, -1, -1});
       }},
  };
}

std::vector<OpSample> reordering_samples() {
  return {
      {"permute", "abc", {attribute::dims = Dims{2, 0, 1}}},
      {"permute", "abc", {attribute::dims = Dims{-1, 1, -3}}},
      {"t", "ab"},
      {"t", "a"},
      {"alias", "ab"},
      {"positive", "ab"},
      {"view_as_complex", "ab2"},
      {"view_as_real", "ab2"},
      {"view_dtype", "ab", {attribute::dtype = DType::int64}},
      {"view_dtype", "ab", {attribute::dtype = DType::float32}},
      {"transpose", "abc", {attribute::dim0 = 0, attribute::dim1 = -1}},
      {"unsqueeze", "ab", along(0)},
      {"unsqueeze", "ab", along(-1)},
      {"squeeze", "a1b", {attribute::squeezed_dims = Dims{1}}},
      {"squeeze", "a1b1", {attribute::squeezed_dims = Dims{-3, -1}}},
      {"unfold", "ab", {attribute::dim = 0, attribute::window_size = 1, attribute::step = 1}},
      {"unfold", "a4", {attribute::dim = -1, attribute::window_size = 2, attribute::step = 2}},
  };
}

std::vector<OpSample> part_samples() {
  Attributes half = along(-1), second = along(0);
  half.set(attribute::split_sizes = Dims{1, 3});
  second.set(attribute::index = 1);
  return {
      {"slice", "4b", part(0, 1, 3)},
      {"slice", "ab", {}, [](Sizes s) { return part(-1, 0, s['b']); }},
      {"slice", "a4", part(1, 0, 4, 2)},
      {"select", "3b", second},
      {"select", "a3", {attribute::dim = -1, attribute::index = -1}},
      {"diagonal", "ab", diagonal(0, 0, 1)},
      {"diagonal", "a4b", diagonal(1, 1, -1)},
      {"split_with_sizes", "a4", half},
      {"unbind", "2b", along(0)},
      {"unbind", "a3", along(-1)},
      {"slice_backward",
       "2b",
       {},
       [](Sizes s) {
         return sized(part(0, 1, 3), attribute::input_sizes, {4, s['b']});
       }},
      {"slice_backward",
       "ab",
       {},
       [](Sizes s) {
         return sized(part(-1, 0, s['b']), attribute::input_sizes, {s['a'], s['b']});
       }},
      {"select_backward",
       "b",
       {},
       [second](Sizes s) {
         return sized(second, attribute::input_sizes, {3, s['b']});
       }},
      {"diagonal_backward",
       "b3",
       {},
       [](Sizes s) {
         return sized(diagonal(0, 0, 2), attribute::input_sizes, {3, s['b'], 3});
       }},
  };
}

}  // namespace

void shapes_samples(SampleList& list) {
  list.add(joining_samples());
  list.add(factory_samples());
  list.add(view_samples());
  list.add(reordering_samples());
  list.add(part_samples());
}

}  // namespace simmesh
