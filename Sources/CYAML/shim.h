// libyaml 0.2 (Debian: libyaml-dev). Nothing needs a wrapper: the whole of what is used are plain functions and structs.
#include <yaml.h>
