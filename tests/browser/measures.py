"""What a script in the page measures of its layout, its colours and its names."""

from __future__ import annotations

# panels within the window, nothing scrolls sideways, no label is cut, no part lies on another; a
# narrow window is one column, which goes on below
LAYOUT = """() => {
  const wrong = [];
  const root = document.documentElement;
  const isColumn = matchMedia('(max-width: 62.5em)').matches;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} px wide`);
  const isHigh = !isColumn && root.scrollHeight > innerHeight;
  if (isHigh) wrong.push(`the page is ${root.scrollHeight} px high`);
  const name = (e) => [e.tagName.toLowerCase(), e.id && `#${e.id}`, ...e.classList].join('.');
  const panels = [...document.querySelectorAll('#bar, #bench, #map, #inspector, #timeline')];
  for (const panel of panels) {
    const box = panel.getBoundingClientRect();
    const [right, bottom] = [box.right - innerWidth, isColumn ? 0 : box.bottom - innerHeight];
    if (box.left < -1 || box.top < -1 || right > 1 || bottom > 1) {
      wrong.push(`${name(panel)} leaves the window`);
    }
    if (panel.scrollWidth > panel.clientWidth + 1) wrong.push(`${name(panel)} is too wide inside`);
  }
  const text = document.querySelector('#inspector .scroll');
  if (text && text.scrollWidth > text.clientWidth + 1) {
    const [left, width] = [text.getBoundingClientRect().left, text.clientWidth];
    const wide = [...text.querySelectorAll('*')].filter((part) =>
      part.getBoundingClientRect().right > left + width + 1);
    const what = wide.map((part) => `${name(part)} "${part.textContent.slice(0, 60)}"`);
    wrong.push(`explained is, wider than there is room (${text.scrollWidth}/${width}): ${what}`);
  }
  const apart = (list) => list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
    const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
    const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    const size = `${Math.round(x)} × ${Math.round(y)} px`;
    if (x > 1.5 && y > 1.5) wrong.push(`${name(a)} lies on ${name(b)} (${size})`);
  }));
  apart(panels);
  apart([...document.querySelectorAll('#bar > *')]);
  apart([...document.querySelectorAll('#map .comp, #map .tape, #map .banner')]);
  apart([...document.querySelectorAll('.tape .cap > *, .tape .cell')]);
  document.querySelectorAll('.corridor .gate .line').forEach((line) => apart([...line.children]));
  apart([...document.querySelectorAll('.corridor .gates > .gate')]);
  apart([...document.querySelectorAll('.timeline .names li')].map((e) => e));
  document.querySelectorAll('.chapters button, .tape .rev').forEach((part) => {
    const own = part.getBoundingClientRect();
    for (const { left, right, top, bottom } of [...part.children].map((e) =>
      e.getBoundingClientRect())) {
      const isSeen = bottom > own.top && top < own.bottom - 4;
      const isWhole = left > own.left - 1 && right < own.right + 1;
      if (isSeen && !isWhole) wrong.push(`"${part.textContent}" is cut in ${name(part)}`);
    }
  });
  const now = document.querySelector('.chapters .is-now span');
  if (now && now.getBoundingClientRect().top > now.parentElement.getBoundingClientRect().bottom) {
    wrong.push(`the chapter "${now.textContent}" has no room`);
  }
  document.querySelectorAll('.ticket').forEach((ticket) => {
    const box = ticket.getBoundingClientRect();
    const cut = [...ticket.querySelectorAll('*')].filter((e) => {
      const own = e.getBoundingClientRect();
      return own.right > box.right - 3 || own.bottom > box.bottom + 1;
    }).filter((e) => e.matches('.punch .v, .new'));
    if (cut.length) wrong.push(`${cut.length} parts of the ticket leave it`);
  });
  for (const e of document.querySelectorAll('#map .comp :is(.belt, .taint, header > *)')) {
    const [own, card] = [e, e.closest('.comp')].map((part) => part.getBoundingClientRect());
    if (own.right > card.right + 1) wrong.push(`"${e.textContent}" leaves its card`);
    const isWhole = e.matches('.belt') || e.scrollWidth <= e.clientWidth + 1;
    if (!isWhole && e.closest('.node, #sched')) wrong.push(`"${e.textContent}" is cut in its card`);
  }
  const whole = '.gate .name, .gate .verdict, .comp h2, #bar button, #bar .state, #inspector h1,'
    + '#inspector [role=tab], .tape .cap span, .banner span, .act, .go, .stage .n, .names li';
  for (const e of document.querySelectorAll(whole)) {
    if (!e.checkVisibility() || !e.textContent) continue;
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') {
      wrong.push(`"${e.textContent}" is cut in ${name(e)}`);
    }
    const box = e.getBoundingClientRect();
    if (box.left < -1 || box.right > innerWidth + 1) wrong.push(`${name(e)} leaves the window`);
  }
  return [...new Set(wrong)];
}"""

# text against what is painted behind it, by the formula of WCAG 2
CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((v, i) => v * a + under[i] * (1 - a)).concat(1);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const wrong = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim().slice(0, 30);
    if (!text || e.closest('svg, script, style, noscript, option, :disabled')) continue;
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (e.closest('.skip, .narrator, .ghost, .traveller, [aria-hidden=true]')) continue;
    const chain = [];
    let strength = 1;
    for (let p = e; p; p = p.parentElement) {
      const style = getComputedStyle(p);
      chain.push(rgba(style.backgroundColor));
      strength *= Number(style.opacity);
    }
    const ground = chain.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    const own = rgba(getComputedStyle(e).color);
    const ink = over([own[0], own[1], own[2], own[3] * strength], ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) wrong.push(`${ratio.toFixed(2)}: "${text}" in ${e.tagName}.${e.className}`);
  }
  return [...new Set(wrong)];
}"""

# what can be pressed is 24 px wide and high, as WCAG 2.2 asks: it is hit so far around its middle;
# what is pressed most is 40 px high
TARGETS = """() => {
  const wrong = [];
  const seen = document.scrollingElement.scrollTop;
  for (const e of document.querySelectorAll('button, input, select, textarea, [role=slider]')) {
    if (!e.checkVisibility({ visibilityProperty: true })) continue;
    e.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    const { x, y, width, height } = e.getBoundingClientRect();
    const middle = [x + width / 2, y + height / 2];
    const down = e.matches('.main, .act.first, .go') ? 19.5 : 11.5;
    const around = [[-11.5, 0], [11.5, 0], [0, -down], [0, down]];
    const missed = around.filter(([right, down]) => {
      const hit = document.elementFromPoint(middle[0] + right, middle[1] + down);
      return !e.contains(hit);
    });
    const what = `${e.tagName}.${e.className} "${e.textContent.slice(0, 20)}"`;
    if (missed.length) wrong.push(`${what} is missed at ${missed.join(' and ')}`);
  }
  document.scrollingElement.scrollTop = seen;
  return [...new Set(wrong)];
}"""

# what the keyboard is on is marked: an outline of two pixels or more
FOCUS_RING = """() => {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  return [e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 20), seen];
}"""

# cells of tables that the keyboard cannot bring into view: what scrolls has to take the focus
CELLS = """() => {
  const wrong = [];
  for (const cell of document.querySelectorAll('table :is(th, td)')) {
    if (!cell.checkVisibility() || cell.closest('.narrator')) continue;
    const box = cell.getBoundingClientRect();
    const name = cell.textContent.trim().slice(0, 40);
    for (let over = cell.parentElement; over !== document.body; over = over.parentElement) {
      const { overflowX, overflowY, display } = getComputedStyle(over);
      if (display === 'contents') continue;
      const room = over.getBoundingClientRect();
      const isBeside = box.left < room.left - 1 || box.right > room.right + 1;
      const isBelow = box.bottom > room.bottom + 1;
      const takesFocus = over.tabIndex >= 0 || over.querySelector('button, [tabindex="0"]');
      const cuts = (overflow) => overflow !== 'visible'
        && !(['auto', 'scroll'].includes(overflow) && takesFocus);
      if (isBeside && cuts(overflowX)) wrong.push(`${name} lies beside ${over.className}`);
      if (isBelow && cuts(overflowY)) wrong.push(`${name} lies below ${over.className}`);
    }
  }
  return wrong;
}"""
