// Opens pages of runs in a headless browser and checks what a person would see:
// no request but the page itself, no message on the console, a word stepped through automaton and
// network, the proof checked inside the page, no serious finding of axe-core in light and dark, and all
// sections without scripts. Called by browser.sh: node browser.mjs BROWSER PAGE …
import { chromium } from 'playwright-core';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const [executablePath, ...pages] = process.argv.slice(2);
const quiet = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const browser = await chromium.launch({ executablePath, args: quiet });
const problems = [];

// Opens a page and calls `use`; whatever it requests or reports is a problem.
async function visit(path, options, use) {
  const context = await browser.newContext({ bypassCSP: false, ...options });
  const page = await context.newPage();
  const requests = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => problems.push(`${path}: console: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`${path}: ${error.message}`));
  page.on('dialog', (dialog) => problems.push(`${path}: a dialog: ${dialog.message()}`));
  const address = pathToFileURL(resolve(path)).href;
  await page.goto(address);
  await use(page);
  const others = requests.filter((url) => url !== address && !url.startsWith('data:'));
  others.forEach((url) => problems.push(`${path}: requests ${url.slice(0, 200)}`));
  await context.close();
}

const expect = (path, fact, what) => {
  if (!fact) problems.push(`${path}: ${what}`);
};

async function check(path) {
  const done = [];
  await visit(path, { colorScheme: 'light' }, async (page) => {
    if (await page.locator('#try').count()) done.push(await step(page, path));
    if (await page.locator('#check').count()) done.push(await proof(page, path));
  });
  for (const colorScheme of ['light', 'dark']) {
    await visit(path, { colorScheme, bypassCSP: true }, async (page) => {
      if (await page.locator('#try-panel').count()) await page.waitForSelector('#try-panel:visible');
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      for (const { impact, id, nodes } of violations) {
        const where = nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ');
        const line = `${path}: axe-core, ${colorScheme}: ${impact}: ${id}: ${where}`;
        if (['serious', 'critical'].includes(impact)) problems.push(line);
        else console.log(`note: ${line}`);
      }
    });
  }
  await visit(path, { javaScriptEnabled: false }, async (page) => {
    const headings = await page.locator('h2:visible').allInnerTexts();
    for (const heading of ['Accuracy on held-out data', 'Data', 'Make it again']) {
      const next = heading === 'Accuracy on held-out data' && headings.includes('Models compared');
      expect(path, next || headings.includes(heading), `no section "${heading}" without scripts`);
    }
    if (await page.locator('#try').count()) {
      expect(path, await page.isVisible('#try-off'), 'does not say that scripts are off');
    }
  });
  console.log(`${path}: ${done.join('; ') || 'nothing to step'}`);
}

// Steps a word of three symbols by the keyboard, and compares the shown path with the table.
async function step(page, path) {
  await page.waitForSelector('#try-panel:visible', { timeout: 10_000 });
  const data = JSON.parse(await page.locator('#page-data').textContent());
  const word = [0, 1, 0].map((n) => data.symbols[Math.min(n, data.symbols.length - 1)]);
  await page.focus('#try-word');
  await page.keyboard.type(word.join(data.joined ? '' : ' '));
  for (let i = 0; i < word.length; i += 1) await page.keyboard.press('Enter');
  const shown = (await page.locator('#try-result').innerText()).replace(/\s+/g, ' ');
  expect(path, shown.includes('(3 of 3)'), `three steps are shown as: ${shown}`);
  if (data.files[0] && (await page.locator('#picture').count())) {
    const state = /state (\d+)/.exec(shown)?.[1];
    const here = await page.locator('#picture .here').getAttribute('data-state');
    expect(path, here === state, `the picture marks state ${here}, the text says ${state}`);
    const taken = await page.locator('#picture .taken').count();
    expect(path, taken > 0, "the last edge is not marked");
  }
  if (data.files[0] && data.files[2] && (await page.locator('#check-run').count())) {
    expect(path, shown.includes('they agree'), `a proved network differs: ${shown}`);
  }
  return shown;
}

async function proof(page, path) {
  if (!(await page.isVisible('#check-run'))) {
    problems.push(`${path}: the proof cannot be checked in the page`);
    return '';
  }
  await page.click('#check-run');
  const result = page.locator('#check-result .holds, #check-result .error');
  await result.waitFor({ timeout: 60_000 });
  const text = await result.innerText();
  expect(path, text.startsWith('The proof holds'), text);
  return text;
}

for (const path of pages) await check(path);
await browser.close();
problems.forEach((problem) => console.error(problem));
process.exit(problems.length ? 1 : 0);
