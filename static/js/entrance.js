// @ts-check
// A link on another site opens this page without the session's cookie, which is SameSite=Strict.
// Whoever has a session is let in by a request of our own.
fetch('/viz/v1/cast').then((answer) => {
  const named = new URLSearchParams(location.search).has('token');
  if (answer.ok && !named) location.replace(location.pathname + location.search);
});
