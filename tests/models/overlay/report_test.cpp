#include "models/overlay/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/image/image.h"
#include "modules/core/base64.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Report report() {
  Report report;
  report.file = "photos/a <b> & \"c\".jpg";
  report.picture = test::filled(60, 40, {10, 120, 200});
  Geometry& g = report.geometry;
  g.width = 60;
  g.height = 40;
  g.input_width = g.input_height = 20;
  g.input_to_image = {2, 0, 10, 0, 2, 0};
  g.seen = {10, 0, 40, 40};
  const Grid attention{2, 2, {0.125F, 0.125F, 0.25F, 0.5F}}, against{2, 2, {1, -3, 0, 0}};
  ReportCaption caption{"a dog </script><script>alert(1)</script> <!-- ", -1.5, {}};
  caption.words.push_back(
      {"dog", 0.25, {{"cross", "", attention}, {"ig", "", against, ReportScale::signed_values}}});
  report.captions = {caption};
  report.gates.push_back({"spatial", "layer4.1.attn.0/spatial", attention, ReportScale::own});
  return report;
}

json data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = html.find(open) + open.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(Report, holds_picture_words_and_grids) {
  const json data = data_of(report_html(report()));
  EXPECT_EQ(data["file"], report().file);
  EXPECT_EQ(data["kinds"], json({"cross", "ig"}));
  EXPECT_EQ(data["seen"], json({10.0, 0.0, 40.0, 40.0}));
  const json& word = data["captions"][0]["words"][0];
  EXPECT_EQ(word["probability"], 0.25);
  EXPECT_EQ(word["peak_lift"], 2.0);            // 0.5 of 4 cells
  EXPECT_NEAR(word["entropy"], 1.21301, 1e-5);  // 2 (1/8 ln 8) + 1/4 ln 4 + 1/2 ln 2
  EXPECT_EQ(word["maps"][0]["values"], json({0.125, 0.125, 0.25, 0.5}));
  // A cell is 10 x 10 of the input, 20 x 20 of the picture from x 10 on: column = (x - 10) / 20.
  EXPECT_EQ(word["maps"][0]["from_image"], json({0.05, 0.0, -0.5, 0.0, 0.05, 0.0}));
  EXPECT_EQ(word["maps"][1]["against"], 0.75);
  EXPECT_EQ(data["gates"][0]["label"], "layer4.1.attn.0/spatial");
  EXPECT_EQ(data["colormaps"]["viridis"].get<std::string>().substr(0, 6), "440154");

  const std::string picture = data["picture"], start = "data:image/jpeg;base64,";
  ASSERT_EQ(picture.substr(0, start.size()), start);
  EXPECT_EQ(from_base64(picture.substr(start.size())), encode_image(report().picture, ".jpg"));
}

TEST(Report, is_one_file_that_fetches_nothing) {
  const std::string html = report_html(report());
  for (const char* outside : {"http:", "https:", "//cdn", "src=\"", "@import", "url(", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(html, Not(HasSubstr("{{")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Report, texts_stay_texts) {
  const std::string html = report_html(report());
  EXPECT_THAT(html, HasSubstr("<title>photos/a &lt;b&gt; &amp; \"c\".jpg: a dog &lt;/script&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_of(html)["captions"][0]["text"], report().captions[0].text);
}

TEST(Report, large_grids_become_sums) {
  Report large = report();
  Grid grid{130, 70, std::vector<float>(130 * 70, 0.5F)};
  large.captions[0].words[0].maps[1].grid = grid;
  const json map = data_of(report_html(large))["captions"][0]["words"][0]["maps"][1];
  EXPECT_EQ(map["rows"], 64);
  EXPECT_EQ(map["cols"], 64);
  double sum = 0;
  for (const json& value : map["values"]) sum += value.get<double>();
  EXPECT_NEAR(sum, 0.5 * 130 * 70, 1e-6);
}

TEST(Report, maps_that_are_no_numbers_are_told) {
  Report broken = report();
  broken.captions[0].words[0].maps[0].grid.values[1] = std::numeric_limits<float>::quiet_NaN();
  const json word = data_of(report_html(broken))["captions"][0]["words"][0];
  EXPECT_EQ(word["maps"][0]["state"], "not_finite");
  EXPECT_EQ(word["maps"][0]["values"][1], nullptr);
  EXPECT_EQ(word["peak_lift"], nullptr);
  broken.captions.clear();
  EXPECT_THROWS_WITH(report_html(broken), ArgumentError, "[report] expected a caption at least; got none");
}

}  // namespace
}  // namespace gaze::models
