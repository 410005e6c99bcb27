// For memmem.
#define _GNU_SOURCE
#include "CExpat.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

const char *cexpat_encoding(const void *bytes, size_t count) {
  static const char declaration[] = "<?xml", key[] = "encoding";
  const char *text = bytes;
  if (count >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) return "UTF-16";
  if (count >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) return "UTF-8";
  if (count < sizeof declaration || memcmp(text, declaration, sizeof declaration - 1) != 0) return NULL;
  const char *end = memchr(text, '>', count < 256 ? count : 256);
  const char *name = end == NULL ? NULL : memmem(text, end - text, key, sizeof key - 1);
  if (name == NULL) return NULL;
  name += sizeof key - 1;
  while (name < end && strchr(" \t\r\n='\"", *name) != NULL) name++;
  return end - name > 4 && strncasecmp(name, "utf8", 4) == 0 && (name[4] == '"' || name[4] == '\'') ? "UTF-8" : NULL;
}

// The character of those bytes; -1 if they aren't one, -2 if they are the beginning of one.
static int decode(iconv_t converter, const char *bytes, size_t count) {
  unsigned char result[8];
  char *source = (char *)bytes, *target = (char *)result;
  size_t left = count, room = sizeof result;
  iconv(converter, NULL, NULL, NULL, NULL);
  if (iconv(converter, &source, &left, &target, &room) == (size_t)-1) return errno == EINVAL ? -2 : -1;
  if (left != 0 || room != sizeof result - 4) return -1;
  return (int)((unsigned)result[0] << 24 | (unsigned)result[1] << 16 | (unsigned)result[2] << 8 | result[3]);
}

static int convert(void *converter, const char *bytes) {
  int character = decode(converter, bytes, 2);
  return character < 0 ? -1 : character;
}

static void close_converter(void *converter) { iconv_close(converter); }

static int find_encoding(void *data, const XML_Char *name, XML_Encoding *encoding) {
  (void)data;
  // iconv accepts a suffix such as //TRANSLIT.
  iconv_t converter = strchr(name, '/') != NULL ? (iconv_t)-1 : iconv_open("UTF-32BE", name);
  if (converter == (iconv_t)-1) return XML_STATUS_ERROR;
  for (int byte = 0; byte < 256; byte++) encoding->map[byte] = decode(converter, &(char){(char)byte}, 1);
  encoding->data = converter;
  encoding->convert = convert;
  encoding->release = close_converter;
  return XML_STATUS_OK;
}

void cexpat_use_iconv(XML_Parser parser) { XML_SetUnknownEncodingHandler(parser, find_encoding, NULL); }
