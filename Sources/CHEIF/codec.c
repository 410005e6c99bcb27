#include "CHEIF.h"

// libheif's own decoder of HEVC pictures ignores what libde265 reports: a picture whose data are damaged or missing is shown as far
// as it goes. It also starts a thread per picture, and lets a picture be larger than the container says. So this one replaces it.

#if __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>)

#include "CHEIFCodec.h"

#include <stdlib.h>
#include <string.h>

CodecFunctions cheif_codec;
HostFunctions cheif_host;
_Thread_local CHEIFDecoding *cheif_decoding;

// Rec. ITU-T H.265, table 7-1: numbers of NAL unit types.
enum { BLA_W_LP = 16, IDR_W_RADL = 19, IDR_N_LP = 20, CRA = 21, FIRST_NON_VCL = 32 };

// A picture has at most 600 slice segments (Rec. ITU-T H.265, table A.8); libde265's time is quadratic in their number.
static const int most_units = 2000;

// Before a picture that isn't an IDR picture, libde265 may allocate 16 pictures that it could refer to.
static const uint64_t most_referring_pixels = 1 << 20;

typedef struct {
  const uint8_t *data;
  size_t size;
  bool may_refer;
  // The planes of the picture, which are allocated here so that its size is known before.
  int pictures;
  int width, height;
  uint8_t *luma;
  size_t luma_stride;
} Picture;

static const struct heif_error success = {heif_error_Ok, heif_suberror_Unspecified, "Success"};

// Unused: `cheif_decoding` has the reason.
static struct heif_error fail(CHEIFFailure failure) {
  if (cheif_decoding && cheif_decoding->failure == CHEIF_NONE) cheif_decoding->failure = failure;
  return (struct heif_error){heif_error_Decoder_plugin_error, heif_suberror_Unspecified, "the picture can't be decoded"};
}

static struct heif_error damaged(int code) {
  if (cheif_decoding && cheif_decoding->failure == CHEIF_NONE) cheif_decoding->code = code;
  return fail(CHEIF_DAMAGED);
}

// Allocation of a picture.

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

static int get_buffer(de265_decoder_context *context, struct de265_image_spec *spec, struct de265_image *image, void *user_data) {
  (void)context;
  Picture *picture = user_data;
  CHEIFDecoding *decoding = cheif_decoding;
  const bool has_margins = spec->crop_left >= 0 && spec->crop_right >= 0 && spec->crop_top >= 0 && spec->crop_bottom >= 0 &&
                           spec->visible_width > 0 && spec->visible_width <= spec->width && spec->visible_height > 0 &&
                           spec->visible_height <= spec->height;
  for (int channel = 0; channel < 3; channel++) cheif_codec.set_plane(image, channel, NULL, 0, NULL);
  if (++picture->pictures > 1) return fail(CHEIF_NOT_STILL), 0;
  if (!has_margins || spec->width <= 0 || spec->height <= 0) return damaged(DE265_WARNING_SPS_HEADER_INVALID), 0;
  // Its stored size exceeds the displayed one by the rest of a coding block only, or it could be of any size.
  const bool is_tight = spec->width - spec->visible_width < 128 && spec->height - spec->visible_height < 128;
  bool is_listed = false;
  for (int index = 0; index < decoding->size_count; index++) {
    if (spec->visible_width == decoding->widths[index] && spec->visible_height == decoding->heights[index]) is_listed = true;
  }
  if (!is_tight || !is_listed) {
    decoding->width = spec->visible_width;
    decoding->height = spec->visible_height;
    return fail(CHEIF_OTHER_SIZE), 0;
  }
  const enum de265_chroma format = cheif_codec.chroma_format(image);
  const int luma_depth = cheif_codec.depth(image, 0), depth = cheif_codec.depth(image, format == de265_chroma_mono ? 0 : 1);
  if (luma_depth > decoding->depth || depth > decoding->depth) return fail(CHEIF_OTHER_DEPTH), 0;
  if (picture->may_refer && (uint64_t)spec->width * (uint64_t)spec->height > most_referring_pixels) return fail(CHEIF_TOO_LARGE), 0;
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
    return fail(CHEIF_NO_MEMORY), 0;
  }
  picture->width = spec->width;
  picture->height = spec->height;
  for (size_t x = 0; x < picture->luma_stride; x++) picture->luma[x] = pattern_byte(x);
  const size_t row = picture->luma_stride;
  for (size_t y = 1; y < (size_t)spec->height; y++) memcpy(picture->luma + y * row, picture->luma, row);
  return 1;
}

static void release_buffer(de265_decoder_context *context, struct de265_image *image, void *user_data) {
  (void)context;
  (void)user_data;
  for (int channel = 0; channel < 3; channel++) free(cheif_codec.plane_user_data(image, channel));
}

// Whether a block still has its first contents. Coding tree blocks have at least 16 × 16 samples.
static bool lacks_blocks(const Picture *picture) {
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

// Decoding.

static bool is_harmless(int warning) {
  switch (warning) {
  case DE265_WARNING_NO_WPP_CANNOT_USE_MULTITHREADING:
  case DE265_WARNING_INCORRECT_ENTRY_POINT_OFFSET:
  case DE265_WARNING_SPS_MISSING_CANNOT_DECODE_SEI:
  case DE265_ERROR_CANNOT_PROCESS_SEI: return true;
  default: return false;
  }
}

static void add_warning(int warning) {
  CHEIFDecoding *decoding = cheif_decoding;
  for (int index = 0; index < decoding->warning_count; index++) {
    if (decoding->warnings[index] == warning) return;
  }
  if (decoding->warning_count < CHEIF_WARNINGS) decoding->warnings[decoding->warning_count++] = warning;
}

static struct heif_error copy(const struct de265_image *image, struct heif_image **result) {
  static const enum heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
  const enum de265_chroma format = cheif_codec.chroma_format(image);
  const bool is_gray = format == de265_chroma_mono;
  const int depth = cheif_codec.depth(image, 0);
  struct heif_error error = cheif_host.create_image(cheif_codec.width(image, 0), cheif_codec.height(image, 0),
                                                    is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr,
                                                    (enum heif_chroma)format, result);
  for (int channel = 0; error.code == heif_error_Ok && channel < (is_gray ? 1 : 3); channel++) {
    const int width = cheif_codec.width(image, channel), height = cheif_codec.height(image, channel);
    if (cheif_codec.depth(image, channel) != depth || width <= 0 || height <= 0) {
      error = (struct heif_error){heif_error_Unsupported_feature, heif_suberror_Unsupported_color_conversion,
                                  "the picture's planes have different depths"};
      break;
    }
    error = cheif_host.add_plane(*result, channels[channel], width, height, depth);
    if (error.code != heif_error_Ok) break;
    int from_stride, to_stride;
    const uint8_t *from = cheif_codec.plane(image, channel, &from_stride);
    uint8_t *to = cheif_host.get_plane(*result, channels[channel], &to_stride);
    const size_t count = (size_t)width * (size_t)((depth + 7) / 8);
    for (int y = 0; y < height; y++) memcpy(to + (size_t)y * to_stride, from + (size_t)y * from_stride, count);
  }
  if (error.code != heif_error_Ok) {
    if (*result) cheif_host.release_image(*result);
    *result = NULL;
    return error;
  }
  struct heif_color_profile_nclx *colors = cheif_host.alloc_colors();
  if (colors) {
    // Unknown numbers stay unspecified.
    cheif_host.set_primaries(colors, (uint16_t)cheif_codec.primaries(image));
    cheif_host.set_transfer(colors, (uint16_t)cheif_codec.transfer(image));
    cheif_host.set_matrix(colors, (uint16_t)cheif_codec.matrix(image));
    colors->full_range_flag = cheif_codec.full_range(image) != 0;
    cheif_host.set_colors(*result, colors);
    cheif_host.free_colors(colors);
  }
  return success;
}

// Decodes the picture; with its checks, or else with its filters, which change pixels but no verdict. libde265 doesn't let others
// allocate a picture that is filtered.
static struct heif_error decode(Picture *picture, bool checks, struct heif_image **result) {
  if (ccodec_is_late(cheif_decoding->deadline)) return fail(CHEIF_TOO_LATE);
  de265_decoder_context *context = cheif_codec.new_decoder();
  if (!context) return fail(CHEIF_NO_MEMORY);
  struct de265_image_allocation allocation = {get_buffer, release_buffer};
  if (checks) {
    cheif_codec.set_parameter(context, DE265_DECODER_PARAM_DISABLE_SAO, 1);
    cheif_codec.set_parameter(context, DE265_DECODER_PARAM_DISABLE_DEBLOCKING, 1);
    cheif_codec.set_allocation(context, &allocation, picture);
  }
  for (size_t at = 0; at + 4 <= picture->size;) {
    const uint8_t *data = picture->data + at;
    const size_t count = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    cheif_codec.push_NAL(context, data + 4, (int)count, 0, NULL);
    at += 4 + count;
  }
  cheif_codec.flush_data(context);
  int more = 1, code = DE265_OK;
  const struct de265_image *image = NULL;
  while (more && code == DE265_OK && !image) {
    code = cheif_codec.decode(context, &more);
    image = cheif_codec.next_picture(context);
  }
  for (int warning; (warning = cheif_codec.get_warning(context)) != DE265_OK;) {
    if (is_harmless(warning)) add_warning(warning);
    else if (code == DE265_OK) code = warning;
  }
  struct heif_error error;
  if (cheif_decoding->failure != CHEIF_NONE) error = fail(cheif_decoding->failure);
  else if (code == DE265_ERROR_OUT_OF_MEMORY) error = fail(CHEIF_NO_MEMORY);
  else if (code != DE265_OK && !is_harmless(code)) error = damaged(code);
  else if (!image) error = fail(CHEIF_NOT_STILL);
  else if (checks && picture->luma && lacks_blocks(picture)) error = fail(CHEIF_INCOMPLETE);
  else error = result ? copy(image, result) : success;
  cheif_codec.free_decoder(context);
  return error;
}

// The functions that libheif calls.

static const char *get_name(void) { return "prewarm"; }

// Other users of libheif in this process keep their decoder.
static int get_priority(enum heif_compression_format format) {
  return cheif_decoding && format == heif_compression_HEVC ? 1000 : 0;
}

static struct heif_error new_decoder(void **decoder) {
  *decoder = calloc(1, sizeof(Picture));
  return *decoder ? success : fail(CHEIF_NO_MEMORY);
}

// `data` outlive the decoder: NAL units, each after its size in 4 bytes.
static struct heif_error push_data(void *decoder, const void *data, size_t size) {
  Picture *picture = decoder;
  picture->data = data;
  picture->size = size;
  int units = 0;
  bool has_picture = false;
  for (size_t at = 0; at < size;) {
    const uint8_t *unit = picture->data + at;
    const size_t rest = size - at;
    if (rest < 4) return fail(CHEIF_INCOMPLETE);
    const size_t count = (size_t)unit[0] << 24 | (size_t)unit[1] << 16 | (size_t)unit[2] << 8 | unit[3];
    if (count > rest - 4 || count > INT32_MAX) return fail(CHEIF_INCOMPLETE);
    const int type = count > 0 ? unit[4] >> 1 & 0x3F : FIRST_NON_VCL;
    if (++units > most_units || (type < BLA_W_LP) || (type > CRA && type < FIRST_NON_VCL)) return fail(CHEIF_NOT_STILL);
    if (type < FIRST_NON_VCL) has_picture = true;
    if (type < FIRST_NON_VCL && type != IDR_W_RADL && type != IDR_N_LP) picture->may_refer = true;
    at += 4 + count;
  }
  return has_picture ? success : fail(CHEIF_NOT_STILL);
}

static struct heif_error decode_image(void *decoder, struct heif_image **image) {
  *image = NULL;
  const bool is_proof = cheif_decoding->is_proof;
  struct heif_error error = decode(decoder, true, is_proof ? image : NULL);
  return error.code != heif_error_Ok || is_proof ? error : decode(decoder, false, image);
}

const struct heif_decoder_plugin cheif_decoder = {
  .plugin_api_version = 1,
  .get_plugin_name = get_name,
  .does_support_format = get_priority,
  .new_decoder = new_decoder,
  .free_decoder = free,
  .push_data = push_data,
  .decode_image = decode_image,
};

#endif
