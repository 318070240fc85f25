// Class activation maps: a layer's channels weighed by what a score thinks of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace gaze::models {

enum class Cam {
  gradcam,            // Selvaraju et al. 2017: sum_k w_k A_k, w_k the mean of dy/dA_k over cells
  gradcam_plus_plus,  // Chattopadhyay et al. 2018, eqs. 10-12 and 19, for y = exp(s):
                      //   w_k = sum over cells of a_k relu(g_k), a_k = g_k^2 / (2 g_k^2 + g_k^3 sum A_k), 0 /
                      //   0 = 0, g_k = ds/dA_k
  hirescam,           // Draelos and Carin 2020: sum_k dy/dA_k A_k, cell by cell
};
// "gradcam", "gradcam++", "hirescam". cam_named throws ArgumentError that lists them.
const std::vector<std::string>& cam_names();
Cam cam_named(const std::string& name);

// activation A [..., C, H, W] and gradient dy/dA alike -> [..., H, W] float32, signed; the methods' own maps
// are its positive part. Throws ArgumentError for other shapes.
at::Tensor class_activation_map(Cam cam, const at::Tensor& activation, const at::Tensor& gradient);

}  // namespace gaze::models
