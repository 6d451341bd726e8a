// Runs before the first paint: theme, language and layout, from the address or the last visit.
(() => {
  const query = new URLSearchParams(location.search);
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  root.dataset.theme = query.get('theme') || localStorage.getItem('theme') || dark;
  const lang =
    query.get('lang') ||
    localStorage.getItem('lang') ||
    (navigator.language.startsWith('zh') ? 'zh' : 'en');
  root.lang = lang === 'zh' ? 'zh-Hans' : 'en';
  const isWide = root.dataset.theme !== 'projector' && matchMedia('(min-width: 100em)').matches;
  root.dataset.layout = isWide ? 'roomy' : 'compact';
})();
