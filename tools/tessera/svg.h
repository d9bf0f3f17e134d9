/* Pictures as SVG: scales, axes and text, and the colours of light and dark displays.
 *
 * A picture stands alone in a file or within a page. Colours are classes of one style sheet, which
 * svg_style writes:
 *
 *     ink, soft        text and marks of the foreground, and less of it
 *     c1 c2 c3 c4      series: lines of this colour
 *     f1 f2 f3 f4      series: areas of this colour
 *     grid, axis       thin lines
 *     none             no area
 *     small, end, mid  text: smaller; ending at its place; centred there
 */
#ifndef TESSERA_SVG_H
#define TESSERA_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* From numbers to places in a picture. */
typedef struct svg_scale {
    double low, high; /* numbers; low < high, and 0 < low where logarithmic */
    double from, to;  /* places, of low and of high */
    bool logarithmic;
    /* A tick's text in the caller's buffer of TEXT_MAX; NULL: the number. */
    const char *(*label)(double value, char *buffer);
} svg_scale;

double svg_at(const svg_scale *scale, double value);
/* Widens low..high to whole steps of the ticks, or to powers of ten. */
void svg_widen(svg_scale *scale);

/* A coordinate system; y's places fall as its numbers rise. */
typedef struct svg_plot {
    svg_scale x, y;
} svg_plot;

/* `name` is the picture's own among those of a page; title and description are for people who do
 * not see it. `alone`: a file of its own, which brings its style. */
void svg_open(FILE *out, const char *name, int width, int height, const char *title,
              const char *description, bool alone);
void svg_close(FILE *out);
void svg_style(FILE *out);

/* Text for XML and HTML: what is special there is escaped, what is no UTF-8 replaced. */
void svg_escape(FILE *out, const char *text);
void svg_text(FILE *out, double x, double y, const char *classes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Text in lines of at most `columns` bytes, 15 apart; returns how many. out = NULL: only counts. */
int svg_paragraph(FILE *out, double x, double y, const char *classes, size_t columns,
                  const char *text);

/* The frame with ticks, grid and the names of both axes. */
void svg_axes(FILE *out, const svg_plot *plot, const char *x_name, const char *y_name);

/* The ticks of a scale; returns how many, at most SVG_TICKS. */
enum { SVG_TICKS = 16 };
int svg_ticks(const svg_scale *scale, double *ticks);

/* Of a grid of cells, row by row, those of one shade as one path with these attributes: each cell
 * is 1 x 1, and no seams are seen between them. */
void svg_cells(FILE *out, const char *attributes, int down, int across, const unsigned char *shades,
               unsigned char shade);

/* 0..1 to "#rrggbb" in the caller's buffer of 8: dark blue to yellow, brightness rising. */
const char *svg_heat(double share, char *buffer);

#endif
