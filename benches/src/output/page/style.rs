//! The look of the page, in light and dark.

pub(super) const CSS: &str = r#"
:root{--bg:#fff;--fg:#1b1f24;--soft:#5b6570;--rule:#d8dde3;--grid:#e8ebef;--ours:#d9480f;
--floor:#8a939d;--o0:#1c6fd1;--o1:#2b8a3e;--o2:#8e44ad;--o3:#0b7f8c;--o4:#b8860b;--o5:#c2255c;
--o6:#4c5fd7;--o7:#6b7f1a;--good:#2b8a3e;--bad:#c92a2a;--band:#fff4ee;--code:#f4f6f8}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ec;--soft:#98a2ad;--rule:#333a42;
--grid:#262c33;--ours:#ff8a4c;--floor:#8a939d;--o0:#5aa5ff;--o1:#5fcf76;--o2:#c58af0;--o3:#43c5d4;
--o4:#e0b63c;--o5:#ff7aa8;--o6:#93a0ff;--o7:#b7cc4a;--good:#5fcf76;--bad:#ff7b72;--band:#261d17;
--code:#1c2127}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:28px 20px 60px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:26px;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:20px;margin:0 0 2px;padding-top:18px;border-top:1px solid var(--rule)}
section{margin-top:30px}section>p{margin:0;color:var(--soft)}
header p{margin:6px 0}.note{color:var(--soft);font-size:13px}
pre{background:var(--code);padding:9px 12px;border-radius:6px;overflow-x:auto;font-size:13px;
margin:10px 0;white-space:pre-wrap}
nav{margin-top:12px}nav a{color:var(--fg);text-decoration:none;border:1px solid var(--rule);
border-radius:14px;padding:2px 11px;margin:0 4px 6px 0;display:inline-block;font-size:13px}
nav a:hover{border-color:var(--ours)}
figure{margin:14px 0 30px}
figcaption{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft);
margin-bottom:8px}
.chart{display:flex;gap:18px;align-items:flex-start;flex-wrap:wrap;margin-bottom:10px}
.chart>svg{flex:1 1 620px;min-width:0;max-width:860px;height:auto}
.legend{list-style:none;margin:2px 0 0;padding:0;flex:1 1 220px;font-size:13px;max-width:330px}
.legend li{margin:3px 0;display:flex;gap:9px;align-items:center}
.legend span{flex:1}.legend small{font-size:12px;font-variant-numeric:tabular-nums}
.legend svg{width:26px;height:8px;flex:none}
text{fill:var(--soft);font:12px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;
font-variant-numeric:tabular-nums}
text.y{text-anchor:end}text.x{text-anchor:middle}text.axis{font-size:12px}
.grid{stroke:var(--grid);fill:none}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}
.line:hover{stroke-width:4}
.ours{stroke:var(--ours)}.line.ours{stroke-width:2.6}.floor{stroke:var(--floor)}
.dash1{stroke-dasharray:7 4}.dash2{stroke-dasharray:2 4}.dash3{stroke-dasharray:9 3 2 3}
.other0{stroke:var(--o0)}.other1{stroke:var(--o1)}.other2{stroke:var(--o2)}
.other3{stroke:var(--o3)}.other4{stroke:var(--o4)}.other5{stroke:var(--o5)}
.other6{stroke:var(--o6)}.other7{stroke:var(--o7)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;min-width:60%}
th,td{text-align:right;padding:4px 9px;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;white-space:normal;line-height:1.25;color:var(--soft);border-bottom:2px solid var(--rule);vertical-align:bottom}
.name{text-align:left}
tr.ours td{background:var(--band);font-weight:600}
small{color:var(--soft);font-weight:400;font-size:11.5px}
.good{color:var(--good)}.bad{color:var(--bad);font-weight:700}
.failure{color:var(--bad);font-size:13px;margin:4px 0}
.bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:4px 12px;
align-items:center;font-size:13px;max-width:860px;margin:4px 0 16px}
.bars h3{grid-column:1/-1;font-size:13px;font-weight:600;margin:0 0 2px;color:var(--soft)}
.bars i{display:block;height:12px;border-radius:2px;background:var(--floor);min-width:2px}
.bars i.ours{background:var(--ours)}.bars b{font-weight:400;font-variant-numeric:tabular-nums}
details{margin-top:8px}summary{cursor:pointer;color:var(--soft);font-size:13px}
"#;
