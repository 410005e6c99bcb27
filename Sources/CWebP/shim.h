// libwebp's decoder, and its demuxer for files of several frames. Both report by status, so Swift calls them as they are.
#include <webp/decode.h>
#include <webp/demux.h>
