// jansson 2.14 (Debian: libjansson-dev): parses JSON. Only plain and inline functions are used, so no wrappers are needed.
#include <jansson.h>
