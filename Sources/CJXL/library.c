#include "CJXL.h"
