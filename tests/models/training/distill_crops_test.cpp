#include "models/training/distill_crops.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <fstream>

#include "models/data/photographs.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

DistillRecipe small_recipe() {
  DistillRecipe recipe;
  recipe.pool = 6;
  recipe.fresh = 2;
  recipe.pool_size = 64;
  return recipe;
}

Image plain(uint8_t value) {
  Image image;
  image.width = 80;
  image.height = 70;
  image.rgb.assign(static_cast<size_t>(80 * 70 * 3), value);
  return image;
}

std::vector<std::string> lines;
void listen(const std::string& line) {
  lines.push_back(line);
}

TEST(PictureTensor, is_rgb_from_0_to_1_channels_last) {
  Image image;
  image.width = 2;
  image.height = 1;
  image.rgb = {255, 0, 51, 0, 102, 255};
  const torch::Tensor x = picture_tensor({image, image});
  EXPECT_TRUE(torch::allclose(x[1], torch::tensor({1.0F, 0.0F, 0.0F, 0.4F, 0.2F, 1.0F}).view({3, 1, 2})));
  EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(DistillCrops, depend_on_step_and_key_alone) {
  DistillCrops forward(small_recipe(), listen), resumed(small_recipe(), listen);
  torch::Tensor last;
  for (int64_t step = 0; step < 5; ++step) last = forward.draw(step, 8, 32, static_cast<uint64_t>(step));
  EXPECT_EQ(last.sizes(), (std::vector<int64_t>{8, 3, 32, 32}));
  EXPECT_TRUE(torch::equal(last, resumed.draw(4, 8, 32, 4)));
  EXPECT_FALSE(torch::equal(last, resumed.draw(4, 8, 32, 5)));
  EXPECT_FALSE(torch::equal(last[0], last[1]));
  EXPECT_GE(last.min().item<float>(), 0);
  EXPECT_LE(last.max().item<float>(), 1);
}

TEST(DistillCrops, take_their_share_from_photographs) {
  const test::TemporaryFolder folder;
  save_image(plain(200), folder.path() / "a.png");
  DistillRecipe recipe = small_recipe();
  recipe.pictures = {folder.path()};
  recipe.picture_share = 1;
  recipe.grounds = recipe.jitter = 0;
  recipe.pastes = 0;
  DistillCrops crops(recipe, listen);
  EXPECT_EQ(crops.photographs(), 1);
  const torch::Tensor x = crops.draw(0, 4, 32, 1);
  EXPECT_TRUE(torch::allclose(x, torch::full_like(x, 200.0 / 255)));
  recipe.pastes = 3;
  const torch::Tensor pasted = DistillCrops(recipe, listen).draw(0, 8, 32, 1);
  EXPECT_GT(pasted.ne(x[0][0][0][0]).sum().item<int64_t>(), pasted.numel() / 20);
}

TEST(DistillCrops, put_a_scene_in_the_place_of_a_damaged_photograph) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "broken.jpg") << "no picture";
  DistillRecipe recipe = small_recipe();
  recipe.pictures = {folder.path()};
  recipe.picture_share = 1;
  recipe.grounds = 0;
  lines.clear();
  const torch::Tensor x = DistillCrops(recipe, listen).draw(0, 4, 32, 1);
  EXPECT_GT(x.std().item<float>(), 0);
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("broken.jpg"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("a scene takes its place"), std::string::npos) << lines[0];
}

TEST(DistillCrops, leave_out_the_photographs_gaze_is_tested_with) {
  const auto& table = photograph_table();
  const auto row = std::find_if(table.begin(), table.end(), [](const Photograph& photograph) {
    return photograph.role == "test" && photograph.bundled;
  });
  ASSERT_NE(row, table.end());
  const test::TemporaryFolder folder;
  save_image(plain(9), folder.path() / "a.png");
  std::error_code failed;
  fs::create_symlink(photograph_file(*row), folder.path() / "test.jpg", failed);
  ASSERT_FALSE(failed);
  DistillRecipe recipe = small_recipe();
  recipe.pictures = {folder.path()};
  EXPECT_EQ(DistillCrops(recipe, listen).photographs(), 1);
}

TEST(DistillCrops, a_folder_without_pictures_is_told) {
  const test::TemporaryFolder folder;
  DistillRecipe recipe = small_recipe();
  recipe.pictures = {folder.path()};
  EXPECT_THROW(DistillCrops(recipe, listen), FileError);
}

}  // namespace
}  // namespace gaze::models
