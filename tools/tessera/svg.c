/* Pictures as SVG. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "command.h"
#include "svg.h"

/* ---- Colours and text ---- */

static const struct {
    const char *classes, *property, *light, *dark;
} colours[] = {
    {"svg text,.ink", "fill", "#1c2127", "#e8eaed"},
    {"svg text.soft", "fill", "#5a6370", "#a3acb8"},
    {".grid", "stroke", "#e1e5ea", "#2c333b"},
    {".axis", "stroke", "#7b8591", "#8b95a1"},
    {".c1", "stroke", "#1f6fd0", "#6db1ff"},
    {".c2", "stroke", "#c2570c", "#ffa657"},
    {".c3", "stroke", "#1a7f4b", "#56d394"},
    {".c4", "stroke", "#b3261e", "#ff8b82"},
    {".f1", "fill", "#1f6fd0", "#6db1ff"},
    {".f2", "fill", "#c2570c", "#ffa657"},
    {".f3", "fill", "#1a7f4b", "#56d394"},
    {".f4", "fill", "#b3261e", "#ff8b82"},
    {".f5", "fill", "#7b8591", "#8b95a1"},
    {".paper", "fill", "#ffffff", "#15181c"},
};

static void write_colours(FILE *out, bool dark)
{
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        fprintf(out, "%s{%s:%s}", colours[i].classes, colours[i].property,
                dark ? colours[i].dark : colours[i].light);
}

void svg_style(FILE *out)
{
    fprintf(out, "svg{font:13px system-ui,sans-serif}svg text.title{font-size:15px;font-weight:600}"
                 "svg text.small{font-size:11px}svg text.end{text-anchor:end}"
                 "svg text.mid{text-anchor:middle}.none{fill:none}.dash{stroke-dasharray:5 4}\n");
    write_colours(out, false);
    fprintf(out, "\n@media(prefers-color-scheme:dark){");
    write_colours(out, true);
    fprintf(out, "}\n");
}

/* The length of the UTF-8 sequence at `text`; 0: there is none. */
static size_t utf8_length(const unsigned char *text)
{
    const size_t length = text[0] < 0x80                      ? 1
                          : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                          : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                          : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                              : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void svg_escape(FILE *out, const char *text)
{
    for (char before = 0; *text; before = text[-1]) {
        const size_t length = utf8_length((const unsigned char *)text);
        const char c = *text;
        if (length == 0 || (c > 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
            fputs("\xef\xbf\xbd", out);
        else if (c == '<' || c == '>' || c == '&' || c == '"')
            fprintf(out, "&#%d;", c);
        else if (c == ' ' && is_digit(before) && is_digit(text[1]))
            fputs("\xc2\xa0", out); /* 45 000 stays on one line */
        else
            fwrite(text, 1, length, out);
        text += length > 0 ? length : 1;
    }
}

void svg_text(FILE *out, double x, double y, const char *classes, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", classes, x, y);
    svg_escape(out, text);
    fputs("</text>\n", out);
}

int svg_paragraph(FILE *out, double x, double y, const char *classes, size_t columns,
                  const char *text)
{
    int lines = 0;
    while (*text) {
        size_t length = strlen(text);
        if (length > columns) {
            length = columns;
            while (length > 0 && text[length] != ' ')
                length--;
            if (length == 0) /* a word that is longer than a line */
                length = strcspn(text, " ");
        }
        if (out)
            svg_text(out, x, y + 15 * lines, classes, "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
        lines++;
    }
    return lines;
}

void svg_open(FILE *out, const char *name, int width, int height, const char *title,
              const char *description, bool alone)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-labelledby=\"%s-t %s-d\"",
            width, height, name, name);
    if (alone)
        fprintf(out, " width=\"%d\" height=\"%d\"", width, height);
    fprintf(out, ">\n<title id=\"%s-t\">", name);
    svg_escape(out, title);
    fprintf(out, "</title>\n<desc id=\"%s-d\">", name);
    svg_escape(out, description);
    fprintf(out, "</desc>\n");
    if (alone) {
        fprintf(out, "<style>\n");
        svg_style(out);
        fprintf(out, "</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n");
    }
}

void svg_close(FILE *out)
{
    fprintf(out, "</svg>\n");
}

/* ---- Scales ---- */

static double measure(const svg_scale *scale, double value)
{
    return scale->logarithmic ? log10(value) : value;
}

double svg_at(const svg_scale *scale, double value)
{
    const double low = measure(scale, scale->low), high = measure(scale, scale->high);
    return scale->from + (scale->to - scale->from) * (measure(scale, value) - low) / (high - low);
}

enum { WANTED = 5 }; /* steps between ticks */

/* 1, 2 or 5 times a power of ten: about WANTED of them fill the scale. */
static double step_of(const svg_scale *scale)
{
    const double rough = (scale->high - scale->low) / WANTED;
    const double power = pow(10, floor(log10(rough))), digit = rough / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/* Decades from one labelled power of ten to the next. */
static int decades_of(const svg_scale *scale)
{
    const int decades = (int)ceil(log10(scale->high) - log10(scale->low));
    return decades > 7 ? (decades + 6) / 7 : 1;
}

void svg_widen(svg_scale *scale)
{
    if (scale->logarithmic) {
        scale->low = pow(10, floor(log10(scale->low) + 1e-9));
        scale->high = pow(10, ceil(log10(scale->high) - 1e-9));
        if (scale->high <= scale->low)
            scale->high = 10 * scale->low;
        return;
    }
    if (!(scale->high > scale->low))
        scale->high = scale->low + 1;
    const double step = step_of(scale);
    scale->low = step * floor(scale->low / step + 1e-9);
    scale->high = step * ceil(scale->high / step - 1e-9);
}

int svg_ticks(const svg_scale *scale, double *ticks)
{
    int count = 0;
    if (scale->logarithmic) {
        const double low = log10(scale->low), high = log10(scale->high);
        static const double digits[] = {1, 2, 5};
        const int each = high - low < 1.5 ? 3 : 1; /* also 2 and 5 where powers of ten are few */
        for (int power = (int)floor(low); power <= high + 1e-9; power += decades_of(scale))
            for (int d = 0; d < each && count < SVG_TICKS; d++) {
                const double value = digits[d] * pow(10, power);
                if (value >= scale->low * (1 - 1e-9) && value <= scale->high * (1 + 1e-9))
                    ticks[count++] = value;
            }
        return count;
    }
    const double step = step_of(scale);
    for (double k = ceil(scale->low / step - 1e-9);
         k * step <= scale->high + 1e-9 * step && count < SVG_TICKS; k++)
        ticks[count++] = k * step + 0.0;
    return count;
}

/* 10 with a raised exponent on a scale that goes far from 1, otherwise the number. */
static const char *tick_label(const svg_scale *scale, double value, char *buffer)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (scale->label)
        return scale->label(value, buffer);
    const int power = value > 0 ? (int)lround(log10(value)) : 0;
    const bool far = scale->low < 0.009 || scale->high > 1100;
    if (scale->logarithmic && far && power != 0 && power > -100 && power < 100) {
        const int size = power < 0 ? -power : power;
        snprintf(buffer, TEXT_MAX, "10%s%s%s", power < 0 ? "⁻" : "",
                 size > 9 ? raised[size / 10] : "", raised[size % 10]);
    } else if (fabs(value) >= 1000 && value == floor(value) && fabs(value) < 1e15) {
        text_count((int64_t)value, buffer);
    } else {
        snprintf(buffer, TEXT_MAX, "%g", value);
    }
    return buffer;
}

void svg_axes(FILE *out, const svg_plot *plot, const char *x_name, const char *y_name)
{
    const svg_scale *x = &plot->x, *y = &plot->y;
    double ticks[SVG_TICKS];
    char buffer[TEXT_MAX];
    int count = svg_ticks(y, ticks);
    for (int i = 0; i < count; i++) {
        const double at = svg_at(y, ticks[i]);
        fprintf(out, "<path class=\"grid\" d=\"M%.1f,%.1fH%.1f\"/>\n", x->from, at, x->to);
        svg_text(out, x->from - 7, at + 4, "end", "%s", tick_label(y, ticks[i], buffer));
    }
    count = svg_ticks(x, ticks);
    for (int i = 0; i < count; i++) {
        const double at = svg_at(x, ticks[i]);
        const bool last = at > x->to - 12; /* its text must not leave the picture */
        fprintf(out, "<path class=\"axis\" d=\"M%.1f,%.1fv5\"/>\n", at, y->from);
        svg_text(out, last ? x->to + 10 : at, y->from + 19, last ? "end" : "mid", "%s",
                 tick_label(x, ticks[i], buffer));
    }
    fprintf(out, "<path class=\"axis none\" d=\"M%.1f,%.1fV%.1fH%.1f\"/>\n", x->from, y->to,
            y->from, x->to);
    svg_text(out, (x->from + x->to) / 2, y->from + 38, "mid soft", "%s", x_name);
    svg_text(out, x->from, y->to - 9, "soft", "%s", y_name);
}

void svg_cells(FILE *out, const char *attributes, int down, int across, const unsigned char *shades,
               unsigned char shade)
{
    bool started = false;
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++) {
            int run = 0;
            while (x + run < across && shades[y * across + x + run] == shade)
                run++;
            if (run == 0)
                continue;
            if (!started)
                fprintf(out, "<path %s shape-rendering=\"crispEdges\" d=\"", attributes);
            started = true;
            fprintf(out, "M%d,%dh%dv1h-%dz", x, y, run, run);
            x += run;
        }
    if (started)
        fprintf(out, "\"/>\n");
}

const char *svg_heat(double share, char *buffer)
{
    static const int stops[5][3] = {
        {48, 18, 90}, {40, 82, 139}, {33, 145, 140}, {110, 206, 88}, {253, 231, 37}};
    const double t = clamp(share, 0, 1);
    const int k = t >= 1 ? 3 : (int)(4 * t);
    int rgb[3];
    for (int c = 0; c < 3; c++)
        rgb[c] = (int)(stops[k][c] + (4 * t - k) * (stops[k + 1][c] - stops[k][c]) + 0.5);
    snprintf(buffer, 8, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    return buffer;
}
