// Files that are no pictures, or broken ones: each is one clear sentence.
#include <gtest/gtest.h>
#include <unistd.h>

#include "models/image/image.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

class BadPicture : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& bytes) const {
    test::write_bytes(folder_.path() / name, bytes);
    return folder_.path() / name;
  }
  std::filesystem::path golden_part(const std::string& name, double share) const {
    const std::string bytes = test::read_bytes(test::golden_image(name));
    return file(name, bytes.substr(0, static_cast<size_t>(static_cast<double>(bytes.size()) * share)));
  }
  void expect_error(const std::filesystem::path& path, const std::string& problem,
                    const ImageOptions& options = {}) const {
    EXPECT_THROWS_WITH(load_image(path, options), FileError, path.string() + ": " + problem);
  }

  test::TemporaryFolder folder_;
};

std::string big(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

TEST_F(BadPicture, missing) {
  expect_error(folder_.path() / "a.jpg", "does not exist; check the path");
}

TEST_F(BadPicture, folder) {
  expect_error(folder_.path(), "is a folder, not a picture; name a picture in it");
}

TEST_F(BadPicture, empty) {
  expect_error(file("a.jpg", ""), "is empty; copy or download it again");
}

TEST_F(BadPicture, text) {
  expect_error(file("a.jpg", "hello, I am a picture\n"),
               "is not a picture but text, whatever its name says; give a JPEG, PNG, BMP, TIFF or WebP");
}

TEST_F(BadPicture, other_files) {
  expect_error(test::golden_image("a.gif"), "is a GIF, which gaze does not read; convert it to PNG");
  expect_error(file("a.png", std::string("\0\1\2\3\4\5\6\7", 8)),
               "is not a picture gaze knows; give a JPEG, PNG, BMP, TIFF or WebP");
  expect_error(file("a.jpg", "x"),
               "is not a picture but text, whatever its name says; give a JPEG, PNG, BMP, TIFF or WebP");
  expect_error(file("a.heic", std::string("\0\0\0\x18", 4) + "ftypheic"),
               "is a HEIC, AVIF or video file, which gaze does not read; convert it to JPEG");
  expect_error(test::golden_image("animated.webp"),
               "is an animated WebP; save one picture of it as PNG or JPEG");
  expect_error(test::golden_image("float.tif"),
               "is a TIFF of signed or floating-point numbers; convert it to 8 or 16 bits a channel");
}

TEST_F(BadPicture, truncated) {
  const std::string next = "; copy or download it again";
  expect_error(golden_part("photo_48x40.jpg", 0.9), "is truncated (the JPEG has no end marker)" + next);
  expect_error(golden_part("progressive_48x40.jpg", 0.7), "is truncated (the JPEG has no end marker)" + next);
  expect_error(golden_part("noise_37x29.png", 0.5), "is truncated (the PNG has no end)" + next);
  expect_error(golden_part("rgb.bmp", 0.9),
               "is truncated (the BMP has fewer pixels than its header says)" + next);
  expect_error(golden_part("rgb.webp", 0.9),
               "is truncated (the WebP is shorter than its header says)" + next);
  expect_error(golden_part("rgb.tif", 0.1), "is truncated (its TIFF folder ends early)" + next);
}

TEST_F(BadPicture, tiff_without_its_pixels) {
  // Little-endian, one folder: 8 x 6, one strip of 48 bytes at byte 90, which is past the end.
  const auto entry = [](int tag, int value) {
    const auto byte = [](int v) { return std::string(1, static_cast<char>(v)); };
    return byte(tag & 255) + byte(tag >> 8) + std::string("\3\0\1\0\0\0", 6) + byte(value) +
           std::string(3, '\0');
  };
  const std::string tiff = std::string("II*\0\x08\0\0\0\x05\0", 10) + entry(256, 8) + entry(257, 6) +
                           entry(258, 8) + entry(273, 90) + entry(279, 48) + std::string(4, '\0');
  expect_error(file("a.tif", tiff),
               "is truncated (pixels of the TIFF are missing); copy or download it again");
}

// Cutting a picture anywhere gives a FileError: never a crash, never half a picture.
TEST_F(BadPicture, cut_anywhere) {
  for (const char* name :
       {"turn6_24x16.jpg", "turn6_24x16.png", "rgb.bmp", "turn6_24x16.tif", "turn6_24x16.webp"}) {
    const std::string bytes = test::read_bytes(test::golden_image(name));
    const size_t step = std::max<size_t>(1, bytes.size() / 60);
    // A TIFF may carry bytes after its last one that matters.
    const size_t end = bytes.size() - (std::string(name).find(".tif") != std::string::npos ? 8 : 1);
    for (size_t length = 1; length <= end; length += step) {
      EXPECT_THROW(load_image(file("cut", bytes.substr(0, length))), FileError)
          << name << " cut at " << length;
    }
  }
}

// Any one byte changed gives a picture or a FileError.
TEST_F(BadPicture, any_byte_changed) {
  for (const char* name :
       {"turn6_24x16.png", "rgb.bmp", "turn6_24x16.tif", "rgba.tif", "turn6_24x16.webp", "palette.bmp"}) {
    const std::string bytes = test::read_bytes(test::golden_image(name));
    for (size_t at = 0; at < std::min<size_t>(bytes.size(), 200); ++at) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0xA5);
      try {
        load_image(file("changed", changed), {10'000});
      } catch (const FileError&) {
      }
    }
  }
}

TEST_F(BadPicture, damaged_png) {
  std::string bytes = test::read_bytes(test::golden_image("noise_37x29.png"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  expect_error(file("a.png", bytes), "is a damaged PNG (a checksum is wrong); copy or download it again");
}

TEST_F(BadPicture, too_large_by_its_header_alone) {
  const std::string problem =
      "has 30000 x 30000 = 900 megapixels; at most 100 are read; make it smaller or raise --max-pixels";
  const std::string png = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + big(30000, 4) + big(30000, 4);
  expect_error(file("a.png", png), problem);
  const std::string jpeg = std::string("\xff\xd8\xff\xc0\0\x11\x08", 7) + big(30000, 2) + big(30000, 2);
  expect_error(file("a.jpg", jpeg), problem);
}

TEST_F(BadPicture, limit_is_in_pixels) {
  const std::filesystem::path picture = test::golden_image("rgb.png");
  EXPECT_EQ(load_image(picture, {48}).width, 8);
  expect_error(
      picture,
      "has 8 x 6 = 4.8e-05 megapixels; at most 4.7e-05 are read; make it smaller or raise --max-pixels",
      {47});
}

TEST_F(BadPicture, no_pixels) {
  const std::string png = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + big(0, 4) + big(7, 4);
  expect_error(file("a.png", png), "has no pixels (0 x 7); save the picture again");
}

TEST_F(BadPicture, not_allowed) {
  const std::filesystem::path path = file("a.png", test::read_bytes(test::golden_image("rgb.png")));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  // The superuser may read everything: for this test it is nobody, who may enter the folder.
  const bool superuser = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (superuser) {
    std::filesystem::permissions(path.parent_path(), std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  expect_error(path, "cannot be read (Permission denied); check the path and its permissions");
  if (superuser) ASSERT_EQ(::seteuid(0), 0);
}

}  // namespace
}  // namespace gaze::models
