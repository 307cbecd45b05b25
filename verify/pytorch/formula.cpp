#include <algorithm>
#include <fmt/format.h>

#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

// The number of words and elements that a case lists; all where the tensor has fewer.
constexpr std::size_t elements_listed = 20;

Schema formula_case_schema() {
  using namespace schema;
  return object({required("tensor", tensor_schema()), expected("h", list(hash())),
                 expected("bits", list(text())), expected("hash", hash())});
}

// Returns the bits of one element, most significant digit first.
std::string element_text(const Tensor& tensor, std::size_t index) {
  std::size_t bytes = bytes_per_element(tensor.dtype());
  std::string text;
  for (std::size_t i = bytes; i-- > 0;)
    text += fmt::format("{:02x}", std::uint8_t(tensor.data()[index * bytes + i]));
  return text;
}

void verify_formula(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  CaseField field = recorded["tensor"];
  CaseTensor tensor = read_tensor(field);
  require_elements(field, tensor.shape, 1);
  std::vector<std::string> words = recorded["h"].texts();
  std::vector<std::string> bits = recorded["bits"].texts();
  Tensor whole = formula(tensor.shape, tensor.data);
  std::size_t listed = std::min(elements_listed, std::size_t(whole.numel()));
  report.expect_equal("h: number of entries", words.size(), listed);
  report.expect_equal("bits: number of entries", bits.size(), listed);
  for (std::size_t i = 0; i < words.size(); ++i)
    report.expect_equal(fmt::format("h of element {}", i), words[i],
                        fmt::format("{:016x}", formula_word(tensor.data.seed, i)));
  for (std::size_t i = 0; i < std::min(bits.size(), listed); ++i)
    report.expect_equal(fmt::format("bits of element {}", i), bits[i], element_text(whole, i));
  std::string hash = bits_text(whole);
  report.expect_equal("hash", recorded["hash"].text(), hash);
  report.fold_data(std::stoull(hash, nullptr, 16));
}

const CaseKind formula_kind(
    {.name = "formula",
     .summary = "random words, the bits of the first elements, the hash of a tensor by formula",
     .schema = formula_case_schema,
     .verifier = verify_formula});

}  // namespace

}  // namespace simmesh
