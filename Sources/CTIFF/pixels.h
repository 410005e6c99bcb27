#ifndef CTIFF_PIXELS_H
#define CTIFF_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

typedef enum { KIND_GREY, KIND_RGB, KIND_PALETTE, KIND_CMYK, KIND_YCBCR, KIND_LAB } Kind;

// How samples make pixels.
typedef struct {
  Kind kind;
  uint16_t bits, samples;
  uint16_t format;      // SAMPLEFORMAT_UINT, SAMPLEFORMAT_INT or SAMPLEFORMAT_IEEEFP
  uint16_t colors;
  bool is_separate;     // each sample has a plane
  bool is_inverted;     // 0 is white
  int32_t alpha;        // the index of the sample with opacity; -1: none
  bool is_premultiplied;
  uint8_t palette[3][256];
  // Of YCbCr: the size of blocks that share Cb and Cr, 1 otherwise; the luminance of red, green and blue; and the values of Y, Cb and
  // Cr by their codes.
  uint16_t block_width, block_height;
  float luma[3];
  float codes[3][256];
} Layout;

// The colours and opacity of a row during its conversion.
typedef struct {
  uint8_t *values[5];
} Scratch;

// Whether samples of that size and format can be converted.
bool ctiff_can_unpack(uint16_t bits, uint16_t format);

// Converts `width` pixels of a row to RGBA. `planes` has the row's samples by plane: one, or with separate planes one per colour and
// then that of the opacity. In blocks of several rows, `row` is the one to convert.
void ctiff_convert_row(const Layout *layout, const uint8_t *const *planes, uint32_t row, uint32_t width, uint8_t *rgba,
                       const Scratch *scratch);

#endif
