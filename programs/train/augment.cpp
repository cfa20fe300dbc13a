#include "programs/train/augment.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace muster::programs {
namespace {

// One round of SplitMix64, which mixes 64 bits well.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The position of an enlarged pixel between two source pixels. Pixels are treated as areas, not
// points.
struct Between {
  int64_t low = 0;
  int64_t high = 0;
  float part = 0;  // weight of the pixel `high`
};

std::vector<Between> positions(int64_t from, int64_t to) {
  std::vector<Between> all;
  for (int64_t i = 0; i < to; ++i) {
    const double at = std::max(
        0.0,
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5);
    const auto low = std::min(static_cast<int64_t>(at), from - 1);
    all.push_back(
        {low, std::min(low + 1, from - 1), static_cast<float>(at - static_cast<double>(low))});
  }
  return all;
}

}  // namespace

Drawn draw(const Augmentation& augmentation, int64_t epoch, int64_t sample) {
  const uint64_t bits = mixed(mixed(mixed(augmentation.seed) ^ static_cast<uint64_t>(epoch)) ^
                              static_cast<uint64_t>(sample));
  const auto places = static_cast<uint64_t>(2 * augmentation.shift + 1);
  return {.down = static_cast<int64_t>((bits & 0xffffffU) % places) - augmentation.shift,
          .right = static_cast<int64_t>((bits >> 24 & 0xffffffU) % places) - augmentation.shift,
          .mirrored = augmentation.mirror && (bits >> 63) != 0};
}

Painter::Painter(const ImageSet& set, const Normalisation& normalisation, int64_t size)
    : set_(set), size_(size == set.height && size == set.width ? 0 : size), values_() {
  for (size_t channel = 0; channel < values_.size(); ++channel) {
    for (size_t byte = 0; byte < values_[channel].size(); ++byte) {
      values_[channel][byte] = (static_cast<float>(byte) / 255.0F - normalisation.mean[channel]) /
                               normalisation.deviation[channel];
    }
  }
}

void Painter::plain(int64_t sample, float* out) const {
  paint(sample, {}, out);
}

void Painter::augmented(int64_t sample, const Augmentation& augmentation, int64_t epoch,
                        float* out) const {
  const bool wanted = augmentation.shift > 0 || augmentation.mirror;
  paint(sample, wanted ? draw(augmentation, epoch, sample) : Drawn{}, out);
}

void Painter::paint(int64_t sample, const Drawn& drawn, float* out) const {
  if (size_ == 0) return crop(sample, drawn, out);
  std::vector<float> small(static_cast<size_t>(set_.image_bytes()));
  crop(sample, drawn, small.data());
  enlarge(small.data(), out);
}

void Painter::crop(int64_t sample, const Drawn& drawn, float* out) const {
  const uint8_t* const image = set_.image(sample);
  for (int64_t channel = 0; channel < set_.channels; ++channel) {
    const auto& values = values_[static_cast<size_t>(channel)];
    for (int64_t y = 0; y < set_.height; ++y) {
      const int64_t row = y + drawn.down;
      const bool inside = row >= 0 && row < set_.height;
      const uint8_t* const from = image + (channel * set_.height + (inside ? row : 0)) * set_.width;
      for (int64_t x = 0; x < set_.width; ++x) {
        const int64_t column = (drawn.mirrored ? set_.width - 1 - x : x) + drawn.right;
        const bool there = inside && column >= 0 && column < set_.width;
        *out++ = values[there ? from[column] : 0];
      }
    }
  }
}

// Bilinear interpolation.
void Painter::enlarge(const float* from, float* out) const {
  const std::vector<Between> rows = positions(set_.height, size_);
  const std::vector<Between> columns = positions(set_.width, size_);
  for (int64_t channel = 0; channel < set_.channels; ++channel) {
    const float* const plane = from + channel * set_.height * set_.width;
    for (const Between& row : rows) {
      const float* const low = plane + row.low * set_.width;
      const float* const high = plane + row.high * set_.width;
      for (const Between& column : columns) {
        const float top = low[column.low] + (low[column.high] - low[column.low]) * column.part;
        const float bottom =
            high[column.low] + (high[column.high] - high[column.low]) * column.part;
        *out++ = top + (bottom - top) * row.part;
      }
    }
  }
}

}  // namespace muster::programs
