// The files beside the pictures: .npy, hashes, names, manifest.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "models/overlay/manifest.h"
#include "models/overlay/npy.h"
#include "models/overlay/output_names.h"
#include "models/overlay/sha256.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

TEST(Npy, header_and_numbers_as_the_format_says) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "a.npy";
  write_npy(path, {2, 3}, {1, 2, 3, 4, 5, 6.5F});
  const std::string bytes = test::read_bytes(path);
  ASSERT_EQ(bytes.size(), 128U + 6 * 4);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]), 118);
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(bytes[127], '\n');
  float last = 0;
  std::memcpy(&last, bytes.data() + 128 + 5 * 4, 4);
  EXPECT_EQ(last, 6.5F);
  write_npy(path, {3}, {1, 2, 3});
  EXPECT_NE(test::read_bytes(path).find("'shape': (3,), }"), std::string::npos);
  EXPECT_THROW(write_npy(path, {2, 2}, {1}), ArgumentError);
}

TEST(Npy, numpy_reads_it) {
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 with numpy";
  const test::TemporaryFolder folder;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {6}, {1, 6, 1}}) {
    const fs::path path = folder.path() / "a.npy";
    write_npy(path, shape, {1, 2, 3, 4, 5, 6.5F});
    std::string sizes;
    for (const int64_t size : shape) sizes += std::to_string(size) + ",";
    const std::string check =
        "python3 -c \"import numpy as n; a = n.load('" + path.string() + "'); assert a.shape == (" + sizes +
        "); assert a.dtype == 'float32'; assert a.ravel().tolist() == [1, 2, 3, 4, 5, 6.5]\"";
    EXPECT_EQ(std::system(check.c_str()), 0) << sizes;
  }
}

TEST(Sha256, the_standard_s_examples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, of_a_file) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder.path() / "a", "abc");
  EXPECT_EQ(file_sha256(folder.path() / "a"), sha256("abc"));
  EXPECT_THROW(file_sha256(folder.path() / "b"), FileError);
}

TEST(OutputNames, maps) {
  EXPECT_EQ(map_file_name("layer3.5.attn.0/spatial"), "layer3.5.attn.0__spatial");
  EXPECT_EQ(map_file_name(word_map_name(3, "dog")), "word__03_dog");
  EXPECT_EQ(map_file_name(word_map_name(3, "dog", "gradcam++")), "gradcam++__03_dog");
  EXPECT_EQ(map_file_name(word_map_name(12, "a/c")), "word__12_a_c");
  EXPECT_EQ(map_file_name(word_map_name(1, "what?\n")), "word__01_what__");
  EXPECT_EQ(map_file_name(word_map_name(1, "caf\xC3\xA9")), "word__01_caf\xC3\xA9");
  const std::string long_name =
      map_file_name(word_map_name(1, std::string(10, 'x') + std::string(300, '\xC3')));
  EXPECT_LE(long_name.size(), 120U);
}

TEST(OutputNames, pictures) {
  using Paths = std::vector<fs::path>;
  EXPECT_EQ(picture_folders({"photos/a.jpg", "photos/more/b.tar.png", "c.jpg"}),
            (Paths{"photos/a", "photos/more/b.tar", "c"}));
  EXPECT_EQ(picture_folders({"./photos//a.jpg"}), (Paths{"photos/a"}));
  // The same name with two extensions, and the same picture twice.
  EXPECT_EQ(picture_folders({"a.jpg", "a.png", "b.jpg"}), (Paths{"a_jpg", "a_png", "b"}));
  EXPECT_EQ(picture_folders({"a.jpg", "a.jpg"}), (Paths{"a_jpg", "a_jpg_2"}));
  // Outside: from the folder they share.
  EXPECT_EQ(picture_folders({"/data/x/a.jpg"}), (Paths{"a"}));
  EXPECT_EQ(picture_folders({"/data/x/a.jpg", "/data/x/deep/b.jpg", "/data/y/c.jpg"}),
            (Paths{"x/a", "x/deep/b", "y/c"}));
  EXPECT_EQ(picture_folders({"../a.jpg"}), (Paths{"a"}));
  EXPECT_TRUE(picture_folders({}).empty());
}

TEST(Manifest, has_every_field) {
  Manifest manifest;
  manifest.version = "0.1.0";
  manifest.model_file = "m.safetensors";
  manifest.model_sha256 = sha256("abc");
  manifest.image_file = "photos/a.jpg";
  manifest.exif_orientation = 6;
  manifest.geometry.width = 480;
  manifest.geometry.height = 640;
  manifest.geometry.input_width = manifest.geometry.input_height = 224;
  manifest.geometry.input_to_image = {2, 0, 10, 0, 3, 20};
  manifest.geometry.seen = {10, 20, 448, 672};
  const Grid grid{2, 2, {0.5F, 0.25F, 0.25F, 0}};
  manifest.maps = {{"word/01_dog", "word", 2, 2, "word__01_dog.png", "word__01_dog.npy", summarise(grid)},
                   {"layer1.0.attn.0/channel", "channel", 1, 3, "", "layer1.0.attn.0__channel.npy",
                    summarise({1, 1, {NAN}})}};
  manifest.caption = {{"text", "dog"}};
  manifest.options = {{"beam", 3}};
  const nlohmann::json json = to_json(manifest);
  EXPECT_EQ(json["gaze"], "0.1.0");
  EXPECT_EQ(json["model"]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(json["image"],
            nlohmann::json({{"file", "photos/a.jpg"}, {"width", 480}, {"height", 640}, {"exif", 6}}));
  EXPECT_EQ(json["to_image"], nlohmann::json({2.0, 0.0, 10.0, 0.0, 3.0, 20.0}));
  EXPECT_EQ(json["seen"], nlohmann::json({10.0, 20.0, 448.0, 672.0}));
  ASSERT_EQ(json["maps"].size(), 2U);
  const nlohmann::json& word = json["maps"][0];
  EXPECT_EQ(word["name"], "word/01_dog");
  EXPECT_EQ(word["kind"], "word");
  EXPECT_EQ(word["rows"], 2);
  EXPECT_EQ(word["cols"], 2);
  EXPECT_EQ(word["file"], "word__01_dog.png");
  EXPECT_EQ(word["raw"], "word__01_dog.npy");
  EXPECT_EQ(word["min"], 0.0);
  EXPECT_EQ(word["max"], 0.5);
  EXPECT_EQ(word["peak_lift"], 2.0);
  EXPECT_NEAR(word["entropy"].get<double>(), 1.5 * std::log(2.0), 1e-12);
  EXPECT_EQ(word["state"], "normal");
  EXPECT_EQ(word["to_image"],
            nlohmann::json({224.0, 0.0, 10.0, 0.0, 336.0, 20.0}));  // a cell is 112 input pixels
  EXPECT_TRUE(json["maps"][1]["file"].is_null());
  EXPECT_TRUE(json["maps"][1]["min"].is_null());
  EXPECT_EQ(json["maps"][1]["state"], "not_finite");
  EXPECT_EQ(json["caption"]["text"], "dog");
  EXPECT_EQ(json["options"]["beam"], 3);
}

}  // namespace
}  // namespace gaze::models
