#include "verify/case_number.h"

#include <limits>

namespace simmesh {

double read_number(const CaseField& field) {
  if (!field.is_text()) return field.number();
  std::string text = field.text();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text != "nan") field.reject("a number, inf, -inf or nan");
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace simmesh
