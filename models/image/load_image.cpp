#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <ostream>
#include <utility>

#include "models/image/encoded_image.h"
#include "models/image/header_probe.h"
#include "models/image/image.h"
#include "models/image/orientation.h"
#include "models/image/png_chunks.h"
#include "modules/core/atomic_file.h"
#include "modules/core/check.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;
using detail::BadPicture;
using detail::ByteView;

// No picture within the limit needs more bytes than this a pixel, headers and thumbnails aside.
constexpr uintmax_t kBytesPerPixel = 16;
constexpr uintmax_t kOtherBytes = uintmax_t{64} << 20;

std::vector<uint8_t> read_file(const fs::path& path, const ImageOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) throw BadPicture{"does not exist", "check the path"};
  if (error)
    throw BadPicture{"cannot be read (" + error.message() + ")", "check the path and its permissions"};
  if (fs::is_directory(status)) throw BadPicture{"is a folder, not a picture", "name a picture in it"};
  if (!fs::is_regular_file(status)) throw BadPicture{"is not a file", "give a JPEG, PNG, BMP, TIFF or WebP"};
  const uintmax_t size = fs::file_size(path, error);
  if (size == 0) throw BadPicture{"is empty", "copy or download it again"};
  if (size > static_cast<uintmax_t>(options.max_pixels) * kBytesPerPixel + kOtherBytes) {
    throw BadPicture{"has " + std::to_string(size >> 20) + " MiB, too many for a picture within the limit",
                     "raise --max-pixels"};
  }
  std::vector<uint8_t> bytes(size);
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    throw BadPicture{std::string("cannot be read (") + std::strerror(errno) + ")",
                     "check the path and its permissions"};
  }
  return bytes;
}

void check_pixels(const detail::PictureSize& size, const ImageOptions& options) {
  if (size.width <= options.max_pixels / size.height) return;
  const auto mega = [](double pixels) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", pixels / 1e6);
    return std::string(text);
  };
  const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height);
  throw BadPicture{"has " + std::to_string(size.width) + " x " + std::to_string(size.height) + " = " +
                       mega(pixels) + " megapixels; at most " +
                       mega(static_cast<double>(options.max_pixels)) + " are read",
                   "make it smaller or raise --max-pixels"};
}

cv::Mat decode_pixels(const std::vector<uint8_t>& bytes, const detail::PictureSize& size) {
  // OpenCV's own remarks name neither the file nor what to do.
  static const auto silenced = cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  static_cast<void>(silenced);
  cv::Mat pixels;
  try {
    const bool png = size.format == detail::PictureFormat::png;
    pixels =
        cv::imdecode(png ? detail::essential_png({bytes.data(), bytes.size()}) : bytes, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception&) {
    pixels.release();
  }
  const std::string name = detail::format_name(size.format);
  if (pixels.empty()) throw BadPicture{"is a damaged " + name, "copy or download it again"};
  const int channels = pixels.channels();
  const bool known = (pixels.depth() == CV_8U || pixels.depth() == CV_16U) &&
                     (channels == 1 || channels == 3 || channels == 4);
  if (!known)
    throw BadPicture{"is a " + name + " of an unusual kind",
                     "convert it to 8 or 16 bits a channel, gray, RGB or RGBA"};
  return pixels;
}

uint8_t to_8_bits(uint32_t value, uint32_t top) {
  return static_cast<uint8_t>((value * 255U + top / 2) / top);
}

// Gray, BGR or BGRA of 8 or 16 bits -> RGB of 8 bits, alpha composited on white.
template <typename T>
std::vector<uint8_t> to_rgb(const cv::Mat& pixels, const detail::PictureDetails& details) {
  constexpr uint32_t top = std::numeric_limits<T>::max();
  const int channels = pixels.channels();
  std::vector<uint8_t> rgb(pixels.total() * 3);
  uint8_t* out = rgb.data();
  for (int y = 0; y < pixels.rows; ++y) {
    const T* in = pixels.ptr<T>(y);
    for (int x = 0; x < pixels.cols; ++x, in += channels, out += 3) {
      for (int channel = 0; channel < 3; ++channel) {
        const uint32_t value = in[channels == 1 ? 0 : 2 - channel];
        if (channels < 4) {
          out[channel] = to_8_bits(value, top);
          continue;
        }
        const uint32_t alpha = in[3];
        if (details.premultiplied) {
          out[channel] = to_8_bits(std::min(value + top - alpha, top), top);
        } else {
          const uint64_t over_white =
              uint64_t{value} * alpha + uint64_t{top} * (top - alpha);  // in units of 1 / top^2
          out[channel] =
              static_cast<uint8_t>((over_white * 255 + uint64_t{top} * top / 2) / (uint64_t{top} * top));
        }
      }
    }
  }
  return rgb;
}

// PNG may name one gray value that is transparent; OpenCV leaves it as it is.
void whiten(cv::Mat& pixels, const detail::PictureDetails& details) {
  if (details.gray_transparent < 0 || pixels.channels() != 1) return;
  const int scale = details.bit_depth < 8 ? 255 / ((1 << details.bit_depth) - 1) : 1;
  const cv::Mat transparent = pixels == details.gray_transparent * scale;
  pixels.setTo(pixels.depth() == CV_8U ? 255 : 65535, transparent);
}

Image upright(const EncodedImage& encoded) {
  const ByteView view(encoded.bytes.data(), encoded.bytes.size());
  const detail::PictureSize size = detail::probe_size(view);
  const detail::PictureDetails details = detail::probe_details(view, size);
  cv::Mat pixels = decode_pixels(encoded.bytes, size);
  whiten(pixels, details);
  Image image;
  image.width = pixels.cols;
  image.height = pixels.rows;
  image.rgb = pixels.depth() == CV_8U ? to_rgb<uint8_t>(pixels, details) : to_rgb<uint16_t>(pixels, details);
  // OpenCV's TIFF reader has turned the picture already, the others have not.
  if (size.format != detail::PictureFormat::tiff)
    image = detail::turn_upright(std::move(image), details.orientation);
  image.exif_orientation = details.orientation;
  return image;
}

// Names the file where `read` finds it bad.
template <typename F>
auto naming(const fs::path& path, F&& read) {
  try {
    return read();
  } catch (const BadPicture& bad) {
    throw FileError(path.string(), bad.problem, bad.next_step);
  }
}

}  // namespace

EncodedImage read_encoded(const fs::path& path, const ImageOptions& options) {
  return naming(path, [&] {
    std::vector<uint8_t> bytes = read_file(path, options);
    const detail::PictureSize size = detail::probe_size({bytes.data(), bytes.size()});
    check_pixels(size, options);
    return EncodedImage{path, std::move(bytes), size.width, size.height};
  });
}

Image decode(const EncodedImage& encoded) {
  return naming(encoded.path, [&] { return upright(encoded); });
}

Image load_image(const fs::path& path, const ImageOptions& options) {
  return decode(read_encoded(path, options));
}

std::string encode_image(const Image& image, const std::string& extension) {
  check_that(extension == ".png" || extension == ".jpg" || extension == ".jpeg", "image",
             "an extension .png or .jpg", extension);
  check_that(image.width >= 1 && image.height >= 1, "image", "a picture of at least 1 x 1", "an empty one");
  cv::Mat bgr(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3);
  const uint8_t* in = image.rgb.data();
  for (int y = 0; y < bgr.rows; ++y) {
    uint8_t* out = bgr.ptr<uint8_t>(y);
    for (int x = 0; x < bgr.cols; ++x, in += 3, out += 3) {
      out[0] = in[2];
      out[1] = in[1];
      out[2] = in[0];
    }
  }
  std::vector<uint8_t> bytes;
  const std::vector<int> settings = {cv::IMWRITE_JPEG_QUALITY, 95, cv::IMWRITE_PNG_COMPRESSION, 3};
  cv::imencode(extension, bgr, bytes, settings);
  return {bytes.begin(), bytes.end()};
}

void save_image(const Image& image, const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension != ".png" && extension != ".jpg" && extension != ".jpeg") {
    throw FileError(path.string(), "has an extension that gaze does not write",
                    "end the name in .png or .jpg");
  }
  if (image.width < 1 || image.height < 1)
    throw FileError(path.string(), "could not be encoded", "check that the picture is at least 1 x 1");
  write_atomically(path, encode_image(image, extension));
}

}  // namespace gaze::models
