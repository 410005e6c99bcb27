#include "CPNG.h"

#include <zlib.h>

uint32_t cpng_checksum(const uint8_t *bytes, size_t count) { return (uint32_t)crc32_z(0, bytes, count); }

size_t cpng_unpacked_bytes(const uint8_t *bytes, size_t count, size_t maximum) {
  z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)count};
  if (inflateInit(&stream) != Z_OK) return 0;
  uint8_t scratch[16 << 10];
  int status = Z_OK;
  while (status == Z_OK && stream.total_out <= maximum) {
    stream.next_out = scratch;
    stream.avail_out = sizeof scratch;
    status = inflate(&stream, Z_NO_FLUSH);
  }
  inflateEnd(&stream);
  return stream.total_out;
}
