#include "decoding.h"

void cpng_restrict(png_structp png, CPNGExpectation expected) {
  png_set_user_limits(png, expected.width, expected.height);
  // Keep only PLTE and tRNS, so that no profile or text is decompressed.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  // Like browsers, ignore ancillary chunks with a wrong checksum; in others it means a damaged picture.
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
}

void cpng_check_size(png_structp png, png_infop info, CPNGExpectation expected) {
  if (png_get_image_width(png, info) != expected.width || png_get_image_height(png, info) != expected.height)
    cpng_fail(png, CCODEC_UNDECODABLE, "the size changed while it was read");
}

int cpng_configure(png_structp png, png_infop info, CPNGExpectation expected) {
  cpng_check_size(png, info, expected);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != (size_t)expected.width * 4) cpng_fail(png, CCODEC_UNDECODABLE, "a row isn't RGBA");
  return passes;
}
