#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "pixels.h"

#include <math.h>
#include <string.h>

bool ctiff_can_unpack(uint16_t bits, uint16_t format) {
  switch (format) {
  case SAMPLEFORMAT_UINT: return (bits >= 1 && bits <= 16) || bits == 32;
  case SAMPLEFORMAT_INT: return bits == 8 || bits == 16 || bits == 32;
  case SAMPLEFORMAT_IEEEFP: return bits == 16 || bits == 32 || bits == 64;
  default: return false;
  }
}

// 0…1 is black to white; also false for NaN.
static uint8_t from_real(double value) { return value > 0 ? (value < 1 ? (uint8_t)(value * 255 + 0.5) : 255) : 0; }

static double from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = (bits & 1023) / 1024.0, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0) return sign * fraction / (1 << 14);
  if (exponent == 31) return fraction > 0 ? 0 : sign;
  double power = exponent >= 15 ? (double)(1 << (exponent - 15)) : 1.0 / (1 << (15 - exponent));
  return sign * (1 + fraction) * power;
}

// Samples of up to 16 bits without padding, the most significant bit first.
static void unpack_bits(uint8_t *to, const uint8_t *row, unsigned bits, bool scales, size_t first, size_t stride, size_t count) {
  uint32_t most = (1u << bits) - 1;
  for (size_t index = 0; index < count; index++) {
    size_t at = (first + index * stride) * bits, last = (at + bits - 1) / 8;
    uint32_t window = 0;
    for (size_t byte = at / 8; byte <= last; byte++) window = window << 8 | row[byte];
    uint32_t value = window >> ((last + 1) * 8 - at - bits) & most;
    to[index] = (uint8_t)(scales ? value * 255 / most : value);
  }
}

// Converts each `stride`th sample of a row from the `first` one to 0…255.
#define UNPACK(type, expression)                                                        \
  for (size_t index = 0; index < count; index++) {                                      \
    type value;                                                                         \
    memcpy(&value, row + (first + index * stride) * sizeof value, sizeof value);        \
    to[index] = (uint8_t)(expression);                                                  \
  }

static void unpack(const Layout *layout, uint8_t *to, const uint8_t *row, size_t first, size_t stride, size_t count) {
  switch (layout->format) {
  case SAMPLEFORMAT_INT:
    // Negative numbers are black.
    if (layout->bits == 8) UNPACK(int8_t, value > 0 ? value * 255 / 127 : 0)
    else if (layout->bits == 16) UNPACK(int16_t, value > 0 ? value >> 7 : 0)
    else UNPACK(int32_t, value > 0 ? value >> 23 : 0)
    break;
  case SAMPLEFORMAT_IEEEFP:
    if (layout->bits == 16) UNPACK(uint16_t, from_real(from_half(value)))
    else if (layout->bits == 32) UNPACK(float, from_real(value))
    else UNPACK(double, from_real(value))
    break;
  default:
    if (layout->bits == 8) UNPACK(uint8_t, value)
    else if (layout->bits == 16) UNPACK(uint16_t, value >> 8)
    else if (layout->bits == 32) UNPACK(uint32_t, value >> 24)
    else unpack_bits(to, row, layout->bits, layout->kind != KIND_PALETTE, first, stride, count);
  }
}

// Samples of YCbCr with subsampled chroma: blocks of Y, one Cb, and one Cr (TIFF 6.0, section 21).
static void unpack_blocks(const Layout *layout, uint8_t *const *values, const uint8_t *blocks, uint32_t row, uint32_t width) {
  size_t luma = (size_t)layout->block_width * layout->block_height;
  for (uint32_t x = 0; x < width; x++) {
    const uint8_t *block = blocks + x / layout->block_width * (luma + 2);
    values[0][x] = block[row * layout->block_width + x % layout->block_width];
    values[1][x] = block[luma];
    values[2][x] = block[luma + 1];
  }
}

static uint8_t rounded(float value) { return value > 0 ? (value < 255 ? (uint8_t)(value + 0.5f) : 255) : 0; }

// TIFF 6.0, section 21.
static void from_ycbcr(const Layout *layout, uint8_t *rgb, uint8_t y, uint8_t cb, uint8_t cr) {
  float luminance = layout->codes[0][y];
  float red = layout->codes[2][cr] * (2 - 2 * layout->luma[0]) + luminance;
  float blue = layout->codes[1][cb] * (2 - 2 * layout->luma[2]) + luminance;
  rgb[0] = rounded(red);
  rgb[1] = rounded((luminance - layout->luma[0] * red - layout->luma[2] * blue) / layout->luma[1]);
  rgb[2] = rounded(blue);
}

static float from_lab_component(float value) {
  return value > 6.0f / 29 ? value * value * value : (value - 4.0f / 29) * 3 * (6.0f / 29) * (6.0f / 29);
}

// sRGB (IEC 61966-2-1) of a linear value.
static uint8_t with_gamma(float value) {
  if (!(value > 0.0031308f)) return rounded(value * 12.92f * 255);
  return rounded((1.055f * powf(value < 1 ? value : 1, 1 / 2.4f) - 0.055f) * 255);
}

// CIE L*a*b* (TIFF 6.0, section 23) with the white point D50, adapted to sRGB's by Bradford's method, as in ICC profiles.
static void from_lab(uint8_t *rgb, uint8_t lightness, uint8_t a, uint8_t b) {
  float middle = (lightness * (100.0f / 255) + 16) / 116;
  float x = from_lab_component(middle + (int8_t)a / 500.0f) * 0.96422f;
  float y = from_lab_component(middle);
  float z = from_lab_component(middle - (int8_t)b / 200.0f) * 0.82521f;
  rgb[0] = with_gamma(3.1338561f * x - 1.6168667f * y - 0.4906146f * z);
  rgb[1] = with_gamma(-0.9787684f * x + 1.9161415f * y + 0.0334540f * z);
  rgb[2] = with_gamma(0.0719453f * x - 0.2289914f * y + 1.4052427f * z);
}

static void remove_opacity(uint8_t *rgb, unsigned alpha) {
  for (int color = 0; color < 3; color++) {
    unsigned value = alpha > 0 ? (rgb[color] * 255u + alpha / 2) / alpha : 0;
    rgb[color] = (uint8_t)(value < 255 ? value : 255);
  }
}

void ctiff_convert_row(const Layout *layout, const uint8_t *const *planes, uint32_t row, uint32_t width, uint8_t *rgba,
                       const Scratch *scratch) {
  uint8_t *const *values = scratch->values;
  bool has_blocks = layout->block_width > 1 || layout->block_height > 1;
  if (has_blocks) unpack_blocks(layout, values, planes[0], row, width);
  for (uint16_t index = 0; index < layout->colors && !has_blocks; index++) {
    if (layout->is_separate) unpack(layout, values[index], planes[index], 0, 1, width);
    else unpack(layout, values[index], planes[0], index, layout->samples, width);
    if (!layout->is_inverted) continue;
    for (uint32_t x = 0; x < width; x++) values[index][x] = (uint8_t)~values[index][x];
  }
  const uint8_t *alpha = NULL;
  if (layout->alpha >= 0) {
    if (layout->is_separate) unpack(layout, values[layout->colors], planes[layout->colors], 0, 1, width);
    else unpack(layout, values[layout->colors], planes[0], (size_t)layout->alpha, layout->samples, width);
    alpha = values[layout->colors];
  }
  for (uint32_t x = 0; x < width; x++, rgba += 4) {
    uint8_t first = values[0][x];
    switch (layout->kind) {
    case KIND_GREY: rgba[0] = rgba[1] = rgba[2] = first; break;
    case KIND_PALETTE:
      for (int color = 0; color < 3; color++) rgba[color] = layout->palette[color][first];
      break;
    case KIND_CMYK:
      for (int color = 0; color < 3; color++) {
        rgba[color] = (uint8_t)(((255 - values[color][x]) * (255 - values[3][x]) + 127) / 255);
      }
      break;
    case KIND_YCBCR: from_ycbcr(layout, rgba, first, values[1][x], values[2][x]); break;
    case KIND_LAB: from_lab(rgba, first, values[1][x], values[2][x]); break;
    default:
      rgba[0] = first;
      rgba[1] = values[1][x];
      rgba[2] = values[2][x];
    }
    rgba[3] = alpha == NULL ? 255 : alpha[x];
    if (alpha != NULL && layout->is_premultiplied) remove_opacity(rgba, alpha[x]);
  }
}

#endif
