// Every text of the page whose contrast against what it stands on is below what WCAG 2.2 asks for: 4.5, of large text 3.
(() => {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const channel = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const bar = getComputedStyle(document.documentElement).getPropertyValue('--bar').trim();
  const hex = (h) => [1, 3, 5].map((i) => parseInt(h.slice(i, i + 2), 16));
  function grounds(e) {
    for (; e; e = e.parentElement) {
      const style = getComputedStyle(e), color = parse(style.backgroundColor);
      const opaque = color.length === 3 || color[3] === 1;
      // A cell's bar lies below part of its text.
      if (style.backgroundImage.startsWith('linear-gradient') && e.tagName === 'TD') return [hex(bar), [...grounds(e.parentElement)[0]]];
      if (opaque) return [color];
    }
    return [[255, 255, 255]];
  }
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.textContent.trim() || ['SCRIPT', 'STYLE'].includes(e.tagName) || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const color = parse(e.ownerSVGElement ? style.fill : style.color);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const worst = Math.min(...grounds(e).map((ground) => contrast(color, ground)));
    if (worst < (large ? 3 : 4.5)) found.push(e.tagName + '.' + e.className + ' ' + node.textContent.trim().slice(0, 30) + ' ' + worst.toFixed(2));
  }
  return Array.from(new Set(found)).slice(0, 20);
})()
