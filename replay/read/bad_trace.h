#pragma once

#include <string>
#include <string_view>

#include "core/check/error.h"

namespace simmesh::replay {

// BadTrace says that a trace can't be read at all, and which rule it breaks.
class BadTrace : public Error {
 public:
  BadTrace(std::string rule, std::string_view where, std::string_view message)
      : Error(ErrorKind::value_error, where, message), rule_(std::move(rule)) {}

  const std::string& rule() const { return rule_; }

 private:
  std::string rule_;
};

}  // namespace simmesh::replay
