// How a scene is arranged, before anything is painted. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/pixels.h"
#include "models/data/scene_captions.h"
#include "modules/core/random.h"

namespace gaze::models {

// The share of the picture that an object covers, at least and, but for close-ups, at most.
constexpr double kSmallestShare = 0.02, kLargestShare = 0.40;

// Where an object may lie, in shares of the picture, and how large it may be.
struct Place {
  double x0 = 0, y0 = 0, x1 = 1, y1 = 1;   // its box stays within
  double smallest = 0.15, largest = 0.62;  // square root of its share of the picture's area
  double wander = 1;                       // how much of the free room its centre uses
};

// An arrangement of one to three objects, in the order of mention; earlier ones are painted over later ones.
struct Layout {
  std::vector<Place> places;
  std::vector<SceneRelation> relations;
  bool alike = false;                    // several of one kind, no relation
  bool in_front = false;                 // the first overlaps the second
  double largest_share = kLargestShare;  // of the picture, an object's
};

// One object that fills most of the picture.
Layout close_up_layout();

// Draws an arrangement of `objects` objects.
Layout draw_layout(int64_t objects, Random& random);

// The pose of a cut-out in its place. `turn` is the largest tangent of half its angle; a cut-out that is as
// good upside down is turned any way. False where it cannot be as large as a scene's objects must be (2 % of
// the area).
struct PoseRequest {
  double turn = 0.22;
  bool any_way = false;
  bool may_flip = true;
};
bool draw_pose(const Cutout& cutout, const Place& place, const PoseRequest& request, int64_t width,
               int64_t height, Random& random, Pose& pose);

}  // namespace gaze::models
