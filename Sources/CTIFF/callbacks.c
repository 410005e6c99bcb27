#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "reader.h"

#include <stdio.h>
#include <string.h>

tmsize_t ctiff_on_read(thandle_t handle, void *to, tmsize_t count) {
  CTIFFReader *reader = handle;
  if (count <= 0) return 0;
  uint64_t available = reader->position < reader->count ? reader->count - reader->position : 0;
  uint64_t length = (uint64_t)count < available ? (uint64_t)count : available;
  if (length < (uint64_t)count && reader->position <= INT64_MAX) {
    reader->report.missing_start = reader->position;
    reader->report.missing_end = reader->position + (uint64_t)count;
  }
  if (reader->reads_directory) reader->directory_bytes += length;
  if (reader->directory_bytes > ctiff_most_directory_bytes(reader)) return 0;
  if (length > 0) memcpy(to, reader->bytes + reader->position, length);
  reader->position += length;
  return (tmsize_t)length;
}

tmsize_t ctiff_on_write(thandle_t handle, void *from, tmsize_t count) {
  (void)handle, (void)from, (void)count;
  return -1;
}

toff_t ctiff_on_seek(thandle_t handle, toff_t offset, int whence) {
  CTIFFReader *reader = handle;
  if (whence == SEEK_CUR) offset += reader->position;
  if (whence == SEEK_END) offset += reader->count;
  return reader->position = offset;
}

int ctiff_on_close(thandle_t handle) {
  (void)handle;
  return 0;
}

toff_t ctiff_on_size(thandle_t handle) {
  CTIFFReader *reader = handle;
  // The length of a file that is arriving isn't known; libtiff mistrusts lengths beyond it.
  return reader->is_complete ? reader->count : (toff_t)1 << 40;
}

int ctiff_on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments) {
  (void)tiff, (void)module;
  CTIFFReader *reader = user;
  // The first of several errors is the most precise one.
  if (!reader->has_failed) vsnprintf(reader->report.texts.message, CCODEC_MESSAGE_BYTES, format, arguments);
  reader->has_failed = true;
  return 1;
}

// libtiff only warns of these, but pixels are missing: libjpeg fills them with grey, the fax decoder with white.
static bool is_about_missing_pixels(const char *line) {
  static const char *const starts[] = {"Premature end of JPEG file", "Premature EOF at line", "Improper JPEG strip/tile size"};
  for (size_t index = 0; index < sizeof starts / sizeof *starts; index++) {
    if (strncmp(line, starts[index], strlen(starts[index])) == 0) return true;
  }
  return false;
}

int ctiff_on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments) {
  (void)tiff, (void)module;
  CTIFFReader *reader = user;
  if (!reader->reports_warnings) return 1;
  char line[CCODEC_MESSAGE_BYTES];
  vsnprintf(line, sizeof line, format, arguments);
  if (is_about_missing_pixels(line)) {
    ctiff_fail(reader, CCODEC_UNDECODABLE, "%s", line);
  } else if (strncmp(line, "Old-style LZW codes", 19) != 0) {
    ccodec_warn(&reader->report.texts, line);
  }
  return 1;
}

CCodecStatus ctiff_fail(CTIFFReader *reader, CCodecStatus status, const char *format, ...) {
  if (!reader->has_failed) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->report.texts.message, CCODEC_MESSAGE_BYTES, format, arguments);
    va_end(arguments);
  }
  reader->has_failed = true;
  return status;
}

#endif
