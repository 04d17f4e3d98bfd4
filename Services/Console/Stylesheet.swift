/// The pages' looks, served as a file of its own so that the content security policy needs no exception.
enum Stylesheet {
  static let text = """
    :root {
      --ink: #1b2430; --soft: #5c6877; --line: #dfe4ea; --paper: #f5f7f9; --card: #fff; --accent: #1a56b0;
      --fault: #a3201d;
      color-scheme: light dark;
    }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e8ecf1; --soft: #9aa7b6; --line: #303a46; --paper: #12171d; --card: #1b222b; --accent: #7fb0f5;
        --fault: #ff9d94; }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--paper); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    }
    header, main, footer { max-width: 1280px; margin: 0 auto; padding: 0 24px; }
    header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 28px; padding-top: 22px; }
    h1 { margin: 0; font-size: 24px; letter-spacing: -0.01em; }
    nav { display: flex; flex-wrap: wrap; gap: 6px; }
    nav a { padding: 5px 14px; border-radius: 999px; color: var(--soft); text-decoration: none; }
    nav a:hover { color: var(--ink); }
    nav a[aria-current] { background: var(--accent); color: var(--card); }
    .watermark { margin: 0 0 0 auto; color: var(--soft); font-size: 14px; }
    .state { margin: 18px 0 0; }
    .state p { margin: 0 0 4px; }
    .state .fault { color: var(--fault); font-weight: 600; }
    .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr)); gap: 14px;
      margin: 18px 0 30px; }
    .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 18px; }
    .card h2 { margin: 0; font-size: 13px; font-weight: 600; color: var(--soft); }
    .figure { margin: 2px 0; font-size: 25px; font-weight: 650; font-variant-numeric: tabular-nums; white-space: nowrap;
      overflow-x: auto; }
    .figure.long { font-size: 16px; line-height: 37px; }
    .figure.longest { font-size: 12px; line-height: 37px; }
    .unit { margin-right: 6px; font-size: 14px; font-weight: 500; color: var(--soft); }
    .note { margin: 0; color: var(--soft); font-size: 13px; }
    .cut { margin: -18px 0 26px; overflow-wrap: anywhere; }
    section > h2 { margin: 0 0 8px; font-size: 16px; }
    .scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
      margin-bottom: 26px; }
    table { width: 100%; border-collapse: collapse; font-size: 14px; }
    th, td { padding: 8px 11px; text-align: left; white-space: nowrap; }
    td.errors { min-width: 120px; white-space: normal; }
    thead th { color: var(--soft); font-weight: 600; font-size: 13px; border-bottom: 1px solid var(--line); }
    tbody tr + tr > * { border-top: 1px solid var(--line); }
    tbody th { font-weight: 600; }
    .number { text-align: right; font-variant-numeric: tabular-nums; }
    .nothing { margin-bottom: 26px; }
    form { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin: 22px 0; }
    form input { flex: 1 1 260px; min-width: 0; }
    form input, form button { padding: 7px 11px; font: inherit; color: inherit; background: var(--card);
      border: 1px solid var(--line); border-radius: 8px; }
    pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; padding: 14px 18px;
      background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
    footer { padding-bottom: 28px; color: var(--soft); font-size: 13px; }
    footer p { margin: 4px 0; overflow-wrap: anywhere; }
    a { color: var(--accent); }
    @media (max-width: 900px) {
      header, main, footer { padding: 0 14px; }
      .watermark { margin: 0; }
      .scroll thead { display: none; }
      .scroll tbody tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 2px 14px;
        padding: 10px 14px; font-size: 13px; }
      .scroll tbody tr + tr { border-top: 1px solid var(--line); }
      .scroll tbody tr > * { padding: 0; border: 0; }
      .scroll tbody th, .scroll td.errors { grid-column: 1 / -1; white-space: normal; overflow-wrap: anywhere; }
      .scroll tbody th { font-size: 15px; }
      .scroll td { display: flex; flex-wrap: wrap; justify-content: flex-end; gap: 0 6px; }
      .scroll td.errors { flex-wrap: nowrap; }
      .scroll td::before { content: attr(data-title); flex: none; margin-right: auto; color: var(--soft); }
    }
    """
}
