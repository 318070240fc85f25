// EXPECT_THROWS_WITH(statement, ErrorType, "exact text"): the statement throws that type with exactly that
// text.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace gaze::test {

template <typename Error, typename F>
void expect_throws_with(F&& statement, const std::string& text) {
  try {
    statement();
    ADD_FAILURE() << "nothing was thrown; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), text);
  }
}

}  // namespace gaze::test

#define EXPECT_THROWS_WITH(statement, ErrorType, text) \
  ::gaze::test::expect_throws_with<ErrorType>([&] { statement; }, text)
