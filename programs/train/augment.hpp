// Turns the bytes of an image into the numbers that a model gets.
#pragma once

#include <array>
#include <cstdint>

#include "programs/train/dataset.hpp"

namespace muster::programs {

struct Normalisation {
  std::array<float, 3> mean;
  std::array<float, 3> deviation;
};

struct Augmentation {
  int64_t shift = 0;  // most pixels in each direction; uncovered pixels become black
  bool mirror = false;
  uint64_t seed = 0;
};

// The random choices for a sample. They depend only on seed, epoch and sample, so the number of
// ranks or threads and interruptions do not change them.
struct Drawn {
  int64_t down = 0;  // offset of the visible part
  int64_t right = 0;
  bool mirrored = false;
};
[[nodiscard]] Drawn draw(const Augmentation& augmentation, int64_t epoch, int64_t sample);

// Converts the images of a set to floats.
class Painter {
 public:
  // Images are scaled to `size` x `size` pixels; 0 keeps their size.
  Painter(const ImageSet& set, const Normalisation& normalisation, int64_t size);

  [[nodiscard]] int64_t height() const { return size_ > 0 ? size_ : set_.height; }
  [[nodiscard]] int64_t width() const { return size_ > 0 ? size_ : set_.width; }
  [[nodiscard]] const ImageSet& set() const { return set_; }

  void plain(int64_t sample, float* out) const;
  void augmented(int64_t sample, const Augmentation& augmentation, int64_t epoch, float* out) const;

 private:
  void crop(int64_t sample, const Drawn& drawn, float* out) const;
  void enlarge(const float* from, float* out) const;
  void paint(int64_t sample, const Drawn& drawn, float* out) const;

  const ImageSet& set_;
  int64_t size_;
  std::array<std::array<float, 256>, 3> values_;  // by channel and byte: the normalised value
};

}  // namespace muster::programs
