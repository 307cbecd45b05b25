#include <array>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "core/arithmetic/companions/exact_values.h"
#include "core/arithmetic/functions.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "core/check/error.h"
#include "python/bindings/bindings.h"
#include "python/bindings/torch/exact_products.h"
#include "python/bindings/torch/torch_array.h"
#include "python/bindings/torch/values_state.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

constexpr const char* exact_place = "python/exact";

// Returns a value as an integer over another.
std::pair<nb::object, nb::object> ratio_of(const ExactValues& values, std::int64_t i) {
  if (i < 0 || i >= values.count())
    raise(ErrorKind::index_error, exact_place, "expected an index below {}, got {}", values.count(),
          i);
  if (values.is_root())
    raise(ErrorKind::value_error, exact_place, "expected no root, got one: take square() first");
  const std::int64_t place[] = {i};
  CarriedSums sum = values.content().digits_at(place);
  if (!sum.non_finite().empty() && sum.non_finite()[0] != 0)
    raise(ErrorKind::value_error, exact_place, "expected a finite value, got {}",
          sum.rounded(0, DType::float64));
  nb::object numerator = nb::int_(0), denominator = nb::int_(values.divisor());
  for (int d = sum.digit_count() - 1; d >= 0; --d)
    numerator = (numerator << nb::int_(32)) + nb::int_(sum.digit(d)[0]);
  nb::int_ bits(32 * std::abs(sum.low()));
  (sum.low() < 0 ? denominator : numerator) = (sum.low() < 0 ? denominator : numerator) << bits;
  return {numerator, denominator};
}

Function function_named(const std::string& name) {
  for (Function function : all_functions)
    if (to_string(function) == name) return function;
  raise(ErrorKind::value_error, exact_place, "apply: expected a function, or power, got '{}'",
        name);
}

// Writes base ^ exponent; a number is one exponent for all.
void apply_power(const ElementArray& base, nb::handle exponent, std::byte* out) {
  PowerRequest request{.dtype = base.dtype, .result = out, .count = base.count()};
  RowMajorElements bases(base);
  request.base = bases.data();
  if (exponent.is_none())
    raise(ErrorKind::value_error, exact_place, "apply: expected an exponent of power, got none");
  if (!PyNumber_Check(exponent.ptr()) || nb::hasattr(exponent, "data_ptr")) {
    ElementArray exponents = element_array(exponent);
    if (exponents.dtype != base.dtype || exponents.count() != base.count())
      raise(ErrorKind::value_error, exact_place, "apply: expected {} exponents of {}, got {} of {}",
            base.count(), to_string(base.dtype), exponents.count(), to_string(exponents.dtype));
    RowMajorElements values(exponents);
    request.exponent = values.data();
    return power(request);
  }
  // The exponent is a double, so that 0.1 is no float's.
  auto number = nb::cast<double>(exponent);
  std::vector<double> numbers = doubles_of(base), results(numbers.size());
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = power(numbers[i], number);
  std::vector<std::byte> rounded = ExactValues::of_doubles(std::move(results)).round(base.dtype);
  std::copy(rounded.begin(), rounded.end(), out);
}

void apply(const std::string& name, nb::handle source, nb::handle target, nb::handle exponent) {
  ElementArray from = element_array(source), to = element_array(target);
  if (from.dtype != to.dtype || from.shape != to.shape)
    raise(ErrorKind::value_error, exact_place, "apply: expected a target of {}{}, got {}{}",
          to_string(from.dtype), to_string(DimSpan(from.shape)), to_string(to.dtype),
          to_string(DimSpan(to.shape)));
  std::vector<std::byte> results(std::size_t(from.count() * from.element_bytes()));
  if (name == "power") {
    apply_power(from, exponent, results.data());
  } else {
    RowMajorElements operands(from);
    apply_function({.function = function_named(name),
                    .dtype = from.dtype,
                    .operand = operands.data(),
                    .result = results.data(),
                    .count = from.count()});
  }
  write_row_major(to, results.data());
}

SumTerm term_named(const std::string& name) {
  if (name == "identity") return SumTerm::identity;
  if (name == "square") return SumTerm::square;
  if (name == "absolute") return SumTerm::absolute;
  if (name == "squared_deviation") return SumTerm::squared_deviation;
  raise(ErrorKind::value_error, exact_place,
        "sum_rows: expected identity, square, absolute or squared_deviation, got '{}'", name);
}

struct RowSums {
  std::array<std::int64_t, 3> dims;
  std::string term;
  std::optional<nb::object> means;
};

void sum_rows(nb::handle source, const RowSums& sums, nb::handle target) {
  ElementArray from = element_array(source), to = element_array(target);
  auto [outer, count, inner] = sums.dims;
  if (outer < 0 || count < 0 || inner < 0 || outer * count * inner != from.count() ||
      outer * inner != to.count())
    raise(ErrorKind::value_error, exact_place,
          "sum_rows: expected dims of {} elements with {} sums, got {} x {} x {}", from.count(),
          to.count(), outer, count, inner);
  RowMajorElements terms(from);
  std::vector<std::byte> results(std::size_t(to.count() * to.element_bytes()));
  std::vector<double> means;
  if (sums.means) means = doubles_of(element_array(*sums.means));
  SumTerm term = term_named(sums.term);
  if (std::int64_t(means.size()) != (term == SumTerm::squared_deviation ? to.count() : 0))
    raise(ErrorKind::value_error, exact_place,
          "sum_rows: expected a mean for each squared_deviation, and none else, got {}",
          means.size());
  exact_sum({.data = terms.data(),
             .dtype = from.dtype,
             .outer = outer,
             .count = count,
             .inner = inner,
             .term = term,
             .means = means,
             .result = results.data(),
             .result_dtype = to.dtype});
  write_row_major(to, results.data());
}

void bind_values(nb::module_& module) {
  using Values = ExactValues;
  nb::class_<Values>(
      module, "Values",
      "Real numbers, each of which is exact: the values behind the elements of a tensor, in\n"
      "row-major order. Immutable. A complex element has two. Zeros that an operation gives are "
      "+0.")
      .def_static(
          "of", [](nb::handle tensor) { return Values::of(element_array(tensor)); },
          nb::arg("tensor"), "The elements themselves.")
      .def_static("zeros", &Values::zeros, nb::arg("count"))
      .def_prop_ro("count", &Values::count)
      .def_prop_ro("is_root", &Values::is_root,
                   "Says whether these are square roots of what is kept.")
      .def_prop_ro("divisor", &Values::divisor)
      .def_prop_ro("nbytes", &Values::nbytes)
      .def("plus", &Values::plus, nb::arg("other"), nb::arg("factor") = 1.0,
           "self + factor * other; a count of 1 is repeated.")
      .def("times", &Values::times, nb::arg("other"), "Value by value; a count of 1 is repeated.")
      .def("scaled", &Values::scaled, nb::arg("factor"),
           "Times a double, exactly; 1.0 / N for an integer N is the rational 1/N.")
      .def("divided", &Values::divided, nb::arg("divisor"), "Exact: the divisor is kept.")
      .def(
          "summed",
          [](const Values& self, std::int64_t outer, std::int64_t count, std::int64_t inner) {
            return self.summed({outer, count, inner});
          },
          nb::arg("outer"), nb::arg("count"), nb::arg("inner"),
          "The sums over the middle dim of [outer, count, inner].")
      .def(
          "summed_at",
          [](const Values& self, nb::handle index, std::int64_t count) {
            return self.summed_at(index_list(index), count);
          },
          nb::arg("index"), nb::arg("count"),
          "Adds value i to sum index[i] of count sums; an index of -1 drops it.")
      .def(
          "taken",
          [](const Values& self, nb::handle index) { return self.taken(index_list(index)); },
          nb::arg("index"), "The values at the indices; -1 gives 0.")
      .def(
          "joined",
          [](const Values& self, const nb::args& others) {
            std::vector<Values> parts{self};
            for (nb::handle other : others) parts.push_back(nb::cast<Values>(other));
            return Values::joined(parts);
          },
          nb::arg("others"), "These values and others, one after the other.",
          nb::sig("def joined(self, *others: Values) -> Values"))
      .def("root", &Values::root, "The square roots, as roots of what is kept.")
      .def("square", &Values::square, "What is under roots; else the squares.")
      .def(
          "round_into",
          [](const Values& self, nb::handle tensor) { self.round_into(element_array(tensor)); },
          nb::arg("tensor"), "Writes the elements, each rounded once.")
      .def(
          "equals",
          [](const Values& self, nb::handle tensor) { return self.equals(element_array(tensor)); },
          nb::arg("tensor"), "Says whether a tensor has the bits that round_into would write.")
      .def("ratio", &ratio_of, nb::arg("index"),
           "One finite value as a numerator over a denominator.",
           nb::sig("def ratio(self, index: int) -> tuple[int, int]"))
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](Values& self, const ValuesState& state) { new (&self) Values(values_of(state)); });
}

}  // namespace

void bind_exact(nb::module_& module) {
  bind_values(module);
  module.def("product", &matrix_product, nb::arg("a"), nb::arg("b"),
             "The unrounded elements of [(batch,) m, k] times [(batch,) k, n].");
  module.def(
      "apply", &apply, nb::arg("name"), nb::arg("source"), nb::arg("target"),
      nb::arg("exponent").none() = nb::none(),
      "Writes a function of each element of source into target: one of fixed bits, as\n"
      "core/arithmetic/functions.h names them, or power with an exponent.",
      nb::sig("def apply(name: str, source: object, target: object, exponent: object | float "
              "| None = None) -> None"));
  module.def(
      "sum_rows",
      [](nb::handle source, std::int64_t outer, std::int64_t count, std::int64_t inner,
         nb::handle target, const std::string& term, std::optional<nb::object> means) {
        sum_rows(source, {{outer, count, inner}, term, std::move(means)}, target);
      },
      nb::arg("source"), nb::arg("outer"), nb::arg("count"), nb::arg("inner"), nb::arg("target"),
      nb::arg("term") = "identity", nb::arg("means").none() = nb::none(),
      "Writes exact sums over the middle dim of [outer, count, inner], each rounded once: of the\n"
      "elements, or the absolute, square or squared_deviation (from the means) of each.");
}

}  // namespace simmesh::python
