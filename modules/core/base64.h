// Bytes as text (RFC 4648, section 4, with padding). Includes no torch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gaze {

std::string to_base64(std::string_view bytes);

// Nothing where `text` is not what to_base64() gives: other characters, white space, a length that is no
// multiple of 4, bits that belong to no byte.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace gaze
