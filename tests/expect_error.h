#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <optional>
#include <string>
#include <string_view>

#include "core/check/error.h"

namespace simmesh::testing {

// error_of returns the Error that a call raises, nullopt where it raises none.
template <class F>
std::optional<Error> error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// error_text returns the text of the Error that a call raises: "[mesh/layout] expected ..."; empty
// where it raises none. kind_and_message returns "ValueError: expected ...", without the place.
template <class F>
std::string error_text(F&& call) {
  std::optional<Error> error = error_of(call);
  return error ? error->what() : "";
}
template <class F>
std::string kind_and_message(F&& call) {
  std::optional<Error> error = error_of(call);
  return error ? fmt::format("{}: {}", to_string(error->kind()), error->message()) : "";
}

// expect_error expects an Error of the given kind, or an E if that is asked for, whose text
// contains the phrase.
template <class E = Error, class F>
void expect_error(F&& call, ErrorKind kind, std::string_view phrase = "") {
  try {
    call();
    ADD_FAILURE() << "expected a " << to_string(kind) << " with '" << phrase << "', got none";
  } catch (const E& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(std::string(phrase)));
  }
}

}  // namespace simmesh::testing
