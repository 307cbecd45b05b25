#pragma once

#include <nanobind/nanobind.h>

namespace simmesh::python {

// The operators that programs call most, in one call each: operands are read, computed and written
// without Python in between. The functions that end in "_into" write a tensor that is there. Each
// returns false, and does nothing, for operands that aren't floating tensors of the CPU, or
// numbers.

// add_into writes one + factor * other; multiply_into one * other; divide_into the quotients by a
// number or by a tensor without dims.
bool add_into(nanobind::handle target, nanobind::handle one, nanobind::handle other, double factor);
bool multiply_into(nanobind::handle target, nanobind::handle one, nanobind::handle other);
bool divide_into(nanobind::handle target, nanobind::handle one, nanobind::handle by);

// product_into writes the product of matrices; add_product_into adds to it.
bool product_into(nanobind::handle target, nanobind::handle a, nanobind::handle b);
bool add_product_into(nanobind::handle target, nanobind::handle added, nanobind::handle a,
                      nanobind::handle b);

// sum_into writes sums, or means, over neighbouring dims.
bool sum_into(nanobind::handle target, nanobind::handle source, nanobind::handle dims,
              bool is_mean);

// These make a new tensor. They return None for operands that aren't contiguous and of one dtype
// and shape, or numbers; for matrices, of one dtype and of shapes that go together.
nanobind::object added(nanobind::handle one, nanobind::handle other, double factor);
nanobind::object multiplied(nanobind::handle one, nanobind::handle other);
nanobind::object divided(nanobind::handle one, nanobind::handle by);
nanobind::object multiplied_matrices(nanobind::handle a, nanobind::handle b);
nanobind::object added_to_product(nanobind::handle added, nanobind::handle a, nanobind::handle b);

// move_behind moves what stands behind a source to a target of one dtype and shape, which has its
// elements already. Where nothing stands behind the source, nothing is behind the target.
bool move_behind(nanobind::handle target, nanobind::handle source);

// round_if_parameter lets a parameter's storage carry nothing.
void round_if_parameter(nanobind::handle tensor);

}  // namespace simmesh::python
