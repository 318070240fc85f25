#include "apps/gaze/picture_stream.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "models/image/encoded_image.h"

namespace gaze::apps {

PictureStream::PictureStream(std::vector<std::filesystem::path> paths,
                             const models::Preprocessing& preprocessing, const StreamOptions& options)
    : paths_(std::move(paths)), preprocessing_(preprocessing), options_(options) {
  const auto useful = static_cast<int64_t>(std::min(paths_.size(), options_.ahead));
  for (int64_t i = 0; i < std::min(options_.threads, useful); ++i) threads_.emplace_back([this] { work(); });
}

PictureStream::~PictureStream() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<StreamedPicture> PictureStream::next() {
  std::unique_lock lock(mutex_);
  if (taken_ == paths_.size()) return std::nullopt;
  changed_.wait(lock, [&] { return !done_.empty() && done_.front(); });
  StreamedPicture picture = std::move(*done_.front());
  done_.pop_front();
  ++taken_;
  changed_.notify_all();
  return picture;
}

void PictureStream::work() {
  while (true) {
    size_t i = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return stopped_ || begun_ == paths_.size() || begun_ - taken_ < options_.ahead; });
      if (stopped_ || begun_ == paths_.size()) return;
      i = begun_++;
      done_.emplace_back();
    }
    StreamedPicture picture = prepare(paths_[i]);
    const std::lock_guard lock(mutex_);
    done_[i - taken_] = std::move(picture);
    changed_.notify_all();
  }
}

StreamedPicture PictureStream::prepare(const std::filesystem::path& path) {
  StreamedPicture picture;
  int64_t pixels = 0;
  try {
    const models::EncodedImage encoded = models::read_encoded(path, options_.image);
    acquire(encoded.width * encoded.height);
    pixels = encoded.width * encoded.height;
    picture.prepared = models::preprocess(models::decode(encoded), preprocessing_);
  } catch (const std::exception& error) {
    picture.error = error.what();
  }
  release(pixels);
  return picture;
}

// Whoever holds pixels gives them back without waiting for anybody, so that a large picture's turn comes: the
// others cannot get further ahead of it than options_.ahead.
void PictureStream::acquire(int64_t pixels) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pixels_ == 0 || pixels_ + pixels <= options_.decode_pixels; });
  pixels_ += pixels;
}

void PictureStream::release(int64_t pixels) {
  const std::lock_guard lock(mutex_);
  pixels_ -= pixels;
  changed_.notify_all();
}

}  // namespace gaze::apps
