#include "CConfinement.h"

bool confinement_has_seccomp(void) { return seccomp_api_get() > 0; }
