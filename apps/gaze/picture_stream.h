// Pictures that threads of their own read and prepare ahead of the model, in order and in bounded memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/image/image.h"
#include "models/image/preprocess.h"

namespace gaze::apps {

// The model's input, or what went wrong.
struct StreamedPicture {
  std::optional<models::PreparedImage> prepared;
  std::string error;
};

struct StreamOptions {
  models::ImageOptions image;
  int64_t threads = 1;
  size_t ahead = 16;                   // pictures that wait for next(), at most
  int64_t decode_pixels = 64'000'000;  // that are decoded at once, together; a larger picture alone
};

class PictureStream {
 public:
  PictureStream(std::vector<std::filesystem::path> paths, const models::Preprocessing& preprocessing,
                const StreamOptions& options);
  ~PictureStream();
  PictureStream(const PictureStream&) = delete;
  PictureStream& operator=(const PictureStream&) = delete;

  // The picture of the next path, however long others took; nothing after the last. A picture that fails
  // does so in its turn, nothing is thrown.
  std::optional<StreamedPicture> next();

 private:
  void work();
  StreamedPicture prepare(const std::filesystem::path& path);
  void acquire(int64_t pixels);
  void release(int64_t pixels);

  const std::vector<std::filesystem::path> paths_;
  const models::Preprocessing preprocessing_;
  const StreamOptions options_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  size_t begun_ = 0, taken_ = 0;                     // paths
  std::deque<std::optional<StreamedPicture>> done_;  // of the paths taken_ .. begun_ - 1
  int64_t pixels_ = 0;                               // being decoded
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gaze::apps
