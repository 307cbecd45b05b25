#pragma once

#include <gmock/gmock.h>
#include <string>
#include <string_view>

#include "core/check/error.h"

namespace simmesh::testing {

// expect_error expects an Error of the given kind whose text contains the phrase.
template <class F>
void expect_error(F&& call, ErrorKind kind, std::string_view phrase) {
  try {
    call();
    ADD_FAILURE() << "expected a " << to_string(kind) << " with '" << phrase << "', got none";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(std::string(phrase)));
  }
}

}  // namespace simmesh::testing
