// Search of the documentation, in the browser, by MiniSearch: it and all sections are loaded from
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

  // Words that questions have and sections need not.
  const filling = new Set(('a an and are as at be by can do does for from how i if in is it my of on or the to what when where ' +
    'which who why with').split(' '));
  // Pages of lists and records, which have every word: what explains a word comes before them.
  const records = new Set(['api', 'asvs', 'attacks', 'benchmarks', 'cli', 'decisions', 'dialect-names', 'metrics', 'performance', 'settings',
    'specifications', 'torture', 'versions']);
  const options = {
    boost: {heading: 4, title: 3}, weights: {fuzzy: 0.3, prefix: 0.4}, prefix: (word) => word.length > 2,
    fuzzy: (word) => word.length > 4 ? 0.2 : false,
    boostDocument: (_, word, section) => records.has(section.page.replace(/^api-.*/, 'api')) ? 0.25 : section.whole ? 1.2 : 1,
  };

  const load = () => index ??= Promise.all([
    fetch(base + 'search.json').then((response) => {
      if (!response.ok) throw new Error(response.statusText);
      return response.json();
    }),
    import('./minisearch.js'),
  ]).then(async ([sections, {default: MiniSearch}]) => {
    const made = new MiniSearch({
      fields: ['heading', 'title', 'text'], idField: 'n', storeFields: ['page', 'whole'],
      extractField: (section, name) => section[name] ?? '',
      processTerm: (word) => filling.has(word.toLowerCase()) ? null : word.toLowerCase(),
    });
    await made.addAllAsync(sections.map((section, n) => ({...section, n, whole: !section.id})), {chunkSize: 100});
    return {made, sections};
  }).catch((error) => { index = undefined; throw error; });

  // Sections with all words come alone; only if there is none, those with any. A word may be misspelt.
  const findAll = ({made, sections}, text) => {
    let found = made.search(text, {...options, combineWith: 'AND'});
    if (found.length === 0) found = made.search(text, options);
    return found.map(({id, terms}) => ({section: sections[id], words: terms}));
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
    const lower = section.text.toLowerCase();
    const at = Math.max(0, Math.min(...words.map((w) => lower.indexOf(w)).filter((i) => i >= 0), Infinity));
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
    const text = input.value.trim();
    const mine = ++latest;
    if (!text) { list.replaceChildren(); count.textContent = ''; close(); return; }
    let all;
    try {
      all = await load();
    } catch (error) {
      count.textContent = 'The search index cannot be loaded.';
      return;
    }
    if (mine !== latest) return;
    const found = findAll(all, text);
    list.replaceChildren(...found.slice(0, limit).map(({section, words}, i) => {
      const item = document.createElement('li');
      item.id = 'search-found-' + i;
      item.role = 'option';
      const link = document.createElement('a');
      link.href = base + section.page + (section.id ? '#' + section.id : '');
      link.tabIndex = -1;
      const name = document.createElement('b');
      marked(name, section.title + (section.id ? ': ' + section.heading : ''), words);
      const part = document.createElement('small');
      marked(part, excerpt(section, words), words);
      link.append(name, part);
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
