// Runs before the first paint, so that a chosen theme and language do not flicker.
try {
  const root = document.documentElement
  const theme = new URLSearchParams(location.search).get('theme') ?? localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  if ((localStorage.getItem('language') ?? navigator.language).startsWith('fr')) root.lang = 'fr'
} catch {} // storage may be forbidden; the defaults are right then
