/* Pictures as SVG: scales, axes and text, and the colours of light and dark displays.
 *
 * A picture stands alone in a file or within a page. Colours are classes of one style sheet, which
 * svg_style writes:
 *
 *     ink, soft        text and marks in the foreground's colour, and in a paler one
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

/* Maps numbers to places in a picture. */
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

/* A coordinate system. y's places fall as its numbers rise. */
typedef struct svg_plot {
    svg_scale x, y;
} svg_plot;

/* `name` is unique among the pictures of a page. Title and description are for people who do not
 * see the picture. `alone`: the picture is a file of its own, with its style. */
void svg_open(FILE *out, const char *name, int width, int height, const char *title,
              const char *description, bool alone);
void svg_close(FILE *out);
void svg_style(FILE *out);

/* Writes text for XML and HTML: escapes special characters, replaces bytes that are not UTF-8. */
void svg_escape(FILE *out, const char *text);
void svg_text(FILE *out, double x, double y, const char *classes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Writes text in lines of at most `columns` bytes, 15 apart. Returns the number of lines.
 * out = NULL: only counts. */
int svg_paragraph(FILE *out, double x, double y, const char *classes, size_t columns,
                  const char *text);

/* The frame with ticks, grid and the names of both axes. */
void svg_axes(FILE *out, const svg_plot *plot, const char *x_name, const char *y_name);

/* The ticks of a scale; returns how many, at most SVG_TICKS. */
enum { SVG_TICKS = 16 };
int svg_ticks(const svg_scale *scale, double *ticks);

/* Draws the cells of one shade, from a grid stored row by row, as one path with these attributes.
 * Each cell is 1 x 1, and no seams show between them. */
void svg_cells(FILE *out, const char *attributes, int down, int across, const unsigned char *shades,
               unsigned char shade);

/* A colour "#rrggbb" for a share 0..1, in the caller's buffer of 8: from dark blue to yellow, with
 * rising brightness. */
const char *svg_heat(double share, char *buffer);

#endif
