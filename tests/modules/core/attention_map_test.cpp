#include "modules/core/attention_map.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace gaze {
namespace {

TEST(MapRecorder, files_under_the_current_place) {
  EXPECT_EQ(MapRecorder::current(), nullptr);
  MapRecorder recorder;
  {
    const MapPlace place("layer3.5.attn.1");
    MapRecorder::current()->file("spatial", AttentionMap::Kind::spatial, at::ones({1, 2, 3}, at::kDouble));
  }
  recorder.file("channel", AttentionMap::Kind::channel, at::ones({1, 4}));
  ASSERT_EQ(recorder.maps().size(), 2U);
  EXPECT_EQ(recorder.maps()[0].name, "layer3.5.attn.1/spatial");
  EXPECT_EQ(recorder.maps()[0].values.scalar_type(), at::kFloat);
  EXPECT_EQ(recorder.maps()[1].name, "channel");
}

TEST(MapRecorder, innermost_collects_and_outer_returns) {
  MapRecorder outer;
  {
    MapRecorder inner;
    MapRecorder::current()->file("spatial", AttentionMap::Kind::spatial, at::ones({1, 1, 1}));
    EXPECT_EQ(inner.maps().size(), 1U);
  }
  EXPECT_EQ(MapRecorder::current(), &outer);
  EXPECT_TRUE(outer.maps().empty());
}

TEST(MapPlace, nests) {
  MapRecorder recorder;
  const MapPlace outer("a");
  { const MapPlace inner("b"); }
  recorder.file("x", AttentionMap::Kind::channel, at::ones({1, 1}));
  EXPECT_EQ(recorder.maps()[0].name, "a/x");
}

}  // namespace
}  // namespace gaze
