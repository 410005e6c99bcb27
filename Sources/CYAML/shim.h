// libyaml 0.2 (Debian: libyaml-dev). Only plain functions and structs are used, so no wrappers are needed.
#include <yaml.h>
