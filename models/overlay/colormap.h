// Colours for numbers. Includes no torch and no OpenCV.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gaze::models {

// Viridis, inferno and gray grow evenly lighter, for colour-blind eyes too; turbo shows finer steps. blue_red
// is for signed values: blue below zero, white, red above (Brewer's RdBu turned round, 11 colours joined by
// straight lines).
enum class Colormap { viridis, inferno, turbo, gray, blue_red };

using Colour = std::array<uint8_t, 3>;  // RGB

// 256 colours, from the low end to the high.
const std::array<Colour, 256>& colours(Colormap map);

const std::vector<std::string>& colormap_names();
// Throws ArgumentError that lists the names.
Colormap colormap_named(const std::string& name);
std::string name_of(Colormap map);

}  // namespace gaze::models
