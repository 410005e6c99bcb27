// libwebp's decoder and encoder, its demuxer for files of several frames, and its muxer's encoder of animations. All report by status, so
// Swift calls them as they are.
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>
