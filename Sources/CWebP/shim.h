// libwebp's decoder and encoder, its demuxer for files with several frames, and its muxer's animation encoder. All report errors by
// status, so Swift calls them directly.
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>
