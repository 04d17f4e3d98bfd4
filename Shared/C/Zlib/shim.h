/* zlib, which unpacks gzip. Its functions that begin a stream are macros, which Swift cannot call. */
#ifndef HANDBILL_CZLIB_H
#define HANDBILL_CZLIB_H

#include <zlib.h>

/* Begins to unpack gzip. */
static inline int hb_inflate_gzip_begin(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

#endif
