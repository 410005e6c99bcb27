#include "CHEIF.h"

// The planes of a picture, allocated here so that its size is known before, and so that missing blocks are found afterwards.

#if __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>)

#include "CHEIFCodec.h"

#include <stdlib.h>
#include <string.h>

// Before a picture that isn't an IDR picture, libde265 may allocate 16 pictures that it could refer to.
static const uint64_t most_referring_pixels = 1 << 20;

struct heif_error cheif_fail(CHEIFFailure failure) {
  if (cheif_decoding && cheif_decoding->failure == CHEIF_NONE) cheif_decoding->failure = failure;
  return (struct heif_error){heif_error_Decoder_plugin_error, heif_suberror_Unspecified, "the picture can't be decoded"};
}

struct heif_error cheif_damaged(int code) {
  if (cheif_decoding && cheif_decoding->failure == CHEIF_NONE) cheif_decoding->code = code;
  return cheif_fail(CHEIF_DAMAGED);
}

// Recognisable contents for rows of luma samples, to find those that aren't decoded.
enum { PATTERN = 4096, BLOCK = 16 };
static uint8_t pattern_byte(size_t x) { return (uint8_t)(((uint32_t)(x % PATTERN) + 1) * 2654435761u >> 13); }

static void *allocated_plane(struct de265_image *image, int channel, int width, int height, size_t *bytes_per_row) {
  const int sample_bytes = (cheif_codec.depth(image, channel) + 7) / 8;
  *bytes_per_row = ((size_t)width + 15) / 16 * 16 * (size_t)sample_bytes;
  void *plane = NULL;
  // libde265 reads and writes some bytes beyond the last row, and at most one row of a picture with an odd number of rows.
  if (posix_memalign(&plane, 32, *bytes_per_row * ((size_t)height + 1) + 64)) return NULL;
  cheif_codec.set_plane(image, channel, plane, (int)*bytes_per_row, plane);
  return plane;
}

int cheif_get_buffer(de265_decoder_context *context, struct de265_image_spec *spec, struct de265_image *image, void *user_data) {
  (void)context;
  Picture *picture = user_data;
  CHEIFDecoding *decoding = cheif_decoding;
  const bool has_margins = spec->crop_left >= 0 && spec->crop_right >= 0 && spec->crop_top >= 0 && spec->crop_bottom >= 0 &&
                           spec->visible_width > 0 && spec->visible_width <= spec->width && spec->visible_height > 0 &&
                           spec->visible_height <= spec->height;
  for (int channel = 0; channel < 3; channel++) cheif_codec.set_plane(image, channel, NULL, 0, NULL);
  if (++picture->pictures > 1) return cheif_fail(CHEIF_NOT_STILL), 0;
  if (!has_margins || spec->width <= 0 || spec->height <= 0) return cheif_damaged(DE265_WARNING_SPS_HEADER_INVALID), 0;
  // Its stored size exceeds the displayed one by the rest of a coding block only, or it could be of any size.
  const bool is_tight = spec->width - spec->visible_width < 128 && spec->height - spec->visible_height < 128;
  bool is_listed = false;
  for (int index = 0; index < decoding->size_count; index++) {
    if (spec->visible_width == decoding->widths[index] && spec->visible_height == decoding->heights[index]) is_listed = true;
  }
  if (!is_tight || !is_listed) {
    decoding->width = spec->visible_width;
    decoding->height = spec->visible_height;
    return cheif_fail(CHEIF_OTHER_SIZE), 0;
  }
  const enum de265_chroma format = cheif_codec.chroma_format(image);
  const int luma_depth = cheif_codec.depth(image, 0), depth = cheif_codec.depth(image, format == de265_chroma_mono ? 0 : 1);
  if (luma_depth > decoding->depth || depth > decoding->depth) return cheif_fail(CHEIF_OTHER_DEPTH), 0;
  if (picture->may_refer && (uint64_t)spec->width * (uint64_t)spec->height > most_referring_pixels) return cheif_fail(CHEIF_TOO_LARGE), 0;
  size_t stride;
  picture->luma = allocated_plane(image, 0, spec->width, spec->height, &picture->luma_stride);
  bool is_complete = picture->luma != NULL;
  if (is_complete && format != de265_chroma_mono) {
    const int width = format == de265_chroma_444 ? spec->width : spec->width / 2;
    const int height = format == de265_chroma_420 ? spec->height / 2 : spec->height;
    is_complete = allocated_plane(image, 1, width, height, &stride) && allocated_plane(image, 2, width, height, &stride);
  }
  if (!is_complete) {
    for (int channel = 0; channel < 3; channel++) {
      free(cheif_codec.plane_user_data(image, channel));
      cheif_codec.set_plane(image, channel, NULL, 0, NULL);
    }
    return cheif_fail(CHEIF_NO_MEMORY), 0;
  }
  picture->width = spec->width;
  picture->height = spec->height;
  for (size_t x = 0; x < picture->luma_stride; x++) picture->luma[x] = pattern_byte(x);
  const size_t row = picture->luma_stride;
  for (size_t y = 1; y < (size_t)spec->height; y++) memcpy(picture->luma + y * row, picture->luma, row);
  return 1;
}

void cheif_release_buffer(de265_decoder_context *context, struct de265_image *image, void *user_data) {
  (void)context;
  (void)user_data;
  for (int channel = 0; channel < 3; channel++) free(cheif_codec.plane_user_data(image, channel));
}

bool cheif_lacks_blocks(const Picture *picture) {
  uint8_t pattern[PATTERN];
  for (size_t x = 0; x < PATTERN; x++) pattern[x] = pattern_byte(x);
  const size_t sample_bytes = picture->luma_stride / (((size_t)picture->width + 15) / 16 * 16);
  const size_t width = (size_t)picture->width * sample_bytes, block = BLOCK * sample_bytes;
  for (int y = 0; y < picture->height; y += BLOCK) {
    const uint8_t *row = picture->luma + (size_t)y * picture->luma_stride;
    for (size_t x = 0; x < width; x += block) {
      const size_t count = width - x < block ? width - x : block;
      if (row[x] == pattern[x % PATTERN] && memcmp(row + x, pattern + x % PATTERN, count) == 0) return true;
    }
  }
  return false;
}

#endif
