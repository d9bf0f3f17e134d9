#!/bin/sh
# report_browser.sh TESSERA: Chromium shows the page of `tessera report`: all of it, without a message
# on the console, without a request, and no wider than a phone's display.
set -eu
tessera=$1
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: no chromium to show the page with"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad() { echo "$1"; exit 1; }

show() { # URL OPTION...
    url=$1
    shift
    HOME=$work timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$work/profile" --enable-logging=stderr --v=0 "$@" "$url" 2>"$work/log" ||
        { tail -n 20 "$work/log"; bad "chromium failed on $url"; }
    ! grep 'CONSOLE' "$work/log" || bad "messages on the console of $url"
}

for input in gen:elasticity:n=6 gen:random:rows=700,cols=90,avg=4; do
    "$tessera" report "$input" -o "$work/page.html" >/dev/null
    show "file://$work/page.html" --window-size=390,844 --dump-dom >"$work/dom"
    for part in Pattern Rows Blocks "The plan" "The solve" "Where the time went" "The machine"; do
        grep -q "<h2>$part</h2>" "$work/dom" || bad "$input: the page has no section '$part'"
    done
    [ "$(grep -c '<svg' "$work/dom")" = "$(grep -c '<svg' "$work/page.html")" ] || bad "$input: pictures were lost"
    # A page that measures the report: elements wider than a display of 390 points, and requests.
    for width in 390 1200; do
        cat >"$work/frame.html" <<END_FRAME
<!DOCTYPE html><html><body><iframe id="f" style="width:${width}px;height:800px;border:0" src="page.html"></iframe>
<script>
document.getElementById('f').addEventListener('load', function () {
    var d = this.contentDocument, w = d.documentElement, flat = [];
    d.querySelectorAll('svg').forEach(function (s) {
        var r = s.getBoundingClientRect();
        if (r.width < 100 || r.height < 1 || r.right > $width) flat.push(s.getAttribute('aria-labelledby'));
    });
    document.body.setAttribute('data-seen', 'sideways ' + (w.scrollWidth - w.clientWidth) + ' loaded ' +
        this.contentWindow.performance.getEntriesByType('resource').length + ' bad ' + flat.join());
});
</script></body></html>
END_FRAME
        show "file://$work/frame.html" --allow-file-access-from-files --virtual-time-budget=5000 --dump-dom >"$work/seen"
        grep -q "data-seen=\"sideways 0 loaded 0 bad \"" "$work/seen" ||
            bad "$input at $width: $(grep -o 'data-seen="[^"]*"' "$work/seen" || echo 'nothing measured')"
    done
done
