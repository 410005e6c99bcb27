#ifndef CPNG_DECODING_H
#define CPNG_DECODING_H

#include "failures.h"

// What both ways of reading do alike.

// Before anything is read: the size that is expected, and nothing kept of the chunks that are no picture.
void cpng_restrict(png_structp png, CPNGExpectation expected);

// After the chunks in front of the picture: the size is the expected one, and rows become RGBA. Returns the passes over the
// picture.
int cpng_configure(png_structp png, png_infop info, CPNGExpectation expected);

void cpng_check_size(png_structp png, png_infop info, CPNGExpectation expected);

#endif
