#include "CHEIF.h"

// libde265 before version 1.1 prints to standard error if it doesn't accept the sizes of blocks in a sequence parameter set, so they
// are checked before.

#if __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>)

#include "CHEIFCodec.h"

// Reads bits without the bytes that prevent start codes (Rec. ITU-T H.265, section 7.3.1.1); beyond the end they are 0.
typedef struct {
  const uint8_t *data;
  size_t size, at;
  int bit, zeros;
  bool is_broken;
} Bits;

static unsigned read_bit(Bits *bits) {
  if (bits->bit == 0 && bits->zeros >= 2 && bits->at < bits->size && bits->data[bits->at] == 3) {
    bits->at++;
    bits->zeros = 0;
  }
  if (bits->at >= bits->size) {
    bits->is_broken = true;
    return 0;
  }
  const uint8_t byte = bits->data[bits->at];
  const unsigned value = byte >> (7 - bits->bit) & 1;
  if (++bits->bit == 8) {
    bits->bit = 0;
    bits->at++;
    bits->zeros = byte == 0 ? bits->zeros + 1 : 0;
  }
  return value;
}

static unsigned read_bits(Bits *bits, int count) {
  unsigned value = 0;
  while (count-- > 0) value = value << 1 | read_bit(bits);
  return value;
}

// Section 9.2; libde265 allows 20 leading zeros.
static unsigned read_number(Bits *bits) {
  int zeros = 0;
  while (!bits->is_broken && read_bit(bits) == 0) {
    if (++zeros > 20) bits->is_broken = true;
  }
  return (1u << zeros) - 1 + read_bits(bits, zeros);
}

// Sections 7.3.2.2.1 and 7.3.3.
bool cheif_accepts_sps(const uint8_t *unit, size_t size) {
  Bits bits = {.data = unit, .size = size};
  read_bits(&bits, 16 + 4);
  const int sub_layers = (int)read_bits(&bits, 3);
  read_bits(&bits, 1 + 88 + 8);
  bool has_profile[8], has_level[8];
  for (int layer = 0; layer < sub_layers; layer++) {
    has_profile[layer] = read_bit(&bits);
    has_level[layer] = read_bit(&bits);
  }
  if (sub_layers > 0) read_bits(&bits, 2 * (8 - sub_layers));
  for (int layer = 0; layer < sub_layers; layer++) read_bits(&bits, (has_profile[layer] ? 88 : 0) + (has_level[layer] ? 8 : 0));
  read_number(&bits);
  const unsigned chroma_format = read_number(&bits);
  if (chroma_format == 3) read_bit(&bits);
  const unsigned width = read_number(&bits), height = read_number(&bits);
  if (read_bit(&bits)) {
    for (int side = 0; side < 4; side++) read_number(&bits);
  }
  const unsigned luma_depth = read_number(&bits) + 8, chroma_depth = read_number(&bits) + 8;
  read_number(&bits);
  for (int layer = read_bit(&bits) ? 0 : sub_layers; layer <= sub_layers; layer++) {
    for (int number = 0; number < 3; number++) read_number(&bits);
  }
  const unsigned coding = read_number(&bits) + 3, largest_coding = coding + read_number(&bits);
  const unsigned transform = read_number(&bits) + 2, largest_transform = transform + read_number(&bits);
  const unsigned inter_depth = read_number(&bits), intra_depth = read_number(&bits);
  if (bits.is_broken || chroma_format > 3 || width == 0 || height == 0 || luma_depth > 16 || chroma_depth > 16) return false;
  if (largest_coding > 6 || largest_transform > 5 || largest_transform > largest_coding || transform > coding) return false;
  if (width % (1u << coding) != 0 || height % (1u << coding) != 0) return false;
  return inter_depth <= largest_coding - transform && intra_depth <= largest_coding - transform;
}

#endif
