#ifndef CTIFF_LIBRARY_H
#define CTIFF_LIBRARY_H

#include <tiffio.h>

// The functions of libtiff that are used; TIFFClientOpenExt requires version 4.5.
#define CTIFF_FUNCTIONS(FUNCTION)                 \
  FUNCTION(TIFFOpenOptionsAlloc)                  \
  FUNCTION(TIFFOpenOptionsFree)                   \
  FUNCTION(TIFFOpenOptionsSetErrorHandlerExtR)    \
  FUNCTION(TIFFOpenOptionsSetWarningHandlerExtR)  \
  FUNCTION(TIFFOpenOptionsSetMaxSingleMemAlloc)   \
  FUNCTION(TIFFClientOpenExt)                     \
  FUNCTION(TIFFClose)                             \
  FUNCTION(TIFFReadDirectory)                     \
  FUNCTION(TIFFGetField)                          \
  FUNCTION(TIFFGetFieldDefaulted)                 \
  FUNCTION(TIFFSetField)                          \
  FUNCTION(TIFFIsTiled)                           \
  FUNCTION(TIFFIsCODECConfigured)                 \
  FUNCTION(TIFFTileSize)                          \
  FUNCTION(TIFFTileRowSize)                       \
  FUNCTION(TIFFStripSize)                         \
  FUNCTION(TIFFScanlineSize)                      \
  FUNCTION(TIFFComputeTile)                       \
  FUNCTION(TIFFComputeStrip)                      \
  FUNCTION(TIFFNumberOfTiles)                     \
  FUNCTION(TIFFNumberOfStrips)                    \
  FUNCTION(TIFFTileSize64)                        \
  FUNCTION(TIFFVStripSize64)                      \
  FUNCTION(TIFFGetStrileOffsetWithErr)            \
  FUNCTION(TIFFGetStrileByteCountWithErr)         \
  FUNCTION(TIFFReadEncodedTile)                   \
  FUNCTION(TIFFReadEncodedStrip)

typedef struct {
#define CTIFF_MEMBER(function) __typeof__(function) *function;
  CTIFF_FUNCTIONS(CTIFF_MEMBER)
#undef CTIFF_MEMBER
} CTIFFFunctions;

// Their addresses; valid only if libtiff is loaded.
extern CTIFFFunctions ctiff_functions;

#endif
