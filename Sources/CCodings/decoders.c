#include "CCodings.h"

#include <CLoading.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

// The structures and values of zstd.h and brotli/decode.h that are part of their binary interfaces.
typedef struct {
  void *bytes;
  size_t size, position;
} Buffer;
enum { BROTLI_ERROR, BROTLI_SUCCESS };
enum { ZSTD_WINDOW_LOG_MAX = 100 };
// Content codings use windows of at most 8 MB (RFC 9659).
enum { WINDOW_LOG = 23 };

typedef struct {
  void *(*create)(void *allocate, void *release, void *context);
  void (*destroy)(void *state);
  int (*decompress)(void *state, size_t *input_size, const uint8_t **input, size_t *output_size, uint8_t **output, size_t *total);
  int (*error)(const void *state);
  const char *(*describe)(int error);
} Brotli;

typedef struct {
  void *(*create)(void);
  size_t (*destroy)(void *state);
  size_t (*set)(void *state, int parameter, int value);
  size_t (*decompress)(void *state, Buffer *output, Buffer *input);
  unsigned (*is_error)(size_t result);
  const char *(*describe)(size_t result);
} Zstd;

static Brotli brotli;
static Zstd zstd;
static bool has_brotli, has_zstd;

static void load(void) {
  static const char *const brotli_names[] = {"BrotliDecoderCreateInstance", "BrotliDecoderDestroyInstance",
                                             "BrotliDecoderDecompressStream", "BrotliDecoderGetErrorCode", "BrotliDecoderErrorString"};
  static const char *const zstd_names[] = {"ZSTD_createDCtx",       "ZSTD_freeDCtx", "ZSTD_DCtx_setParameter",
                                           "ZSTD_decompressStream", "ZSTD_isError",  "ZSTD_getErrorName"};
  char error[CLOADING_ERROR_SIZE];
  has_brotli = cloading_load(CLOADING_FILE("brotlidec", "1"), brotli_names, 5, (void **)&brotli, error);
  has_zstd = cloading_load(CLOADING_FILE("zstd", "1"), zstd_names, 6, (void **)&zstd, error);
}

struct CCodingsDecoder {
  CCodingsKind kind;
  void *state;
  // zlib's, which begins with the first two bytes: `deflate` is zlib's format (RFC 9110, section 8.4.1.2), but some servers send raw
  // deflate data.
  z_stream stream;
  uint8_t head[2];
  size_t head_size;
  bool has_begun;
};

static bool is_zlib(CCodingsKind kind) { return kind == CCODINGS_GZIP || kind == CCODINGS_DEFLATE; }

bool ccodings_has(CCodingsKind kind) {
  if (is_zlib(kind)) return true;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return kind == CCODINGS_BROTLI ? has_brotli : has_zstd;
}

CCodingsDecoder *ccodings_create(CCodingsKind kind) {
  if (!ccodings_has(kind)) return NULL;
  CCodingsDecoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return NULL;
  decoder->kind = kind;
  if (is_zlib(kind)) return decoder;
  decoder->state = kind == CCODINGS_BROTLI ? brotli.create(NULL, NULL, NULL) : zstd.create();
  if (decoder->state == NULL) {
    free(decoder);
    return NULL;
  }
  if (kind == CCODINGS_ZSTD) zstd.set(decoder->state, ZSTD_WINDOW_LOG_MAX, WINDOW_LOG);
  return decoder;
}

void ccodings_free(CCodingsDecoder *decoder) {
  if (decoder->has_begun) inflateEnd(&decoder->stream);
  if (decoder->kind == CCODINGS_BROTLI) {
    brotli.destroy(decoder->state);
  } else if (decoder->kind == CCODINGS_ZSTD) {
    zstd.destroy(decoder->state);
  }
  free(decoder);
}

static CCodingsStatus inflate_step(CCodingsDecoder *decoder, const uint8_t **input, size_t *input_size, const char **error) {
  z_stream *stream = &decoder->stream;
  stream->next_in = (Bytef *)*input;
  stream->avail_in = *input_size > UINT_MAX ? UINT_MAX : (uInt)*input_size;
  size_t given = stream->avail_in;
  int result = inflate(stream, Z_NO_FLUSH);
  *input = stream->next_in;
  *input_size -= given - stream->avail_in;
  if (result == Z_STREAM_END) return CCODINGS_END;
  if (result == Z_OK || result == Z_BUF_ERROR) return CCODINGS_MORE;
  *error = stream->msg != NULL ? stream->msg : zError(result);
  return CCODINGS_INVALID;
}

static CCodingsStatus zlib_step(CCodingsDecoder *decoder, const uint8_t **input, size_t *input_size, const char **error) {
  if (decoder->has_begun) return inflate_step(decoder, input, input_size, error);
  while (decoder->head_size < 2 && *input_size > 0) {
    decoder->head[decoder->head_size++] = *(*input)++;
    --*input_size;
  }
  if (decoder->head_size < 2) return CCODINGS_MORE;
  const uint8_t *head = decoder->head;
  bool has_header = (head[0] & 15) == 8 && (head[0] << 8 | head[1]) % 31 == 0;
  int window = decoder->kind == CCODINGS_GZIP ? MAX_WBITS + 16 : has_header ? MAX_WBITS : -MAX_WBITS;
  if (inflateInit2(&decoder->stream, window) != Z_OK) {
    *error = "zlib is out of memory";
    return CCODINGS_INVALID;
  }
  decoder->has_begun = true;
  CCodingsStatus status = inflate_step(decoder, &head, &decoder->head_size, error);
  return status == CCODINGS_MORE ? inflate_step(decoder, input, input_size, error) : status;
}

CCodingsStatus ccodings_step(CCodingsDecoder *decoder, const uint8_t **input, size_t *input_size, uint8_t *output, size_t output_size,
                             size_t *written, const char **error) {
  if (decoder->kind == CCODINGS_BROTLI) {
    size_t left = output_size;
    int result = brotli.decompress(decoder->state, input_size, input, &left, &output, NULL);
    *written = output_size - left;
    if (result == BROTLI_ERROR) *error = brotli.describe(brotli.error(decoder->state));
    return result == BROTLI_ERROR ? CCODINGS_INVALID : result == BROTLI_SUCCESS ? CCODINGS_END : CCODINGS_MORE;
  }
  if (is_zlib(decoder->kind)) {
    decoder->stream.next_out = output;
    decoder->stream.avail_out = output_size > UINT_MAX ? UINT_MAX : (uInt)output_size;
    size_t space = decoder->stream.avail_out;
    CCodingsStatus status = zlib_step(decoder, input, input_size, error);
    *written = space - decoder->stream.avail_out;
    return status;
  }
  Buffer in = {(void *)*input, *input_size, 0}, out = {output, output_size, 0};
  size_t result = zstd.decompress(decoder->state, &out, &in);
  *input += in.position;
  *input_size -= in.position;
  *written = out.position;
  if (zstd.is_error(result)) {
    *error = zstd.describe(result);
    return CCODINGS_INVALID;
  }
  return result == 0 ? CCODINGS_END : CCODINGS_MORE;
}
