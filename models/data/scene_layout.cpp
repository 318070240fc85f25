#include "models/data/scene_layout.h"

#include <algorithm>
#include <cmath>

namespace gaze::models {
namespace {

constexpr double kLargestEnlargement = 3;

Place box(double x0, double y0, double x1, double y1, double smallest, double largest, double wander) {
  return {x0, y0, x1, y1, smallest, largest, wander};
}

Layout one(Random& random) {
  // Some reach over the picture's edge by a little.
  const double beyond = random.chance(0.2) ? 0.05 : -0.01;
  return {{box(-beyond, -beyond, 1 + beyond, 1 + beyond, 0.15, 0.62, 1)}, {}, false, false};
}

Layout two_in_a_row(Random& random, bool upright) {
  const double middle = random.uniform(0.43, 0.57), gap = random.uniform(0.0, 0.04),
               line = random.uniform(0.42, 0.58);
  const double low = std::max(0.01, line - 0.45), high = std::min(0.99, line + 0.45);
  Layout layout;
  if (upright) {
    layout.places = {box(low, 0.01, high, middle - gap, 0.16, 0.46, 0.35),
                     box(low, middle + gap, high, 0.99, 0.16, 0.46, 0.35)};
    layout.relations = {{0, "above", 1}};
  } else {
    layout.places = {box(0.01, low, middle - gap, high, 0.16, 0.46, 0.35),
                     box(middle + gap, low, 0.99, high, 0.16, 0.46, 0.35)};
    layout.relations = {{0, "left of", 1}};
  }
  return layout;
}

Layout one_in_front_of_another(Random& random, double right) {
  const double x = random.uniform(0.4, 0.6) * right, y = random.uniform(0.38, 0.5);
  Layout layout;
  const double reach = 0.5 * right;
  layout.places = {box(x - 0.32 * right, y - 0.1, x + 0.32 * right, 0.99, 0.16, 0.34, 0.5),
                   box(std::max(0.01, x - reach), 0.01, std::min(right, x + reach), 0.92, 0.34, 0.60, 0.3)};
  layout.relations = {{0, "in front of", 1}};
  layout.in_front = true;
  return layout;
}

Layout three_in_a_row(Random& random) {
  Layout layout;
  const double line = random.uniform(0.42, 0.58);
  for (int64_t i = 0; i < 3; ++i) {
    layout.places.push_back(box(0.01 + 0.33 * i, line - 0.3, 0.32 + 0.33 * i, line + 0.3, 0.145, 0.32, 0.3));
  }
  layout.relations = {{0, "left of", 1}, {1, "left of", 2}};
  return layout;
}

// Three corners of a square.
Layout three_in_corners(Random& random) {
  const auto corner = [](int64_t column, int64_t row) {
    const double x = 0.01 + 0.5 * column, y = 0.01 + 0.5 * row;
    return box(x, y, x + 0.48, y + 0.48, 0.15, 0.42, 0.35);
  };
  Layout layout;
  switch (random.below(4)) {
    case 0:  // top left, top right, bottom left
      layout.places = {corner(0, 0), corner(1, 0), corner(0, 1)};
      layout.relations = {{0, "left of", 1}, {0, "above", 2}};
      break;
    case 1:  // top left, top right, bottom right
      layout.places = {corner(0, 0), corner(1, 0), corner(1, 1)};
      layout.relations = {{0, "left of", 1}, {1, "above", 2}};
      break;
    case 2:  // top left, bottom left, bottom right
      layout.places = {corner(0, 0), corner(0, 1), corner(1, 1)};
      layout.relations = {{0, "above", 1}, {1, "left of", 2}};
      break;
    default:  // bottom left, bottom right, top right
      layout.places = {corner(0, 1), corner(1, 1), corner(1, 0)};
      layout.relations = {{0, "left of", 1}, {1, "below", 2}};
  }
  return layout;
}

Layout one_in_front_and_one_aside(Random& random) {
  Layout layout = one_in_front_of_another(random, 0.62);
  layout.places[0].smallest = 0.145, layout.places[0].largest = 0.26;
  layout.places[1].smallest = 0.26, layout.places[1].largest = 0.45;
  layout.places.push_back(box(0.65, 0.2, 0.99, 0.8, 0.15, 0.34, 0.3));
  layout.relations.push_back({1, "left of", 2});
  return layout;
}

Layout alike(Layout layout) {
  layout.relations.clear();
  layout.alike = true;
  return layout;
}

}  // namespace

Layout close_up_layout() {
  Layout layout;
  layout.places = {{0, 0, 1, 1, 0.5, 0.92, 1}};
  layout.largest_share = 0.85;
  return layout;
}

Layout draw_layout(int64_t objects, Random& random) {
  const double kind = random.uniform();
  if (objects == 1) return one(random);
  if (objects == 2) {
    if (kind < 0.12) return alike(two_in_a_row(random, random.chance(0.4)));
    if (kind < 0.75) return two_in_a_row(random, kind > 0.5);
    return one_in_front_of_another(random, 1);
  }
  if (kind < 0.08) return alike(random.chance(0.5) ? three_in_a_row(random) : three_in_corners(random));
  if (kind < 0.40) return three_in_a_row(random);
  if (kind < 0.80) return three_in_corners(random);
  return one_in_front_and_one_aside(random);
}

bool draw_pose(const Cutout& cutout, const Place& place, const PoseRequest& request, int64_t width,
               int64_t height, Random& random, Pose& pose) {
  pose = Pose();
  pose.flip = random.chance(0.5) && request.may_flip;
  set_turn(pose, request.any_way ? random.uniform(-1, 1) : random.uniform(-request.turn, request.turn));
  if (request.any_way && random.chance(0.5)) pose.cosine = -pose.cosine, pose.sine = -pose.sine;

  const double picture = static_cast<double>(width * height);
  const double opaque = cutout.coverage * static_cast<double>(cutout.width() * cutout.height());
  const double side = random.uniform(place.smallest, place.largest);
  pose.scale = std::min(side * std::sqrt(picture / opaque), kLargestEnlargement);
  const double room_x = (place.x1 - place.x0) * width, room_y = (place.y1 - place.y0) * height;
  const std::vector<double> size = turned_size(cutout, pose);
  pose.scale *= std::min({1.0, room_x / size[0], room_y / size[1]});
  if (pose.scale * pose.scale * opaque < kSmallestShare * 1.05 * picture) return false;

  const std::vector<double> fitted = turned_size(cutout, pose);
  const double free_x = (room_x - fitted[0]) * place.wander, free_y = (room_y - fitted[1]) * place.wander;
  pose.x = (place.x0 + place.x1) / 2 * width + free_x * random.uniform(-0.5, 0.5);
  pose.y = (place.y0 + place.y1) / 2 * height + free_y * random.uniform(-0.5, 0.5);
  return true;
}

}  // namespace gaze::models
