#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "reader.h"

// The sample with the opacity. ExtraSamples lists the samples beyond the colours: 1 is opacity by which colours are multiplied, 2 opacity
// by which they aren't (TIFF 6.0, section 18). A fourth sample of RGB that isn't listed is opacity in most readers.
static void find_alpha(CTIFFReader *reader, Tags *tags) {
  uint16_t count, *kinds;
  tags->alpha = -1;
  if (!ctiff_functions.TIFFGetField(reader->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds)) {
    if (tags->photometric == PHOTOMETRIC_RGB && tags->samples == 4) tags->alpha = 3;
    return;
  }
  for (uint16_t index = 0; index < count && tags->alpha < 0 && count < tags->samples; index++) {
    if (kinds[index] != EXTRASAMPLE_ASSOCALPHA && kinds[index] != EXTRASAMPLE_UNASSALPHA) continue;
    tags->alpha = tags->samples - count + index;
    tags->is_premultiplied = kinds[index] == EXTRASAMPLE_ASSOCALPHA;
  }
}

static void read_tags(CTIFFReader *reader) {
  TIFF *tiff = reader->tiff;
  Tags *tags = &reader->tags;
  uint16_t *kinds, photometric;
  *tags = (Tags){0};
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &tags->bits);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &tags->samples);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &tags->format);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &tags->planar);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &tags->compression);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_INKSET, &tags->ink_set);
  ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &tags->extra_samples, &kinds);
  if (tags->format == SAMPLEFORMAT_VOID) tags->format = SAMPLEFORMAT_UINT;
  tags->photometric = ctiff_functions.TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric) ? photometric : -1;
  find_alpha(reader, tags);
}

static double smaller(double first, double second) { return first < second ? first : second; }

// The memory that libtiff and the conversion need for a strip or tile, and for the directory.
static uint64_t estimated_memory(const CTIFFReader *reader) {
  const Tags *tags = &reader->tags;
  bool is_separate = tags->planar == PLANARCONFIG_SEPARATE && tags->samples > 1, is_compressed = tags->compression != COMPRESSION_NONE;
  // Chroma subsampling and JPEG round sizes up to whole blocks; with separate planes, at most five and a spare one are kept.
  double pixels = ((double)reader->chunk_width + 15) * ((double)reader->chunk_height + 15);
  double samples = is_separate && tags->samples > MOST_PLANES ? MOST_PLANES : tags->samples;
  double chunk = pixels * (tags->bits > 8 ? tags->bits : 8) / 8 * samples + (double)reader->chunk_width * 5;
  // JPEG, WebP, LZMA and Zstandard keep coefficients, or what they refer to.
  double codec = is_compressed ? chunk * 2 : 0;
  // libtiff reads at most 1 MiB of a strip, or ten times its pixels.
  double compressed = smaller((double)reader->count, chunk * 10 + (1 << 20));
  // Positions, lengths and copies of them; libtiff allocates at most a million that the file lacks.
  double across = reader->chunk_width > 0 ? (double)reader->width / reader->chunk_width + 1 : 1;
  double down = reader->chunk_height > 0 ? (double)reader->height / reader->chunk_height + 1 : 1;
  double chunks = smaller(across * down * (is_separate ? tags->samples : 1), 1e6 + (double)reader->count / 4);
  double all = chunk + codec + compressed + chunks * 32 + (double)reader->directory_bytes * 4 + (1 << 20);
  return all < 1e18 ? (uint64_t)all : (uint64_t)1e18;
}

CCodecStatus ctiff_reader_next_page(CTIFFReader *reader, CTIFFPage *page) {
  TIFF *tiff = reader->tiff;
  *page = (CTIFFPage){0};
  if (tiff == NULL) return ctiff_fail(reader, CCODEC_UNDECODABLE, "its header is invalid");
  ctiff_free_page(reader);
  reader->number++;
  reader->reports_warnings = false;
  reader->directory_bytes = 0;
  reader->reads_directory = true;
  bool is_read = ctiff_functions.TIFFReadDirectory(tiff);
  reader->reads_directory = false;
  if (reader->directory_bytes > ctiff_most_directory_bytes(reader)) return CCODEC_TOO_LARGE;
  if (!is_read) return ctiff_fail(reader, CCODEC_UNDECODABLE, "its directory is invalid");
  if (reader->is_complete && reader->report.missing_end > 0) {
    return ctiff_fail(reader, CCODEC_TRUNCATED, "a field of page %u ends at %llu", reader->number,
                      (unsigned long long)reader->report.missing_end);
  }
  // Errors in tags that don't matter.
  reader->has_failed = false;
  reader->report.texts.message[0] = 0;
  reader->report.missing_start = reader->report.missing_end = 0;
  reader->width = reader->height = reader->chunk_width = reader->chunk_height = 0;
  ctiff_functions.TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &reader->width);
  ctiff_functions.TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &reader->height);
  if (reader->width == 0 || reader->height == 0) {
    return ctiff_fail(reader, CCODEC_UNDECODABLE, "a page of %u x %u pixels", reader->width, reader->height);
  }
  read_tags(reader);
  reader->is_tiled = ctiff_functions.TIFFIsTiled(tiff);
  if (reader->is_tiled) {
    ctiff_functions.TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &reader->chunk_width);
    ctiff_functions.TIFFGetField(tiff, TIFFTAG_TILELENGTH, &reader->chunk_height);
  } else {
    reader->chunk_width = reader->width;
    ctiff_functions.TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &reader->chunk_height);
    if (reader->chunk_height > reader->height) reader->chunk_height = reader->height;
  }
  page->width = reader->width;
  page->height = reader->height;
  page->photometric = reader->tags.photometric;
  page->has_alpha = reader->tags.alpha >= 0;
  page->memory = reader->memory = estimated_memory(reader);
  page->rows_per_band = reader->chunk_height;
  page->bands = reader->chunk_height > 0 ? (uint32_t)ctiff_rounded_up(reader->height, reader->chunk_height) : 0;
  ctiff_functions.TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &page->profile_bytes, &page->profile);
  return CCODEC_OK;
}

// The bytes that readers need of a strip or tile of that length. Some encoders write too large lengths of uncompressed ones.
static uint64_t used_bytes(const CTIFFReader *reader, uint32_t index, uint64_t length) {
  if (reader->tags.compression != COMPRESSION_NONE || reader->chunk_height == 0) return length;
  uint32_t strips = (reader->height - 1) / reader->chunk_height + 1, left = reader->height - index % strips * reader->chunk_height;
  uint64_t needed = reader->is_tiled ? ctiff_functions.TIFFTileSize64(reader->tiff)
                                     : ctiff_functions.TIFFVStripSize64(reader->tiff, left < reader->chunk_height ? left : reader->chunk_height);
  return needed > 0 && needed < length ? needed : length;
}

// Of a file that is arriving; it may have a million.
enum { MOST_KNOWN_ENDS = 65536 };

CCodecStatus ctiff_reader_find_end(CTIFFReader *reader, uint64_t *end) {
  TIFF *tiff = reader->tiff;
  *end = 0;
  uint32_t count = reader->is_tiled ? ctiff_functions.TIFFNumberOfTiles(tiff) : ctiff_functions.TIFFNumberOfStrips(tiff);
  if (!reader->is_complete && count > MOST_KNOWN_ENDS) count = MOST_KNOWN_ENDS;
  for (uint32_t index = 0; index < count; index++) {
    int has_failed = 0, lacks_length = 0;
    uint64_t start = ctiff_functions.TIFFGetStrileOffsetWithErr(tiff, index, &has_failed);
    uint64_t length = ctiff_functions.TIFFGetStrileByteCountWithErr(tiff, index, &lacks_length);
    if (reader->is_complete && (has_failed || lacks_length || start == 0)) {
      return ctiff_fail(reader, CCODEC_TRUNCATED, "strip or tile %u of page %u has no position", index + 1, reader->number);
    }
    if (has_failed || lacks_length) break;
    if (start == 0 || length == 0) continue;
    length = used_bytes(reader, index, length);
    uint64_t last = length < INT64_MAX - (start < INT64_MAX ? start : INT64_MAX) ? start + length : INT64_MAX;
    if (last > *end) *end = last;
    if (reader->is_complete && last > reader->count) {
      return ctiff_fail(reader, CCODEC_TRUNCATED, "strip or tile %u of page %u ends at %llu", index + 1, reader->number,
                        (unsigned long long)last);
    }
  }
  return CCODEC_OK;
}

#endif
