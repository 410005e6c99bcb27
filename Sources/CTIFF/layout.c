#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "reader.h"

// Others are older than TIFF 6.0 or rarer, and their decoders are less tested; JBIG's ends the process if it lacks memory.
static bool is_decoded(uint16_t compression) {
  switch (compression) {
  case COMPRESSION_NONE:
  case COMPRESSION_CCITTRLE:
  case COMPRESSION_CCITTFAX3:
  case COMPRESSION_CCITTFAX4:
  case COMPRESSION_LZW:
  case COMPRESSION_JPEG:
  case COMPRESSION_ADOBE_DEFLATE:
  case COMPRESSION_DEFLATE:
  case COMPRESSION_PACKBITS:
  case COMPRESSION_LZMA:
  case COMPRESSION_ZSTD:
  case COMPRESSION_WEBP: return true;
  default: return false;
  }
}

static bool is_fax(uint16_t compression) { return compression >= COMPRESSION_CCITTRLE && compression <= COMPRESSION_CCITTFAX4; }

// The tag is required, but libtiff and others read files without it.
static CCodecStatus guess_photometric(CTIFFReader *reader, Tags *tags) {
  switch (tags->samples - tags->extra_samples) {
  case 1: tags->photometric = is_fax(tags->compression) ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK; return CCODEC_OK;
  case 3: tags->photometric = PHOTOMETRIC_RGB; return CCODEC_OK;
  default: return ctiff_fail(reader, CCODEC_UNDECODABLE, "Missing needed PhotometricInterpretation tag");
  }
}

static CCodecStatus set_ycbcr(CTIFFReader *reader, const Tags *tags) {
  TIFF *tiff = reader->tiff;
  Layout *layout = &reader->layout;
  layout->colors = 3;
  if (tags->compression == COMPRESSION_JPEG && !layout->is_separate && layout->samples == 3) {
    // libjpeg converts it.
    ctiff_functions.TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout->kind = KIND_RGB;
    return CCODEC_OK;
  }
  layout->kind = KIND_YCBCR;
  float *luma = NULL, *range = NULL;
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRSUBSAMPLING, &layout->block_width, &layout->block_height);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRCOEFFICIENTS, &luma);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_REFERENCEBLACKWHITE, &range);
  if (luma == NULL || range == NULL || layout->block_width == 0 || layout->block_height == 0 || layout->block_width > 4 ||
      layout->block_height > 4 || !(luma[1] > 0)) {
    return ctiff_fail(reader, CCODEC_UNDECODABLE, "Invalid values for YCbCr tags");
  }
  bool has_blocks = layout->block_width > 1 || layout->block_height > 1;
  if (layout->format != SAMPLEFORMAT_UINT || layout->bits > 16 ||
      (has_blocks && (layout->is_separate || layout->samples != 3 || layout->bits != 8))) {
    return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert YCbCr with %u samples of %u bits%s", layout->samples, layout->bits,
                      layout->is_separate ? " in separate planes" : "");
  }
  for (int index = 0; index < 3; index++) {
    layout->luma[index] = luma[index];
    // Samples are reduced to 8 bits first.
    float scale = 255.0f / (float)((1 << layout->bits) - 1), black = range[index * 2] * scale, white = range[index * 2 + 1] * scale;
    for (int code = 0; code < 256; code++) {
      layout->codes[index][code] = ((float)code - black) * (index == 0 ? 255 : 127) / (white != black ? white - black : 1);
    }
  }
  return CCODEC_OK;
}

static void read_palette(CTIFFReader *reader) {
  uint16_t *columns[3] = {NULL, NULL, NULL};
  unsigned colors = 1u << reader->layout.bits, most = 0;
  if (!ctiff_functions.TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &columns[0], &columns[1], &columns[2])) {
    ctiff_fail(reader, CCODEC_UNDECODABLE, "Missing required \"Colormap\" tag");
    return;
  }
  for (int column = 0; column < 3; column++) {
    for (unsigned index = 0; index < colors; index++) most = columns[column][index] > most ? columns[column][index] : most;
  }
  // Colours have 16 bits (TIFF 6.0, section 5), but some encoders write 8.
  for (int column = 0; column < 3; column++) {
    for (unsigned index = 0; index < colors; index++) {
      reader->layout.palette[column][index] = (uint8_t)(most < 256 ? columns[column][index] : columns[column][index] >> 8);
    }
  }
}

static CCodecStatus set_kind(CTIFFReader *reader, const Tags *tags) {
  Layout *layout = &reader->layout;
  switch (tags->photometric) {
  case PHOTOMETRIC_MINISWHITE:
  case PHOTOMETRIC_MINISBLACK:
  case PHOTOMETRIC_MASK:
    layout->kind = KIND_GREY;
    layout->colors = 1;
    layout->is_inverted = tags->photometric == PHOTOMETRIC_MINISWHITE;
    break;
  case PHOTOMETRIC_RGB:
    layout->kind = KIND_RGB;
    layout->colors = 3;
    break;
  case PHOTOMETRIC_PALETTE:
    layout->kind = KIND_PALETTE;
    layout->colors = 1;
    if (layout->bits > 8 || layout->format != SAMPLEFORMAT_UINT) {
      return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert a palette image with %u bits per sample", layout->bits);
    }
    read_palette(reader);
    if (reader->has_failed) return CCODEC_UNDECODABLE;
    break;
  case PHOTOMETRIC_SEPARATED:
    layout->kind = KIND_CMYK;
    layout->colors = 4;
    if (tags->ink_set != INKSET_CMYK) return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert inks other than CMYK");
    break;
  case PHOTOMETRIC_YCBCR: {
    CCodecStatus status = set_ycbcr(reader, tags);
    if (status != CCODEC_OK) return status;
    break;
  }
  case PHOTOMETRIC_CIELAB:
    layout->kind = KIND_LAB;
    layout->colors = 3;
    if ((layout->bits != 8 && layout->bits != 16) || layout->format != SAMPLEFORMAT_UINT) {
      return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert CIE L*a*b* with %u bits per sample", layout->bits);
    }
    break;
  default:
    return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert colours with PhotometricInterpretation %u", tags->photometric);
  }
  if (layout->samples < layout->colors) {
    return ctiff_fail(reader, CCODEC_UNDECODABLE, "%u samples per pixel, but its colours need %u", layout->samples, layout->colors);
  }
  if (ctiff_can_unpack(layout->bits, layout->format)) return CCODEC_OK;
  return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm can't convert samples of %u bits with SampleFormat %u", layout->bits,
                    layout->format);
}

CCodecStatus ctiff_read_layout(CTIFFReader *reader) {
  Tags tags = reader->tags;
  CCodecStatus status = tags.photometric < 0 ? guess_photometric(reader, &tags) : CCODEC_OK;
  if (status != CCODEC_OK) return status;
  if (!is_decoded(tags.compression)) {
    return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm doesn't decode TIFF images with Compression %u", tags.compression);
  }
  if (!ctiff_functions.TIFFIsCODECConfigured(tags.compression)) {
    return ctiff_fail(reader, CCODEC_UNSUPPORTED, "the installed libtiff doesn't support Compression %u", tags.compression);
  }
  uint32_t depth = 1;
  ctiff_functions.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_IMAGEDEPTH, &depth);
  if (depth != 1) return ctiff_fail(reader, CCODEC_UNSUPPORTED, "prewarm doesn't decode TIFF images with ImageDepth %u", depth);
  Layout *layout = &reader->layout;
  *layout = (Layout){
      .bits = tags.bits,
      .samples = tags.samples,
      .format = tags.format,
      .is_separate = tags.planar == PLANARCONFIG_SEPARATE && tags.samples > 1,
      .alpha = tags.alpha < tags.samples ? tags.alpha : -1,
      .is_premultiplied = tags.is_premultiplied,
      .block_width = 1,
      .block_height = 1,
  };
  status = set_kind(reader, &tags);
  if (layout->alpha >= 0 && layout->alpha < layout->colors) layout->alpha = -1;
  return status;
}

#endif
