// libavif's decoder. It reports by status and reads through callbacks that may be Swift's, so Swift calls it as it is.
#include <avif/avif.h>
