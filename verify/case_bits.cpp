#include "verify/case_bits.h"

#include <fmt/format.h>

#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"
#include "verify/case_tensor.h"

namespace simmesh {

Tensor known_rows(const Tensor& tensor) {
  return known_tensor(tensor.detach(), "elements of a case").contiguous();
}

std::vector<double> known_doubles(const Tensor& tensor) {
  Tensor wide = converted(known_rows(tensor), DType::float64);
  auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

std::string bits_text(gsl::span<const std::byte> bytes) {
  return fmt::format("{:016x}", fnv1a(fnv_basis, bytes));
}

std::string bits_text(const Tensor& tensor) {
  Tensor rows = known_rows(tensor);
  return bits_text(gsl::span<const std::byte>(rows.data(), rows.bytes()));
}

Schema bits_schema() {
  using namespace schema;
  return named("list of the ranks' bits", [] {
    return list(or_null(object({expected("shape", shape_schema()), expected("hash", hash()),
                                expected("dtype", dtype_schema()).or_absent()})),
                {.min = 1});
  });
}

std::vector<std::optional<CaseBits>> read_bits(const CaseField& field, std::int64_t world,
                                               DType dtype) {
  std::vector<CaseField> entries = field.items();
  if (std::int64_t(entries.size()) != world)
    field.reject(fmt::format("one entry for each of {} ranks", world));
  std::vector<std::optional<CaseBits>> bits;
  for (const CaseField& entry : entries) {
    bits.emplace_back();
    if (entry.is_null()) continue;
    auto own = entry.find("dtype");
    bits.back() = CaseBits{entry["shape"].shape(), own ? dtype_from_string(own->text()) : dtype,
                           entry["hash"].text()};
  }
  return bits;
}

void expect_bits(CaseReport& report, const std::string& who, const CaseBits& expected,
                 const Tensor& actual) {
  if (!report.expect_equal(who + ": dtype", to_string(expected.dtype), to_string(actual.dtype())))
    return;
  if (!report.expect_equal(who + ": shape", expected.shape, actual.shape())) return;
  report.expect_equal(who + ": bits", expected.hash, bits_text(actual));
}

}  // namespace simmesh
