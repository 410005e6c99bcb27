#ifndef CCODINGS_H
#define CCODINGS_H

// Decoders of content codings: zlib's of gzip and deflate (RFC 1952, RFC 1950), and those of brotli (RFC 7932) and Zstandard (RFC 8878),
// which are loaded with the first body that needs them.
//
// Debian's libcurl4 depends on both libraries, so they are usually installed. Their headers aren't needed: the few functions below have
// kept their binary interface since version 1.0.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CCodingsDecoder CCodingsDecoder;

typedef enum { CCODINGS_GZIP, CCODINGS_DEFLATE, CCODINGS_BROTLI, CCODINGS_ZSTD } CCodingsKind;

// The results of a step.
typedef enum { CCODINGS_MORE, CCODINGS_END, CCODINGS_INVALID } CCodingsStatus;

// Whether the library of a coding is installed; loads it on the first call.
bool ccodings_has(CCodingsKind kind);

// A decoder for one stream; NULL if its library isn't installed or memory is exhausted.
CCodingsDecoder *_Nullable ccodings_create(CCodingsKind kind);

void ccodings_free(CCodingsDecoder *_Nonnull decoder);

// Decodes as much of `input` as fits into `output`, and advances both. CCODINGS_END at the end of a stream, after which a step of
// Zstandard begins the next frame. CCODINGS_INVALID sets `error`.
CCodingsStatus ccodings_step(CCodingsDecoder *_Nonnull decoder, const uint8_t *_Nullable *_Nonnull input, size_t *_Nonnull input_size,
                             uint8_t *_Nonnull output, size_t output_size, size_t *_Nonnull written, const char *_Nullable *_Nonnull error);

#endif
