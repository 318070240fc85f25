#include "modules/core/base64.h"

#include <gtest/gtest.h>

namespace gaze {
namespace {

// RFC 4648, section 10.
TEST(Base64, gives_the_rfc_s_examples) {
  const char* const examples[][2] = {{"", ""},
                                     {"f", "Zg=="},
                                     {"fo", "Zm8="},
                                     {"foo", "Zm9v"},
                                     {"foob", "Zm9vYg=="},
                                     {"fooba", "Zm9vYmE="},
                                     {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(to_base64("\xFB\xFF\xBE"), "+/++");
}

TEST(Base64, keeps_every_byte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (size_t length = 253; length <= bytes.size(); ++length)
    EXPECT_EQ(from_base64(to_base64(bytes.substr(0, length))), bytes.substr(0, length));
}

TEST(Base64, refuses_what_it_does_not_write) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zm 9", "Zm-_", "=m9v", "Zg==Zg=="})
    EXPECT_FALSE(from_base64(text).has_value()) << text;
}

}  // namespace
}  // namespace gaze
