// The script of the page of a run: steps words, and checks the certificate. Everything of the data is
// shown as text, never as markup.
'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const page = JSON.parse(byId('page-data').textContent);
  const FILES = { automaton: 0, config: 1, weights: 2, certificate: 3 };
  // Characters that hide or reorder the text around them are shown as escapes.
  const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  // The name of a symbol of a word.
  const nameOf = (symbol) => (symbol.typed === page.symbols[symbol.number] ? page.names[symbol.number] : symbol.typed);
  const visible = (text) =>
    text.replace(HIDDEN, (c) => '\\u{' + c.charCodeAt(0).toString(16) + '}');

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // The module and its answers. An answer is an object with `ok` or with `error`.
  let exported = null;
  const call = (name, input, argument) => {
    const place = exported.srnn_page_input(input.length);
    new Uint8Array(exported.memory.buffer, place, input.length).set(input);
    exported['srnn_page_' + name](argument);
    const length = exported.srnn_page_output_length();
    const output = new Uint8Array(exported.memory.buffer, exported.srnn_page_output(), length);
    return JSON.parse(new TextDecoder().decode(output));
  };

  const start = async () => {
    const made = await WebAssembly.instantiate(await unpack(page.module), {});
    exported = made.instance.exports;
    for (const number of Object.values(FILES)) {
      if (page.files[number]) {
        const answer = call('load', await unpack(page.files[number]), number);
        if (answer.error) throw new Error(answer.error);
      }
    }
  };

  // Words. A symbol is what is typed for it; others are the unknown token, if the model has one.
  const numbers = new Map(page.symbols.map((typed, number) => [typed, number]));
  const symbolsOf = (text) => {
    const parts = page.joined ? Array.from(text.replace(/\s/g, '')) : text.split(/\s+/).filter(Boolean);
    return parts.map((typed) => {
      const number = numbers.get(typed) ?? page.unknown;
      if (number === null || number === undefined) {
        throw new Error('There is no symbol ' + JSON.stringify(typed) + '.');
      }
      return { typed, number };
    });
  };

  const word = byId('try-word');
  const result = byId('try-result');
  const path = byId('try-path');
  let symbols = [];
  let steps = null;
  let at = 0;

  const read = () => {
    steps = null;
    at = 0;
    try {
      symbols = symbolsOf(word.value);
      const input = new Uint8Array(new Uint32Array(symbols.map((symbol) => symbol.number)).buffer);
      const answer = call('step', input);
      if (answer.error) throw new Error(answer.error);
      steps = answer.ok;
    } catch (error) {
      symbols = [];
      result.replaceChildren(element('p', visible(String(error.message || error)), 'error'));
      path.replaceChildren();
    }
  };

  const stateAt = (position) => steps && steps.automaton && steps.automaton[position];
  const networkAt = (position) => steps && steps.network && steps.network[position];

  const mark = () => {
    for (const marked of document.querySelectorAll('.here, .taken, .visited')) {
      marked.classList.remove('here', 'taken', 'visited');
    }
    // Nothing is marked before a word is typed: a page as it opens is also what is printed.
    if (!steps || !steps.automaton || symbols.length === 0) return;
    for (let position = 0; position <= at; position += 1) {
      const step = stateAt(position);
      if (!step) break;
      const last = position === at;
      const state = '[data-state="' + step.state + '"], [data-row="' + step.state + '"]';
      for (const shown of document.querySelectorAll(state)) {
        shown.classList.add(last ? 'here' : 'visited');
      }
      const before = position > 0 && stateAt(position - 1);
      if (before) {
        const [from, to] = [before.state, step.state];
        const line = '[data-from="' + from + '"][data-to="' + to + '"]';
        const edge = line + ', [data-label="' + from + '-' + to + '"]';
        for (const shown of document.querySelectorAll(edge)) {
          shown.classList.add(last ? 'taken' : 'visited');
        }
      }
    }
  };

  // A large picture is scrolled to the state, and the page stays where it is.
  const scroll = () => {
    const state = stateAt(at);
    const here = state && document.querySelector('#picture [data-state="' + state.state + '"]');
    if (!here) return;
    const box = here.closest('.wide');
    const [inner, outer] = [here.getBoundingClientRect(), box.getBoundingClientRect()];
    const outside = inner.left < outer.left || inner.right > outer.right ||
      inner.top < outer.top || inner.bottom > outer.bottom;
    if (outside) {
      box.scrollBy(inner.left - outer.left - outer.width / 2, inner.top - outer.top - outer.height / 2);
    }
  };

  const answers = () => {
    const list = element('dl');
    const fact = (name, text, className) => {
      const row = element('div');
      row.append(element('dt', name), element('dd', text, className));
      list.append(row);
    };
    const read = symbols.slice(0, at).map(nameOf).join(page.joined ? '' : ', ');
    fact('read so far', at === 0 ? 'nothing yet' : read + ' (' + at + ' of ' + symbols.length + ')');
    const state = stateAt(at);
    if (steps.automaton) {
      const text = state ? 'state ' + state.state + ', class ' + visible(state.class) : 'no transition is known';
      fact('automaton', text);
    }
    const classes = networkAt(at);
    if (classes) {
      const shown = classes.map((c) => visible(c.class) + ' ' + (100 * c.probability).toFixed(2) + ' %');
      fact('network', shown.join(', '));
    }
    if (state && classes) {
      const same = state.class === classes[0].class;
      fact('they', same ? 'agree' : 'differ here', same ? '' : 'error');
    }
    return list;
  };

  const show = () => {
    if (!steps) {
      mark();
      return;
    }
    result.replaceChildren(answers());
    const items = [];
    for (let position = 0; position <= symbols.length && position <= 200; position += 1) {
      const item = element('li');
      const state = stateAt(position);
      const class0 = state ? state.class : networkAt(position) ? networkAt(position)[0].class : '';
      const read = position === 0 ? 'start' : nameOf(symbols[position - 1]);
      const button = element('button');
      button.type = 'button';
      button.append(element('code', read));
      const where = state ? ' → ' + state.state + ' ' : ' → ';
      button.append(element('span', where + visible(class0)));
      if (position === at) button.setAttribute('aria-current', 'step');
      button.addEventListener('click', () => {
        at = position;
        show();
      });
      item.append(button);
      items.push(item);
    }
    path.replaceChildren(...items);
    mark();
    scroll();
  };

  const move = (where) => {
    if (!steps) read();
    if (!steps) return;
    if (where === 'start') at = 0;
    if (where === 'back') at = Math.max(0, at - 1);
    if (where === 'step') at = Math.min(symbols.length, at + 1);
    if (where === 'end') at = symbols.length;
    show();
  };

  const check = () => {
    const shown = byId('check-result');
    shown.replaceChildren(element('p', 'Checking … A large proof takes up to a minute.'));
    // The text above is drawn before the work begins.
    setTimeout(() => {
      const begin = performance.now();
      let answer;
      try {
        answer = call('check', new Uint8Array(0));
      } catch (error) {
        answer = { error: 'the checker stopped: ' + error.message };
      }
      const seconds = ((performance.now() - begin) / 1000).toFixed(2);
      if (answer.error) {
        shown.replaceChildren(element('p', 'Refused: ' + visible(answer.error), 'error'));
        return;
      }
      const { cells, edges, margin, digest } = answer.ok;
      shown.replaceChildren(
        element('p', 'The proof holds. Checked in this page in ' + seconds + ' s: ' + cells +
          ' cells, ' + edges + ' steps between them, minimum logit margin ' + margin.toFixed(2) +
          '. The automaton shown is the one that is proved, and the weights have the digest ' +
          digest.slice(0, 16) + '….', 'holds'),
      );
    }, 30);
  };

  const connect = () => {
    if (byId('try-panel')) {
      byId('try-off').hidden = true;
      byId('try-panel').hidden = false;
      word.addEventListener('input', () => {
        read();
        show();
      });
      byId('try-form').addEventListener('submit', (event) => {
        event.preventDefault();
        move('step');
      });
      for (const button of document.querySelectorAll('[data-move]')) {
        button.addEventListener('click', () => move(button.dataset.move));
      }
      for (const button of document.querySelectorAll('[data-symbol]')) {
        button.addEventListener('click', () => {
          const typed = page.symbols[Number(button.dataset.symbol)];
          const blank = page.joined || word.value === '' || /\s$/.test(word.value) ? '' : ' ';
          word.value += blank + typed;
          read();
          move('end');
        });
      }
      move('start');
    }
    if (byId('check') && page.files[FILES.certificate] && page.files[FILES.weights]) {
      byId('check').hidden = false;
      byId('check-run').addEventListener('click', check);
    }
  };

  const explain = (why) => {
    const off = byId('try-off');
    if (off) off.append(' (' + why + ')');
  };

  if (typeof WebAssembly !== 'object') {
    explain('this browser has WebAssembly switched off');
  } else if (typeof DecompressionStream !== 'function') {
    explain('this browser is too old to unpack the files inside the page');
  } else {
    start().then(connect, (error) => explain(error.message));
  }
})();
