#include "core/ops/attribute_names.h"
#include "core/ops/reductions/membership.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/reductions/statistics.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

Attributes over(const Dims& dims, bool keepdim = false) {
  return {attribute::dims = dims, attribute::keepdim = keepdim};
}
Attributes with(Attributes attributes, NamedAttribute one) {
  attributes.set(std::move(one));
  return attributes;
}

// Adds samples over all dims, over one of them kept and not, counted from the front and from the
// end, and over two.
void add_reductions(std::vector<OpSample>& samples, std::string_view op,
                    std::string_view elements) {
  static const std::string_view shapes[][2] = {{"f:ab", "f:abc"}, {"m:ab", "m:abc"},
                                               {"d:ab", "D:abc"}, {"q:ab", "q:abc"},
                                               {"n:ab", "n:abc"}, {"b:ab", "b:abc"}};
  for (const auto& shape : shapes) {
    if (shape[0][0] != elements[0]) continue;
    samples.push_back({op, shape[0], over({})});
    samples.push_back({op, shape[0], over({0})});
    samples.push_back({op, shape[0], over({-1}, true)});
    samples.push_back({op, shape[1], over({1})});
    samples.push_back({op, shape[1], over({0, 2})});
    samples.push_back({op, shape[1], over({-2, -1}, true)});
  }
}

std::vector<OpSample> plain_reduction_samples() {
  std::vector<OpSample> samples;
  for (std::string_view op : {"sum", "amax", "amin", "max", "min", "count_nonzero", "any", "all"})
    add_reductions(samples, op, "f");
  add_reductions(samples, "nansum", "m");
  for (std::string_view op : {"sum", "prod", "amax"}) add_reductions(samples, op, "n");
  for (std::string_view op : {"sum", "any", "all"}) add_reductions(samples, op, "b");
  add_reductions(samples, "mean", "d");
  add_reductions(samples, "prod", "q");
  for (std::string_view op : {"argmax", "argmin"}) {
    samples.push_back({op, "ab", over({})});
    samples.push_back({op, "ab", over({0}, true)});
    samples.push_back({op, "ab", over({-1})});
  }
  samples.push_back({"aminmax", "ab", over({})});
  for (std::string_view op : {"max.dim", "min.dim", "aminmax"}) {
    samples.push_back({op, "ab", over({0})});
    samples.push_back({op, "ab", over({-1}, true)});
  }
  return samples;
}

std::vector<OpSample> statistics_samples() {
  std::vector<OpSample> list;
  for (std::string_view op : {"var", "std", "var_mean"}) {
    list.push_back({op, "ab", with(over({}), attribute::correction = 1.0)});
    list.push_back({op, "ab", with(over({0}, true), attribute::correction = 0.0)});
    list.push_back({op, "ab", with(over({-1}), attribute::correction = 1.0)});
  }
  list.push_back({"logsumexp", "ab", over({0})});
  list.push_back({"logsumexp", "ab", over({-1}, true)});
  list.push_back({"logsumexp", "abc", over({-1, 0}, true)});
  for (double order : {0.0, 1.0, 2.0, HUGE_VAL, -HUGE_VAL}) {
    list.push_back({"linalg_vector_norm", "ab", with(over({}), attribute::ord = order)});
    list.push_back({"linalg_vector_norm", "ab", with(over({0}, true), attribute::ord = order)});
    list.push_back({"linalg_vector_norm", "ab", with(over({-1}), attribute::ord = order)});
    list.push_back({"dist", "ab ab", {attribute::ord = order}});
  }
  list.push_back({"dist", "ab b", {attribute::ord = 2.0}});
  list.push_back({"median", "ab"});
  list.push_back({"nanmedian", "ab"});
  for (std::string_view op : {"median_dim", "nanmedian_dim", "mode"}) {
    list.push_back({op, "ab", with(along(0), attribute::keepdim = true)});
    list.push_back({op, "abc", with(along(1), attribute::keepdim = false)});
  }
  return list;
}

std::vector<OpSample> order_samples() {
  std::vector<OpSample> list;
  for (std::string_view op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
    for (std::int64_t dim : {0, -1})
      list.push_back({op, op == "cumprod" ? "q:ab" : "ab", along(dim)});
  for (std::string_view op : {"_logcumsumexp_backward", "_logcumsumexp_forward"})
    list.push_back({op, "ab ab p:ab", along(0)});
  list.push_back({"sort", "ab", with(along(0), attribute::descending = false)});
  list.push_back({"sort", "ab", with(along(-1), attribute::descending = true)});
  list.push_back({"topk", "3b", with(with(along(0), attribute::k = 2), attribute::largest = true)});
  list.push_back(
      {"topk", "a3", with(with(along(-1), attribute::k = 2), attribute::largest = false)});
  list.push_back(
      {"searchsorted", "s:a f:bc", {attribute::right = false, attribute::out_int32 = false}});
  list.push_back(
      {"searchsorted", "s:ab f:ac", {attribute::right = true, attribute::out_int32 = true}});
  list.push_back(
      {"bucketize", "f:bc s:a", {attribute::right = false, attribute::out_int32 = false}});
  list.push_back({"bucketize", "f:ab s:c", {attribute::right = true, attribute::out_int32 = true}});
  list.push_back({"isin", "ab c", {attribute::invert = false}});
  list.push_back({"isin", "ab c", {attribute::invert = true}});
  list.push_back(
      {"histc", "ab", {attribute::bins = 4, attribute::min = -4.0, attribute::max = 4.0}});
  list.push_back({"histc", "a", {attribute::bins = 3, attribute::min = 0.0, attribute::max = 0.0}});
  return list;
}

}  // namespace

void reductions_samples(SampleList& list) {
  list.add(plain_reduction_samples());
  list.add(statistics_samples());
  list.add(order_samples());
}

}  // namespace simmesh
