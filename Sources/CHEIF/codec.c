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

static const struct heif_error success = {heif_error_Ok, heif_suberror_Unspecified, "Success"};

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
  if (ccodec_is_late(cheif_decoding->deadline)) return cheif_fail(CHEIF_TOO_LATE);
  de265_decoder_context *context = cheif_codec.new_decoder();
  if (!context) return cheif_fail(CHEIF_NO_MEMORY);
  struct de265_image_allocation allocation = {cheif_get_buffer, cheif_release_buffer};
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
  if (cheif_decoding->failure != CHEIF_NONE) error = cheif_fail(cheif_decoding->failure);
  else if (code == DE265_ERROR_OUT_OF_MEMORY) error = cheif_fail(CHEIF_NO_MEMORY);
  else if (code != DE265_OK && !is_harmless(code)) error = cheif_damaged(code);
  else if (!image) error = cheif_fail(CHEIF_NOT_STILL);
  else if (checks && picture->luma && cheif_lacks_blocks(picture)) error = cheif_fail(CHEIF_INCOMPLETE);
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
  return *decoder ? success : cheif_fail(CHEIF_NO_MEMORY);
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
    if (rest < 4) return cheif_fail(CHEIF_INCOMPLETE);
    const size_t count = (size_t)unit[0] << 24 | (size_t)unit[1] << 16 | (size_t)unit[2] << 8 | unit[3];
    if (count > rest - 4 || count > INT32_MAX) return cheif_fail(CHEIF_INCOMPLETE);
    const int type = count > 0 ? unit[4] >> 1 & 0x3F : FIRST_NON_VCL;
    if (++units > most_units || (type < BLA_W_LP) || (type > CRA && type < FIRST_NON_VCL)) return cheif_fail(CHEIF_NOT_STILL);
    if (type < FIRST_NON_VCL) has_picture = true;
    if (type < FIRST_NON_VCL && type != IDR_W_RADL && type != IDR_N_LP) picture->may_refer = true;
    at += 4 + count;
  }
  return has_picture ? success : cheif_fail(CHEIF_NOT_STILL);
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
