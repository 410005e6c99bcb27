#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "pixels.h"

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

static void remove_opacity(uint8_t *rgb, unsigned alpha) {
  for (int color = 0; color < 3; color++) {
    unsigned value = alpha > 0 ? (rgb[color] * 255u + alpha / 2) / alpha : 0;
    rgb[color] = (uint8_t)(value < 255 ? value : 255);
  }
}

void ctiff_convert_row(const Layout *layout, const uint8_t *const *planes, uint32_t width, uint8_t *rgba, const Scratch *scratch) {
  uint8_t *const *values = scratch->values;
  for (uint16_t index = 0; index < layout->colors; index++) {
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
