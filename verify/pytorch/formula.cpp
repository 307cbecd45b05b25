#include "verify/pytorch/formula.h"

#include <fmt/format.h>

#include "verify/case_bits.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

// The bits of one element, most significant digit first.
std::string element_text(const Tensor& tensor, std::size_t index) {
  std::size_t bytes = bytes_per_element(tensor.dtype());
  std::string text;
  for (std::size_t i = bytes; i-- > 0;)
    text += fmt::format("{:02x}", std::uint8_t(tensor.data()[index * bytes + i]));
  return text;
}

}  // namespace

void verify_formula(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  CaseField field = recorded["tensor"];
  if (!report.expect_known_fields(field, tensor_fields)) return;
  CaseTensor tensor = read_tensor(field);
  require_elements(field, tensor.shape, 1);
  std::vector<std::string> words = recorded["h"].texts();
  std::vector<std::string> bits = recorded["bits"].texts();
  Tensor whole = formula(tensor.shape, tensor.data);
  for (std::size_t i = 0; i < words.size(); ++i)
    report.expect_equal(fmt::format("h of element {}", i), words[i],
                        fmt::format("{:016x}", formula_word(tensor.data.seed, i)));
  if (std::int64_t(bits.size()) > whole.element_count())
    recorded["bits"].reject("no more entries than the tensor has elements");
  for (std::size_t i = 0; i < bits.size(); ++i)
    report.expect_equal(fmt::format("bits of element {}", i), bits[i], element_text(whole, i));
  std::string hash = bits_text(whole);
  report.expect_equal("hash", recorded["hash"].text(), hash);
  report.fold_data(std::stoull(hash, nullptr, 16));
}

}  // namespace simmesh
