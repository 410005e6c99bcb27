// giflib's decoder, which reports errors by status and number, so Swift calls it directly. Debian ships no pkg-config file for it.
#include <gif_lib.h>
