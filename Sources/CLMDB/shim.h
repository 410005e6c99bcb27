// LMDB, the key-value store of the disk cache. The header is used directly.
#include <lmdb.h>
