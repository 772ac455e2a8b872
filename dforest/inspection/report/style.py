"""The style of a report: for light and dark screens, for phones, and for paper."""

STYLE = """
:root{color-scheme:light dark;--paper:#ffffff;--panel:#f6f8fa;--ink:#1c2127;--muted:#57606a;--line:#d8dee4;--grid:#e6eaef;
--accent:#2b6cb0;--note:#fff6dd;--note-line:#e0b94b;
--c0:#2b6cb0;--c1:#c2571a;--c2:#2c8a57;--c3:#b8324f;--c4:#7a4fb0;--c5:#a3801a;--c6:#1f8a99;--c7:#c74a9b;--c8:#6f4a2f;--c9:#4d5b7c;--other:#8a9199;
--s0:#b98a10;--s1:#c7742a;--s2:#c4604a;--s3:#b04467;--s4:#8e3f7d;--s5:#613385;--s6:#352a7e}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--panel:#1c222a;--ink:#e6eaef;--muted:#a3adb8;--line:#343c46;
--grid:#29313a;--accent:#7db4ec;--note:#33290f;--note-line:#8f7429;
--c0:#6aa9e9;--c1:#f0914f;--c2:#5fc08b;--c3:#f0748d;--c4:#b592ea;--c5:#d8b955;--c6:#57c3d1;--c7:#f29ad2;--c8:#c99a78;--c9:#a3b1d6;--other:#7b848e;
--s0:#fbe08a;--s1:#f7bd6a;--s2:#ee9a66;--s3:#de7781;--s4:#bf63a3;--s5:#9561bd;--s6:#7169d6}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 32px}
header{padding-top:40px}
h1{font-size:2rem;line-height:1.2;margin:0 0 8px;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 10px;font-weight:650;letter-spacing:-.005em}
h3{font-size:1rem;margin:24px 0 6px;font-weight:650}
p{margin:0 0 12px;max-width:72ch;overflow-wrap:anywhere}
.lead{color:var(--muted);font-size:1.05rem}
a{color:var(--accent)}
nav ul{list-style:none;margin:20px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:6px 18px;font-size:.9rem}
section{padding:36px 0 8px;margin-top:28px;border-top:1px solid var(--line)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:24px 0;padding:0}
.tiles div{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:12px 16px}
.tiles dt{color:var(--muted);font-size:.82rem;line-height:1.35}
.tiles dd{margin:2px 0 0;font-size:1.45rem;font-weight:600;line-height:1.25;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.verdict{font-weight:650}
.note{background:var(--note);border-left:4px solid var(--note-line);padding:10px 14px;border-radius:4px}
.absent{color:var(--muted)}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:24px 40px;margin:18px 0}
.pictures.small{grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:18px 28px}
.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px 40px;align-items:start}
figure{margin:0;min-width:0}
figure svg{display:block;width:100%;height:auto;overflow:visible}
figure.wide svg{width:auto}
svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-size:11.5px;fill:var(--muted)}
svg .title{font-size:12.5px;font-weight:600;fill:var(--ink)}
svg text.box{font-size:12px;fill:var(--ink)}
svg .middle{text-anchor:middle}
svg .end{text-anchor:end}
svg path{fill:none;stroke:var(--mark);stroke-width:1.6;stroke-linejoin:round}
svg path.grid{stroke:var(--grid);stroke-width:.7}
svg path.axes{stroke:var(--muted);stroke-width:.8}
svg path.dashed{stroke-width:1.2;stroke-dasharray:4 3}
svg path.dotted{stroke-width:1;stroke-dasharray:1.5 3}
svg path.thin{stroke-width:1.2}
svg path.wide{stroke-width:5;opacity:.3}
svg path.dots{stroke-width:4;stroke-linecap:round;opacity:.65}
svg path.spots{stroke-width:6;stroke-linecap:round}
svg path.bars{fill:var(--mark);stroke:none}
svg path.band{fill:var(--mark);stroke:none;opacity:.17}
svg rect.box{fill:color-mix(in srgb,var(--mark) var(--part),var(--paper));stroke:var(--muted);stroke-width:.8}
figcaption{color:var(--muted);font-size:.88rem;line-height:1.5;margin-top:8px;max-width:68ch;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:12px 0 16px;max-width:100%}
.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;font-size:.9rem;line-height:1.4;font-variant-numeric:tabular-nums}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--muted);font-weight:600;font-size:.82rem;white-space:nowrap;vertical-align:bottom}
tbody th{font-weight:500}
th.n,td.n{text-align:right;white-space:nowrap}
td,th{overflow-wrap:break-word}
table.features th[scope=row]{max-width:26ch}
table.values td{min-width:12ch}
code,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.88em;
overflow-wrap:anywhere}
table.confusion th,table.confusion td{padding:6px 10px;border:1px solid var(--line);text-align:right}
table.confusion tbody th,table.confusion thead th:first-child{text-align:left}
table.confusion th{max-width:16ch;white-space:normal}
table.confusion td{background:color-mix(in srgb,var(--tone) var(--part),transparent);min-width:4.5ch}
table.confusion td.right{--tone:var(--c0)}
table.confusion td.wrong{--tone:var(--c1)}
pre.rules{font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;margin:8px 0}
.keys{list-style:none;margin:4px 0 8px;padding:0;display:flex;flex-wrap:wrap;gap:2px 18px;font-size:.82rem;color:var(--muted)}
.keys li::before{content:"";display:inline-block;width:18px;border-top:3px solid var(--key);margin-right:7px;
vertical-align:middle}
.keys li.dash::before{border-top:2px dashed var(--key)}
.keys li.dot::before{width:9px;height:9px;border:0;border-radius:50%;background:var(--key)}
details{margin:12px 0}
summary{cursor:pointer;color:var(--accent);font-size:.92rem}
footer{color:var(--muted);font-size:.85rem;padding-top:24px;padding-bottom:48px}
@media (max-width:600px){main,header,footer{padding-left:18px;padding-right:18px}header{padding-top:24px}h1{font-size:1.55rem}
thead th{white-space:normal}
section{padding-top:26px;margin-top:20px}.tiles{grid-template-columns:1fr 1fr;gap:10px}.tiles dd{font-size:1.2rem}
.tiles div{padding:10px 12px}}
@media print{:root{color-scheme:light}section,figure{break-inside:avoid}nav{display:none}}
"""
