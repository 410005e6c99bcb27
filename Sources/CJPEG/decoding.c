#include "decoding.h"

void cjpeg_configure(j_decompress_ptr jpeg, CJPEGExpectation expected) {
  if (jpeg->image_width != expected.width || jpeg->image_height != expected.height)
    cjpeg_fail((j_common_ptr)jpeg, CCODEC_UNDECODABLE, "two frame headers with different sizes");
  // Four components of 16-bit coefficients in blocks padded to at most twice the image, and room for tables and rows.
  jpeg->mem->max_memory_to_use = (long)((size_t)expected.width * expected.height * 16 + ((size_t)64 << 20));
  switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE: case JCS_RGB: case JCS_YCbCr: jpeg->out_color_space = JCS_EXT_RGBA; break;
    case JCS_CMYK: case JCS_YCCK: jpeg->out_color_space = JCS_CMYK; break;
    default: cjpeg_fail((j_common_ptr)jpeg, CCODEC_UNDECODABLE, "a colour space other than grey, RGB, YCbCr, CMYK and YCCK");
  }
  jpeg->scale_num = expected.eighths;
  jpeg->scale_denom = 8;
}

void cjpeg_check_scan(j_decompress_ptr jpeg, unsigned maximum_scans) {
  if (jpeg->input_scan_number > (int)maximum_scans)
    cjpeg_fail((j_common_ptr)jpeg, CCODEC_UNDECODABLE, "more scans than allowed");
}

// Converts CMYK to RGBA in place. JPEGs with four colours store inverted ink, 255 meaning none: Adobe's programs write them so, and
// as they came first, decoders (of browsers, Pillow) read them so whether or not Adobe's marker is present.
static void convert_from_cmyk(uint8_t *row, unsigned width) {
  for (unsigned x = 0; x < width; x++, row += 4) {
    unsigned light = row[3];
    for (int channel = 0; channel < 3; channel++) row[channel] = (uint8_t)((row[channel] * light + 127) / 255);
    row[3] = 255;
  }
}

int cjpeg_read_row(j_decompress_ptr jpeg, uint8_t *row) {
  JSAMPROW rows[1] = {row};
  if (jpeg_read_scanlines(jpeg, rows, 1) == 0) return 0;
  if (jpeg->out_color_space == JCS_CMYK) convert_from_cmyk(row, jpeg->output_width);
  return 1;
}
