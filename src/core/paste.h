/* Names and texts made from macros, for templates. */
#pragma once

#define TESS_PASTE_(a, b) a##b
#define TESS_PASTE(a, b) TESS_PASTE_(a, b)
#define TESS_TEXT_(a) #a
#define TESS_TEXT(a) TESS_TEXT_(a)
