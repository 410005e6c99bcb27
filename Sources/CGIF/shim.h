// giflib's decoder, which reports by status and error number, so Swift calls it as it is. Debian ships no pkg-config file for it.
#include <gif_lib.h>
