// Search of the documentation, in the browser: an index of all sections is loaded from
// this server when the field is first used. Arrow keys choose, Enter opens, Escape closes.
'use strict';
(() => {
  const form = document.getElementById('search-form');
  const input = document.getElementById('search-words');
  const list = document.getElementById('search-found');
  const count = document.getElementById('search-count');
  const base = form.dataset.base;
  const limit = 20;
  let index, chosen = -1, latest = 0;
  form.hidden = false;

  const load = () => index ??= fetch(base + 'search.json').then((response) => {
    if (!response.ok) throw new Error(response.statusText);
    return response.json();
  }).then((sections) => sections.map((s) => ({
    ...s, inTitle: s.title.toLowerCase(), inHeading: (s.heading ?? '').toLowerCase(), inText: s.text.toLowerCase(),
  }))).catch((error) => { index = undefined; throw error; });

  // A section is found if it, its heading and its page's title together have all words.
  const score = (section, words) => {
    let total = 0;
    for (const word of words) {
      let points = 0;
      if (section.inTitle.includes(word)) points += 3;
      if (section.inHeading.includes(word)) points += 8;
      if (section.inHeading.split(/[^\p{L}\p{N}]+/u).includes(word)) points += 6;
      if (section.inText.includes(word)) points += 1;
      if (points === 0) return 0;
      total += points;
    }
    if (section.inHeading === words.join(' ') || section.inTitle === words.join(' ')) total += 20;
    if (!section.id) total += 1;
    return total;
  };

  // marked appends text to an element, with the words marked.
  const marked = (element, text, words) => {
    const pattern = new RegExp('(' + words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') + ')', 'ig');
    text.split(pattern).forEach((part, i) => {
      if (i % 2 === 0) { element.append(part); return; }
      const mark = document.createElement('mark');
      mark.textContent = part;
      element.append(mark);
    });
  };

  const excerpt = (section, words) => {
    const at = Math.max(0, Math.min(...words.map((w) => section.inText.indexOf(w)).filter((i) => i >= 0), Infinity));
    const from = at === Infinity || at < 50 ? 0 : section.text.indexOf(' ', at - 50) + 1;
    return (from > 0 ? '… ' : '') + section.text.slice(from, from + 160) + (from + 160 < section.text.length ? ' …' : '');
  };

  const choose = (i) => {
    const all = [...list.children];
    all.forEach((item, at) => item.setAttribute('aria-selected', String(at === i)));
    chosen = i;
    if (i < 0) { input.removeAttribute('aria-activedescendant'); return; }
    input.setAttribute('aria-activedescendant', all[i].id);
    all[i].scrollIntoView({block: 'nearest'});
  };

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    choose(-1);
  };

  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const mine = ++latest;
    if (words.length === 0) { list.replaceChildren(); count.textContent = ''; close(); return; }
    let sections;
    try {
      sections = await load();
    } catch (error) {
      count.textContent = 'The search index cannot be loaded.';
      return;
    }
    if (mine !== latest) return;
    const found = sections.map((section) => [score(section, words), section]).filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, limit).map(([, section], i) => {
      const item = document.createElement('li');
      item.id = 'search-found-' + i;
      item.role = 'option';
      const link = document.createElement('a');
      link.href = base + section.page + (section.id ? '#' + section.id : '');
      link.tabIndex = -1;
      const name = document.createElement('b');
      marked(name, section.title + (section.id ? ': ' + section.heading : ''), words);
      const text = document.createElement('small');
      marked(text, excerpt(section, words), words);
      link.append(name, text);
      item.append(link);
      return item;
    }));
    if (found.length === 0) {
      const item = document.createElement('li');
      item.textContent = 'Nothing found.';
      list.append(item);
    }
    count.textContent = found.length === 1 ? '1 result' : found.length + ' results';
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    choose(found.length > 0 ? 0 : -1);
  };

  // An operation of the reference opens when a link leads to it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === 'DETAILS') {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener('hashchange', reveal);
  reveal();

  input.addEventListener('focus', () => load().catch(() => {}));
  input.addEventListener('input', search);
  input.addEventListener('keydown', (event) => {
    const n = list.hidden ? 0 : list.querySelectorAll('a').length;
    if (event.key === 'Escape') {
      if (list.hidden) input.value = '';
      close();
    } else if (n > 0 && event.key === 'ArrowDown') choose((chosen + 1) % n);
    else if (n > 0 && event.key === 'ArrowUp') choose((chosen + n - 1) % n);
    else return;
    event.preventDefault();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const link = list.hidden ? null : list.children[chosen]?.querySelector('a');
    if (!link) { search(); return; }
    close();
    link.click();
  });
  list.addEventListener('click', close);
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea')) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  addEventListener('click', (event) => { if (!form.contains(event.target)) close(); });
})();
