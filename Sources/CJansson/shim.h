// jansson 2.14 (Debian: libjansson-dev): reads JSON. Nothing needs a wrapper: what is used are plain and inline functions.
#include <jansson.h>
